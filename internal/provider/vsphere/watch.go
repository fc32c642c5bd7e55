package vsphere

import (
	"context"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/strict"
)

// watched are the properties that cause an event when they change.
var watched = []types.PropertySpec{
	{Type: kindVM, PathSet: []string{
		"name", "config.instanceUuid", "config.changeVersion", "runtime.powerState", "runtime.connectionState",
		"runtime.host", "guest.ipAddress", "guestHeartbeatStatus",
	}},
	{Type: kindHost, PathSet: []string{"runtime.connectionState", "runtime.inMaintenanceMode"}},
}

// The pauses before a connection is made anew.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Watch implements provider.Watcher. vCenter's property collector tells what changed since it was asked last.
func (p *Provider) Watch(ctx context.Context, changed func(provider.Event)) error {
	ctx, leave := p.under.enter(ctx)
	defer leave()
	wait := firstRetry
	for ctx.Err() == nil {
		heard, err := p.listen(ctx, changed)
		if ctx.Err() != nil {
			break
		}
		p.log.Debug("the watch is made anew", "err", err)
		if heard {
			wait = firstRetry
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
		wait = min(2*wait, lastRetry)
	}
	return nil
}

// grace is what an answer may take beyond the time that vCenter is to wait for news.
const grace = 10 * time.Second

// listen watches by one session, until it fails. heard says that it was connected.
func (p *Provider) listen(ctx context.Context, changed func(provider.Event)) (heard bool, err error) {
	octx, limit := context.WithTimeout(ctx, p.o.CallLimit)
	defer limit()
	octx, c, err := p.open(octx, "vsphere.watch", "")
	if err != nil {
		return false, err
	}
	defer c.end()
	e := &ear{call: c, names: map[types.ManagedObjectReference]fleet.InstanceID{}, changed: changed}
	if err := c.read(octx, func() error { return e.begin(octx) }); err != nil {
		return false, err
	}
	defer e.giveBack(ctx)
	changed(provider.Event{})
	for {
		if err := e.hear(ctx); err != nil {
			return true, err
		}
	}
}

// ear is a property collector of a watch's own.
type ear struct {
	*call
	collector types.ManagedObjectReference
	version   string
	names     map[types.ManagedObjectReference]fleet.InstanceID
	changed   func(provider.Event)
}

// begin makes the collector, and hears everything once: what it tells from then on are changes.
func (e *ear) begin(ctx context.Context) error {
	made, err := methods.CreatePropertyCollector(ctx, e.conn.vc, &types.CreatePropertyCollector{
		This: e.conn.vc.ServiceContent.PropertyCollector,
	})
	if err != nil {
		return err
	}
	e.collector, e.version = made.Returnval, ""
	_, err = methods.CreateFilter(ctx, e.conn.vc,
		&types.CreateFilter{This: e.collector, PartialUpdates: true, Spec: types.PropertyFilterSpec{
			PropSet: watched,
			ObjectSet: []types.ObjectSpec{{
				Obj:  e.conn.view,
				Skip: types.NewBool(true),
				SelectSet: []types.BaseSelectionSpec{
					&types.TraversalSpec{Type: "ContainerView", Path: "view"},
				},
			}},
		}})
	if err != nil {
		return err
	}
	_, err = e.ask(ctx, 0)
	return err
}

// ask waits for what changed since the last answer, for at most so many seconds, and notes the machines' ids.
func (e *ear) ask(ctx context.Context, seconds int32) ([]types.ObjectUpdate, error) {
	var all []types.ObjectUpdate
	for {
		res, err := methods.WaitForUpdatesEx(ctx, e.conn.vc, &types.WaitForUpdatesEx{
			This: e.collector, Version: e.version, Options: &types.WaitOptions{MaxWaitSeconds: &seconds},
		})
		if err != nil {
			return nil, err
		}
		if res.Returnval == nil {
			return all, nil // nothing happened
		}
		e.version = res.Returnval.Version
		for _, set := range res.Returnval.FilterSet {
			for _, u := range set.ObjectSet {
				e.note(u)
				all = append(all, u)
			}
		}
		if res.Returnval.Truncated == nil || !*res.Returnval.Truncated {
			return all, nil
		}
	}
}

func (e *ear) note(u types.ObjectUpdate) {
	for _, change := range u.ChangeSet {
		if id, ok := change.Val.(string); ok && change.Name == "config.instanceUuid" {
			e.names[u.Obj] = fleet.InstanceID(id)
		}
	}
}

// hear waits for one answer and tells of it.
func (e *ear) hear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(strict.Operation(ctx), e.p.o.Keepalive+grace)
	defer cancel()
	updates, err := e.ask(ctx, int32(e.p.o.Keepalive.Seconds()))
	if err != nil {
		return err
	}
	for _, u := range updates {
		e.p.stops.forget(u.Obj)
		e.changed(provider.Event{Instance: e.names[u.Obj]}) // of a host, or of one without a name: look at everything
		if u.Kind == types.ObjectUpdateKindLeave {
			delete(e.names, u.Obj)
		}
	}
	return nil
}

// giveBack gives the collector back, unless vCenter is not there to take it: the session's end does it then.
func (e *ear) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutLimit)
	defer cancel()
	_, _ = methods.DestroyPropertyCollector(ctx, e.conn.vc, &types.DestroyPropertyCollector{This: e.collector})
}
