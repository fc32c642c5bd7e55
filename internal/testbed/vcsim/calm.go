package vcsim

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// calm keeps a container view up to date in the simulator's place. That one (govmomi v0.55.1) tells the filters over a
// view of each machine that comes, and holds the view meanwhile; a filter that is just being applied waits for the
// view, and is waited for: a deadlock. The filters do not need to be told: each goes through its view again whenever
// something is created.
type calm struct{ *simulator.ContainerView }

// PutObject implements simulator.RegisterObject.
func (c calm) PutObject(ctx *simulator.Context, o mo.Reference) {
	ref := o.Reference()
	ctx.WithLock(c.ContainerView, func() {
		if slices.Contains(c.Type, ref.Type) && !slices.Contains(c.View, ref) {
			c.View = append(c.View, ref)
		}
	})
}

// calmed lets the views that a filter is made over be kept so, before there is one.
func calmed(ctx *simulator.Context, filter *types.CreateFilter) {
	for _, o := range filter.Spec.ObjectSet {
		if v, ok := ctx.Session.Get(o.Obj).(*simulator.ContainerView); ok {
			ctx.Map.AddHandler(calm{v})
		}
	}
}
