package vsphere

import (
	"context"
	"errors"
	"net"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/strict"
)

// answered returns the fault that vCenter told, and whether it told any.
func answered(err error) (types.BaseMethodFault, bool) {
	var told types.BaseMethodFault
	if err == nil {
		return nil, false
	}
	_, ok := vimfault.As(err, &told)
	return told, ok
}

// told reports whether vCenter told a fault of the type.
func told[T types.BaseMethodFault](err error) bool {
	var t T
	if err == nil {
		return false
	}
	_, ok := vimfault.As(err, &t)
	return ok
}

// sessionOver reports whether the error says that vCenter ended the session.
func sessionOver(err error, c *conn) bool {
	if told[*types.NotAuthenticated](err) {
		return true
	}
	var gone *types.ManagedObjectNotFound
	if err == nil {
		return false
	}
	_, ok := vimfault.As(err, &gone)
	return ok && gone.Obj == c.view
}

// kindOf classifies what vCenter told; empty: it says too little.
func kindOf(f types.BaseMethodFault) fault.Kind {
	switch f := f.(type) {
	case *types.InvalidLogin, *types.NoPermission:
		return fault.Unauthorised
	case *types.DuplicateName, *types.AlreadyExists, *types.InvalidPowerState:
		return fault.Conflict
	case *types.NotAuthenticated, *types.ConcurrentAccess, *types.TaskInProgress, *types.ResourceInUse,
		*types.FileLocked,
		// something that was there a moment ago; only a search for a machine finds that it is gone
		*types.ManagedObjectNotFound:
		return fault.Transient
	case *types.MethodDisabled:
		if f.Source != "" { // who disabled it, as a backup does while it runs; without one the state does not allow it
			return fault.Locked
		}
		return fault.Transient
	case *types.NoDiskSpace, *types.InsufficientStorageSpace:
		return fault.NoSpace
	case *types.NotSupported, *types.MethodNotFound, *types.NotImplemented, *types.ToolsUnavailable:
		return fault.Unsupported
	}
	return kindOfFamily(f)
}

// kindOfFamily classifies by what the fault is a special case of.
func kindOfFamily(f types.BaseMethodFault) fault.Kind {
	switch f.(type) {
	case types.BaseHostCommunication, *types.Timedout, *types.SystemError, *types.RequestCanceled:
		return fault.UnknownOutcome // vCenter itself does not know
	case types.BaseInsufficientResourcesFault, types.BaseNotEnoughLicenses:
		return fault.Quota
	case types.BaseNoPermission:
		return fault.Unauthorised
	case types.BaseInvalidState, types.BaseTaskInProgress:
		return fault.Transient
	case types.BaseInvalidArgument, types.BaseVmConfigFault, *types.InvalidRequest, *types.InvalidName:
		return fault.Invalid
	case types.BaseNotSupported:
		return fault.Unsupported
	}
	return ""
}

// fault classifies the failure of something that changes nothing.
func (c *call) fault(err error) error {
	if err == nil {
		return nil
	}
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return fault.New(f.Kind, c.op, c.subject, f)
	}
	told, ok := answered(err)
	if !ok {
		return fault.New(fault.Transient, c.op, c.subject, err)
	}
	kind := kindOf(told)
	if kind == "" || kind == fault.UnknownOutcome {
		kind = fault.Transient
	}
	return fault.New(kind, c.op, c.subject, err)
}

// doubt classifies the failure of an order that was, or may have been, sent.
func (c *call) doubt(err error) error {
	if err == nil {
		return nil
	}
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return fault.New(f.Kind, c.op, c.subject, f)
	}
	told, ok := answered(err)
	switch {
	case !ok && unsent(err):
		return fault.New(fault.Transient, c.op, c.subject, err)
	case !ok:
		return fault.New(fault.UnknownOutcome, c.op, c.subject, err)
	}
	kind := kindOf(told)
	if kind == "" {
		kind = fault.Permanent
	}
	return fault.New(kind, c.op, c.subject, err)
}

// errForgotten: vCenter forgets tasks some time after their end.
var errForgotten = errors.New("vCenter has forgotten the task")

// unsent reports whether the error shows that vCenter never heard of the order.
func unsent(err error) bool {
	var op *net.OpError
	var refused *strict.RefusedError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &refused) && !refused.Sent
}

func (c *call) conflict(err error) error { return fault.New(fault.Conflict, c.op, c.subject, err) }

func (c *call) invalid(err error) error { return fault.New(fault.Invalid, c.op, c.subject, err) }

func (c *call) missing() error {
	return fault.New(fault.NotFound, c.op, c.subject, errors.New("vCenter has no such virtual machine"))
}

// cause returns why the context ended, which says more than that it did.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil && errors.Is(err, ctx.Err()) {
		return why
	}
	return err
}

// refusedAs reports whether vCenter refused with a fault of target's type, and sets it.
func refusedAs[T types.BaseMethodFault](err error, target *T) bool {
	var f *fault.Error
	if !errors.As(err, &f) || f.Err == nil {
		return false
	}
	_, ok := vimfault.As(f.Err, target)
	return ok
}
