package fence_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/fence"
	"hale/internal/fence/memory"
)

func method(name string, c fence.Controller) fence.Method {
	return fence.Method{Name: name, Controller: c, Yields: fleet.ProofHostOff, Attempts: 2, Timeout: 15 * time.Second,
		Settle: fence.DefaultSettle, Poll: fence.DefaultPoll}
}

// What each fault makes of one attempt. However it breaks: a host that is on is never taken for off, unless the
// controller itself lies.
func TestL1AnAttemptProvesOffOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults  memory.Faults
		off     bool // before
		proven  bool
		kind    fault.Kind
		already bool
		orders  int
		least   time.Duration
		most    time.Duration
		says    string // of an error, how it ends
	}{
		"normal":      {proven: true, orders: 1, least: 2 * time.Second, most: 3 * time.Second},
		"already off": {off: true, proven: true, already: true, least: 2 * time.Second, most: 3 * time.Second},
		"wrong password": {faults: memory.Faults{WrongPassword: true}, kind: fault.Unauthorised,
			says: "the credentials are refused: another password"},
		"dead": {faults: memory.Faults{Dead: true}, kind: fault.Transient, least: 5 * time.Second,
			most: 5 * time.Second, says: "no answer within 5s"},
		"early answer": {faults: memory.Faults{Late: 8 * time.Second}, proven: true, orders: 1,
			least: 10 * time.Second, most: 11 * time.Second},
		"later than its time": {
			faults: memory.Faults{Late: 14 * time.Second},
			kind:   fault.Permanent,
			orders: 1,
			least:  15 * time.Second,
			most:   15 * time.Second,
			says:   "no proof within 15s: it is off, and was so for 1s only, not for 2s",
		},
		"ignores the order": {
			faults: memory.Faults{Ignores: true},
			kind:   fault.Permanent,
			orders: 1,
			least:  15 * time.Second,
			most:   15 * time.Second,
			says:   "no proof within 15s: it is still on",
		},
		"the answer is lost": {faults: memory.Faults{AnswerLost: true}, proven: true, orders: 1,
			least: 7 * time.Second, most: 8 * time.Second},
		"slow": {faults: memory.Faults{Slow: 3 * time.Second}, proven: true, orders: 1,
			least: 8 * time.Second, most: 15 * time.Second},
		"slower than its time": {faults: memory.Faults{Slow: 6 * time.Second}, kind: fault.Transient,
			least: 5 * time.Second, most: 5 * time.Second, says: "no answer within 5s"},
		"says off, whatever is": {faults: memory.Faults{Lies: true}, proven: true, already: true,
			least: 2 * time.Second, most: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				host := memory.New()
				host.Break(c.faults)
				host.Turn(map[bool]fence.Power{true: fence.PowerOff, false: fence.PowerOn}[c.off])
				done, err := fence.Attempt(t.Context(), method("bmc", host))
				if (err == nil) != c.proven || fault.KindOf(err) != c.kind || done.Already != c.already ||
					done.Orders != c.orders {
					t.Errorf("%+v, %v", done, err)
				}
				if done.Took < c.least || done.Took > c.most {
					t.Errorf("it took %s, and not from %s to %s", done.Took, c.least, c.most)
				}
				if err != nil && (c.says == "" || !strings.HasSuffix(err.Error(), c.says)) {
					t.Errorf("it says %q, and not %q", err, c.says)
				}
				if err == nil && host.On() && !c.faults.Lies {
					t.Error("a host that is on counts as off")
				}
			})
		})
	}
}

// Off is not proven in the middle of another client's power cycle, and a host that comes back is told to power off once
// more.
func TestL1AMomentOfBeingOffIsNoProof(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host := memory.New()
		host.Turn(fence.PowerOff)
		time.AfterFunc(1300*time.Millisecond, func() { host.Turn(fence.PowerOn) })
		done, err := fence.Attempt(t.Context(), method("bmc", host))
		if err != nil || done.Orders != 1 || done.Already || host.On() {
			t.Errorf("%+v, %v, on %v", done, err, host.On())
		}
	})
}

// Another client turns it on again and again: it is not told to power off again and again.
func TestAHostThatKeepsComingBackIsNotFoughtOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host := memory.New()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			again := time.NewTicker(1300 * time.Millisecond) // between two looks
			defer again.Stop()
			for {
				select {
				case <-again.C:
					host.Turn(fence.PowerOn)
				case <-ctx.Done():
					return
				}
			}
		}()
		if done, err := fence.Attempt(t.Context(), method("bmc", host)); !fault.Is(err, fault.Permanent) ||
			done.Orders != 2 {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

// A controller that says nothing is left for the next method; one that refuses the password is not asked again.
func TestTheMethodsAreTriedInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead, refuses, works, spare := memory.New(), memory.New(), memory.New(), memory.New()
		dead.Break(memory.Faults{Dead: true})
		refuses.Break(memory.Faults{WrongPassword: true})
		var tries []fence.Try
		n := fence.Off(t.Context(),
			[]fence.Method{
				method("dead", dead), method("refuses", refuses), method("works", works), method("spare", spare),
			},
			func(try fence.Try) { tries = append(tries, try) })
		var order []string
		for _, try := range tries {
			order = append(order, try.Method)
		}
		if n != 2 || len(order) != 4 || order[0] != "dead" || order[1] != "dead" || order[2] != "refuses" ||
			order[3] != "works" {
			t.Errorf("%d after %v", n, order)
		}
		if tries[1].Number != 2 || tries[3].Err != nil || works.On() || !spare.On() {
			t.Errorf("%+v", tries)
		}
	})
}

func TestNoMethodLeftIsNoProof(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deaf := memory.New()
		deaf.Break(memory.Faults{Ignores: true})
		if n := fence.Off(t.Context(), []fence.Method{method("deaf", deaf)}, func(fence.Try) {}); n != -1 {
			t.Errorf("method %d proved it", n)
		}
		if n := fence.Off(t.Context(), nil, nil); n != -1 {
			t.Errorf("no method at all proved it: %d", n)
		}
	})
}

// The error says that the caller gave up, or that the controller said neither on nor off.
func TestAnAttemptThatEndsOtherwiseSaysHow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, err := fence.Attempt(t.Context(), method("bmc", undecided{}))
		if !fault.Is(err, fault.Permanent) ||
			!strings.HasSuffix(err.Error(), "its controller says neither on nor off") {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(4*time.Second, cancel)
		_, err = fence.Attempt(ctx, method("bmc", undecided{}))
		if !fault.Is(err, fault.Transient) || !strings.HasSuffix(err.Error(), "broken off after 4s, without proof") {
			t.Error(err)
		}
	})
}

// undecided is a controller that says neither on nor off.
type undecided struct{}

func (undecided) Power(context.Context) (fence.Power, error) { return fence.PowerUnknown, nil }
func (undecided) Off(context.Context) error                  { return nil }
