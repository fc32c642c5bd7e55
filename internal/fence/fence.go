// Package fence is hale's port to whatever can cut a host's power, or its way to storage and network, from outside: a
// power controller (BMC), a switched outlet, a command. The exam that every adapter passes is package fencetest.
//
// It promises that a host counts as off only when its controller said so twice, a moment apart, after the last call.
// An acknowledged order is no proof, and neither is a moment of being off in another client's power cycle. It never
// turns anything on, and never cycles. A controller that does not answer proves nothing. It decides neither whether a
// host may be fenced nor what follows.
package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Power is a host's state in its controller's word.
type Power string

// The states. Of what cuts a host's access, on is that the host has it, and off that it is cut. Whatever a controller
// says beside on and off (powering off, resetting) is unknown: neither may be built upon.
const (
	PowerOn      Power = "on"
	PowerOff     Power = "off"
	PowerUnknown Power = "unknown"
)

// Controller switches one host. Its errors are *fault.Error: Unauthorised, the credentials are not accepted; NotFound,
// Invalid or Unsupported, it is configured wrongly; Transient, it did not answer. No error has a secret in it.
type Controller interface {
	// Power asks how the host stands, and changes nothing.
	Power(ctx context.Context) (Power, error)
	// Off orders the host off at once, without asking its system. A host that is off is success. nil means only that
	// the order was accepted; fault.UnknownOutcome: it may have been.
	Off(ctx context.Context) error
}

// Denied returns the error of a controller that does not accept the credentials.
func Denied(op, subject string, why error) error {
	return fault.New(fault.Unauthorised, op, subject, fmt.Errorf("the credentials are refused: %w", why))
}

// Method is one configured way to fence a host.
type Method struct {
	Name       string
	Kind       string // redfish, ipmi, agent or command
	Controller Controller
	// Yields is what its off proves.
	Yields   fleet.Proof
	Attempts int
	// Timeout limits one attempt, from the first question to the proof.
	Timeout time.Duration
	// Settle is how long the host must stay off to count as off. Poll is the time from one question to the next.
	Settle, Poll time.Duration
	// Unverified says that the credentials go to a controller with an unchecked identity.
	Unverified bool
}

// The usual times of a Method.
const (
	DefaultSettle = 2 * time.Second
	DefaultPoll   = 500 * time.Millisecond
)

// callShare is the part of an attempt's time that one question or order may take: what is lost then leaves time to ask.
const callShare = 3

// mostOrders bounds the orders of one attempt: one, and one more when the host came back.
const mostOrders = 2

// Done is a host that was fenced.
type Done struct {
	Already bool // it was off before anything was asked for
	Orders  int
	Took    time.Duration
}

// What a controller that answers says instead of off.
var (
	errNotOff  = errors.New("it is still on")
	errNeither = errors.New("its controller says neither on nor off")
)

// Attempt fences the host once: it asks, orders off unless it is off, and asks until the host was off for the method's
// Settle. An error says why there is no proof: of the kind that the controller's first answer had, or Permanent when
// the time was over.
func Attempt(ctx context.Context, m Method) (Done, error) {
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	a := attempt{Method: m, began: time.Now()}
	for {
		over, err := a.step(ctx)
		a.done.Took = time.Since(a.began)
		if over || err != nil {
			return a.done, err
		}
		if !pause(ctx, m.Poll) {
			return a.done, a.late(ctx)
		}
	}
}

// attempt is one attempt under way.
type attempt struct {
	Method
	began time.Time
	heard bool      // the controller answered at least once
	off   time.Time // since when it says off; zero: it does not
	why   error     // the last thing that went wrong
	done  Done
}

// step asks once, and orders off if that is to be done. It reports whether the host is proven off.
func (a *attempt) step(ctx context.Context) (bool, error) {
	power, err := a.ask(ctx)
	if err != nil {
		return false, a.unheard(ctx, err)
	}
	a.heard = true
	switch power {
	case PowerOff:
		if a.off.IsZero() {
			a.off = time.Now()
		}
		a.done.Already = a.done.Orders == 0
		return time.Since(a.off) >= a.Settle, nil
	case PowerOn:
		return false, a.order(ctx)
	case PowerUnknown:
		a.off, a.why = time.Time{}, errNeither
	}
	return false, nil
}

// unheard notes a question that was asked in vain. It ends the attempt when the controller never answered, or another
// question would be of no use.
func (a *attempt) unheard(ctx context.Context, err error) error {
	if !a.heard || hopeless(err) {
		return err
	}
	if ctx.Err() == nil { // what was broken off says nothing new
		a.why, a.off = err, time.Time{}
	}
	return nil
}

func (a *attempt) ask(ctx context.Context) (power Power, err error) {
	err = a.within(ctx, func(ctx context.Context) error {
		power, err = a.Controller.Power(ctx)
		return err
	})
	return power, err
}

// within makes one question or order, which may take its share of the attempt's time. Of one that took all of that, it
// says so, and not what it was broken off in.
func (a *attempt) within(ctx context.Context, do func(ctx context.Context) error) error {
	began := time.Now()
	short, cancel := context.WithTimeout(ctx, a.Timeout/callShare)
	defer cancel()
	err := do(short)
	if err != nil && short.Err() != nil && !hopeless(err) && !errors.Is(context.Cause(ctx), context.Canceled) {
		err = fault.New(fault.KindOf(err), "fence.ask", a.Name,
			fmt.Errorf("no answer within %s", time.Since(began).Round(100*time.Millisecond)))
	}
	return err
}

// order orders the host off, which is on: for the first time, or since it came back.
func (a *attempt) order(ctx context.Context) error {
	back := !a.off.IsZero()
	a.off, a.why = time.Time{}, errNotOff
	if a.done.Orders > 0 && !back || a.done.Orders >= mostOrders {
		return nil
	}
	a.done.Orders++
	err := a.within(ctx, a.Controller.Off)
	if err != nil {
		a.why = err // it may have been heard all the same
	}
	if hopeless(err) {
		return err
	}
	return nil
}

// hopeless reports whether asking again would be of no use.
func hopeless(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unauthorised, fault.Invalid, fault.NotFound, fault.Unsupported:
		return true
	default:
	}
	return false
}

// late says why there is no proof: the time was over, or the caller gave up.
func (a *attempt) late(ctx context.Context) error {
	why := a.why
	if !a.off.IsZero() {
		why = fmt.Errorf("it is off, and was so for %s only, not for %s",
			time.Since(a.off).Round(100*time.Millisecond), a.Settle)
	}
	const op = "fence.off"
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return fault.New(fault.Transient, op, a.Name,
			fmt.Errorf("broken off after %s, without proof", time.Since(a.began).Round(100*time.Millisecond)))
	}
	return fault.New(fault.Permanent, op, a.Name, fmt.Errorf("no proof within %s: %w", a.Timeout, why))
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Try is one attempt of a method, as it ended.
type Try struct {
	Method string
	Number int // of the method's attempts, from 1
	Done   Done
	Err    error // nil: the host is proven off
}

// Off fences a host: the methods in their order, each as often as it may, until one has the proof. It returns that
// one's number among the methods, or -1, and tells of each try as it ends.
func Off(ctx context.Context, methods []Method, told func(Try)) int {
	for i, m := range methods {
		for n := range m.Attempts {
			done, err := Attempt(ctx, m)
			told(Try{Method: m.Name, Number: n + 1, Done: done, Err: err})
			if err == nil {
				return i
			}
			if ctx.Err() != nil {
				return -1
			}
			if hopeless(err) {
				break // another try would be told the same
			}
		}
	}
	return -1
}
