// Package fencetest is the exam of package fence's port: what every adapter of a power controller must do, also when
// the controller breaks.
//
// It promises to leave nothing running. Its times are real ones, since adapters talk to processes and sockets.
package fencetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/fence"
)

// Fault is a way in which a controller breaks.
type Fault string

// The faults.
const (
	Works         Fault = ""
	WrongPassword Fault = "wrong password"
	Dead          Fault = "dead"
	Late          Fault = "answers early and turns off late" // within a second
	Ignores       Fault = "answers and does nothing"
	AnswerLost    Fault = "does it and the answer is lost"
	Slow          Fault = "slow" // by a fraction of a second
)

// Bench is an adapter with a controller that can be broken.
type Bench struct {
	Controller fence.Controller
	// On is the truth, and Turn makes it.
	On   func() bool
	Turn func(fence.Power)
	// Break has the controller behave so from now on.
	Break func(Fault)
	// Secret is the password that must never be seen.
	Secret string
	// Mute says that whatever switches has no word for a password that is not accepted.
	Mute bool
}

// Run examines the adapter. Each test has a bench of its own, with a host that is on.
func Run(t *testing.T, setup func(t *testing.T) Bench) {
	t.Helper()
	for name, exam := range map[string]func(t *testing.T, b Bench){
		"it says what is":                          says,
		"a host that is off is success":            already,
		"an order turns the host off":              obeys,
		"a dead controller proves nothing":         dead,
		"a wrong password proves nothing":          refused,
		"an early answer is no proof":              late,
		"a controller that does nothing is caught": ignores,
		"a lost answer is found out":               lost,
		"a slow controller is waited for":          slow,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Turn(fence.PowerOn)
			exam(t, b)
		})
	}
}

const limit = 20 * time.Second

func (b Bench) attempt(t *testing.T, timeout time.Duration) (fence.Done, error) {
	t.Helper()
	done, err := fence.Attempt(t.Context(),
		fence.Method{Name: "exam", Controller: b.Controller, Yields: fleet.ProofHostOff, Attempts: 1, Timeout: timeout,
			Settle: 50 * time.Millisecond, Poll: 20 * time.Millisecond})
	if err == nil && b.On() {
		t.Error("L1: a host that is on counts as off")
	}
	if err != nil && b.Secret != "" && strings.Contains(err.Error(), b.Secret) {
		t.Errorf("L14: the password is in an error: %v", err)
	}
	return done, err
}

func (b Bench) power(t *testing.T) (fence.Power, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return b.Controller.Power(ctx)
}

func says(t *testing.T, b Bench) {
	for _, want := range []fence.Power{fence.PowerOn, fence.PowerOff, fence.PowerOn} {
		b.Turn(want)
		if got, err := b.power(t); got != want || err != nil {
			t.Errorf("%s, %v; it is %s", got, err, want)
		}
		if b.On() != (want == fence.PowerOn) {
			t.Error("to ask changed it")
		}
	}
}

func already(t *testing.T, b Bench) {
	b.Turn(fence.PowerOff)
	if done, err := b.attempt(t, limit); err != nil || !done.Already || done.Orders != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := b.Controller.Off(ctx); err != nil {
		t.Errorf("an order to a host that is off: %v", err)
	}
}

func obeys(t *testing.T, b Bench) {
	if done, err := b.attempt(t, limit); err != nil || done.Already || done.Orders != 1 || b.On() {
		t.Errorf("%+v, %v, on %v", done, err, b.On())
	}
}

func dead(t *testing.T, b Bench) {
	b.Break(Dead)
	began := time.Now()
	if done, err := b.attempt(t, 3*time.Second); err == nil || time.Since(began) > limit {
		t.Errorf("%+v, %v after %s", done, err, time.Since(began))
	}
}

func refused(t *testing.T, b Bench) {
	b.Break(WrongPassword)
	if done, err := b.attempt(t, limit); err == nil || !b.On() {
		t.Errorf("%+v, %v, on %v", done, err, b.On())
	}
	b.Turn(fence.PowerOff)
	got, err := b.power(t)
	if err == nil {
		t.Errorf("it believes a controller that refused the password: %s", got)
	}
	if said := strings.Contains(fmt.Sprint(err), "the credentials are refused"); said == b.Mute ||
		fault.Is(err, fault.Unauthorised) == b.Mute {
		t.Errorf("it does not say that the password is wrong: %v", err)
	}
	if strings.Contains(fmt.Sprint(err), "Authorization") {
		t.Errorf("L14: it repeats what was said when all was to be said: %v", err)
	}
}

func late(t *testing.T, b Bench) {
	b.Break(Late)
	if done, err := b.attempt(t, limit); err != nil || done.Orders != 1 || b.On() {
		t.Errorf("%+v, %v, on %v", done, err, b.On())
	}
}

func ignores(t *testing.T, b Bench) {
	b.Break(Ignores)
	if done, err := b.attempt(t, 3*time.Second); err == nil || done.Orders != 1 || !b.On() {
		t.Errorf("%+v, %v, on %v", done, err, b.On())
	}
}

func lost(t *testing.T, b Bench) {
	b.Break(AnswerLost)
	if done, err := b.attempt(t, 9*time.Second); err != nil || b.On() {
		t.Errorf("%+v, %v, on %v", done, err, b.On())
	}
}

func slow(t *testing.T, b Bench) {
	b.Break(Slow)
	if done, err := b.attempt(t, limit); err != nil || b.On() {
		t.Errorf("%+v, %v, on %v", done, err, b.On())
	}
}
