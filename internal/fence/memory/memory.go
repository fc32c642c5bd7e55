// Package memory is a power controller that exists in memory only: the twin of the real ones, for tests and the
// simulated world.
//
// It promises to pass the exam of package fencetest, and to break in each of the ways that real ones do, on demand.
// Delays are those of package time, so that they pass at once in a bubble.
package memory

import (
	"context"
	"errors"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/fence"
)

// Faults are the ways in which a controller may be broken. The zero value: it works.
type Faults struct {
	WrongPassword bool
	Dead          bool          // it does not answer
	Ignores       bool          // it accepts orders and does nothing
	Lies          bool          // it says off, whatever is true
	AnswerLost    bool          // orders take effect, and their answers are lost
	Late          time.Duration // from an accepted order until the host is off
	Slow          time.Duration // each answer takes so long
}

// Controller is one host's.
type Controller struct {
	mu     sync.Mutex
	on     bool
	faults Faults
	orders int
	offAt  time.Time // when an order takes effect that is late; zero: none
}

var _ fence.Controller = (*Controller)(nil)

// New makes the controller of a host that is on.
func New() *Controller { return &Controller{on: true} }

// Break has it behave so from now on.
func (c *Controller) Break(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

// Turn turns the host on or off, as a person does who stands before it.
func (c *Controller) Turn(p fence.Power) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on, c.offAt = p == fence.PowerOn, time.Time{}
}

// On reports whether the host truly has power.
func (c *Controller) On() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isOn()
}

// Orders counts the orders that reached it.
func (c *Controller) Orders() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.orders
}

func (c *Controller) isOn() bool {
	if c.on && !c.offAt.IsZero() && !time.Now().Before(c.offAt) {
		c.on, c.offAt = false, time.Time{}
	}
	return c.on
}

// Power implements fence.Controller.
func (c *Controller) Power(ctx context.Context) (fence.Power, error) {
	f, err := c.reach(ctx, "memory.power")
	if err != nil {
		return fence.PowerUnknown, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isOn() && !f.Lies {
		return fence.PowerOn, nil
	}
	return fence.PowerOff, nil
}

// Off implements fence.Controller.
func (c *Controller) Off(ctx context.Context) error {
	f, err := c.reach(ctx, "memory.off")
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.orders++
	switch {
	case f.Ignores || f.Lies:
	case f.Late > 0:
		c.offAt = time.Now().Add(f.Late)
	default:
		c.on = false
	}
	c.mu.Unlock()
	if f.AnswerLost {
		<-ctx.Done()
		return fault.New(fault.UnknownOutcome, "memory.off", "", ctx.Err())
	}
	return nil
}

// reach waits as long as the controller takes to hear.
func (c *Controller) reach(ctx context.Context, op string) (Faults, error) {
	c.mu.Lock()
	f := c.faults
	c.mu.Unlock()
	if f.Dead {
		<-ctx.Done()
		return f, fault.New(fault.Transient, op, "", ctx.Err())
	}
	t := time.NewTimer(f.Slow)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return f, fault.New(fault.Transient, op, "", ctx.Err())
	}
	if f.WrongPassword {
		return f, fence.Denied(op, "", errors.New("another password"))
	}
	return f, nil
}
