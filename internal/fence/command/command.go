// Package command switches a host's power, or its access to storage and network, by a program of the operator's own.
//
// It promises that the program runs without a shell and without hale's environment. Its exit code for off is 4, which
// no failing program has by accident. A program that takes too long is killed with all that it started.
package command

import (
	"context"
	"errors"
	"fmt"

	"hale/internal/core/fault"
	"hale/internal/fence"
	"hale/internal/secret"
)

// Options are what a Controller is made of.
type Options struct {
	Name    string // the method's, for errors
	Host    string // told to the program as HALE_HOST
	Command []string
	Env     []secret.Named
	// Cut says that the program leaves the host its power, and cuts its access: it is told cut in place of off.
	Cut bool
}

// Controller runs one program.
type Controller struct{ o Options }

var _ fence.Controller = (*Controller)(nil)

// New makes a controller. It runs nothing yet.
func New(o Options) *Controller { return &Controller{o} }

// The exit codes for HALE_ACTION=status.
const (
	exitOn  = 0
	exitOff = 4
)

// Power implements fence.Controller.
func (c *Controller) Power(ctx context.Context) (fence.Power, error) {
	const op = "command.power"
	code, said, err := c.run(ctx, op, "status")
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Kind == fault.UnknownOutcome:
		return fence.PowerUnknown, fault.New(fault.Transient, op, c.o.Name, f.Err)
	case err != nil:
		return fence.PowerUnknown, err
	case code == exitOn:
		return fence.PowerOn, nil
	case code == exitOff:
		return fence.PowerOff, nil
	}
	return fence.PowerUnknown, fault.New(fault.Transient, op, c.o.Name, fmt.Errorf("exit code %d: %s", code, said))
}

// Off implements fence.Controller.
func (c *Controller) Off(ctx context.Context) error {
	if c.o.Cut {
		return c.order(ctx, "cut")
	}
	return c.order(ctx, "off")
}

// Uncut gives the host its access back. nil means only that the order was accepted.
func (c *Controller) Uncut(ctx context.Context) error { return c.order(ctx, "uncut") }

func (c *Controller) order(ctx context.Context, action string) error {
	op := "command." + action
	code, said, err := c.run(ctx, op, action)
	if err == nil && code != 0 {
		err = fault.New(fault.Transient, op, c.o.Name, fmt.Errorf("exit code %d: %s", code, said))
	}
	return err
}

func (c *Controller) run(ctx context.Context, op, action string) (code int, said string, err error) {
	env, secrets, err := secret.Environment(ctx, c.o.Env)
	if err != nil {
		return 0, "", err
	}
	env = append(env, "HALE_ACTION="+action, "HALE_HOST="+c.o.Host)
	return fence.Program{Op: op, Subject: c.o.Name, Args: c.o.Command, Env: env, Secrets: secrets}.Run(ctx)
}
