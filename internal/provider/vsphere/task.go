package vsphere

import (
	"context"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// How often a task is asked for its end: first, and at most.
const (
	firstPoll = 20 * time.Millisecond
	lastPoll  = time.Second
)

// order sends an order, which vCenter makes a task of, and waits for the task's end. An error is classified: unless
// vCenter itself said that nothing was done, the outcome is unknown. The session was read in just now, so nothing is
// sent twice for its sake.
func (c *call) order(ctx context.Context, send func() (*object.Task, error)) (types.AnyType, error) {
	if err := ctx.Err(); err != nil {
		return nil, c.fault(cause(ctx, err))
	}
	sent, err := send()
	if err != nil {
		return nil, c.doubt(err)
	}
	return c.outcome(ctx, sent.Reference())
}

// outcome waits for the end of a task that was asked for.
func (c *call) outcome(ctx context.Context, ref types.ManagedObjectReference) (types.AnyType, error) {
	info, err := c.await(ctx, ref)
	if err != nil {
		return nil, c.doubt(err)
	}
	if info.Error != nil {
		return nil, c.doubt(task.Error{LocalizedMethodFault: info.Error})
	}
	return info.Result, nil
}

// await asks for the task's state until it has ended. What goes wrong in between is no news of the task.
func (c *call) await(ctx context.Context, ref types.ManagedObjectReference) (*types.TaskInfo, error) {
	wait := firstPoll
	for {
		var t mo.Task
		err := c.read(ctx, func() error {
			return c.conn.one(ctx, ref, &t, "info")
		})
		if told[*types.ManagedObjectNotFound](err) {
			return nil, errForgotten
		}
		if err == nil && (t.Info.State == types.TaskInfoStateSuccess || t.Info.State == types.TaskInfoStateError) {
			return &t.Info, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, cause(ctx, ctx.Err())
		case <-timer.C:
		}
		wait = min(wait*3/2, lastPoll)
	}
}
