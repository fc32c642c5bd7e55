package fencing

import (
	"context"
	"time"

	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/fence"
)

// armed is a method as it serves one host.
type armed struct {
	fence.Method
	config config.Fence
	every  time.Duration // from one test to the next
	check  func(ctx context.Context) error
	// uncut gives the host the access back that the method cut; nil: it cuts power.
	uncut func(ctx context.Context) error
}

// armedFor is what the method stands for, for one host. It connects to nothing yet.
func armedFor(f config.Fence, host fleet.HostName) armed {
	made := f.Settings.Arm(f.Name, host)
	a := armed{config: f, every: f.Test, check: made.Check, uncut: made.Uncut, Method: fence.Method{
		Name: f.Name, Kind: f.Kind, Controller: made.Controller, Unverified: made.Unverified,
		Yields: fleet.ProofHostOff, Attempts: f.Attempts, Timeout: f.Timeout, Settle: f.Settle, Poll: fence.DefaultPoll,
	}}
	if f.Cuts() {
		a.Yields = fleet.ProofAccessCut
	}
	if a.check == nil {
		a.check = func(context.Context) error { return nil }
	}
	return a
}

// guarded returns the method with a guard around each call of what is behind it.
func (a armed) guarded(told defect.Witness) armed {
	check, uncut, failed := a.check, a.uncut, func(op string, kind fault.Kind, err *error) func(*defect.Panic) {
		return func(p *defect.Panic) { *err = fault.New(kind, "app."+op, a.Name, p) }
	}
	a.Controller = fence.Guarded(a.Controller, a.Name, told)
	a.check = func(ctx context.Context) (err error) {
		defer told.Catch(a.Name, "check", failed("check", fault.Transient, &err))
		return check(ctx)
	}
	if uncut != nil {
		a.uncut = func(ctx context.Context) (err error) {
			defer told.Catch(a.Name, "uncut", failed("uncut", fault.UnknownOutcome, &err))
			return uncut(ctx)
		}
	}
	return a
}
