package providertest

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// exam is one case under way: a handle, the host where it builds, and a tag that keeps its names apart from all others.
type exam struct {
	T
	h    Harness
	p    provider.Provider
	host fleet.HostName
	tag  string
}

// Installation is what the installation of every mark begins with that the exam writes.
const Installation = "exam-"

func begin(t T, h Harness) *exam {
	t.Helper()
	return &exam{T: t, h: h, p: h.New(t), host: h.Hosts()[0], tag: uuid.NewString()[:8]}
}

// ctx returns a context that ends when the harness's patience does.
func (e *exam) ctx() context.Context {
	ctx, cancel := context.WithTimeout(e.Context(), e.h.Patience())
	e.Cleanup(cancel)
	return ctx
}

// order returns a new order for the ordinal's machine. What it builds is removed at the end.
func (e *exam) order(ordinal int) provider.Blueprint {
	machine := fleet.Name("exam").Machine(ordinal)
	id := fleet.InstanceID(uuid.NewString())
	o := provider.Blueprint{
		Ref: provider.Ref{
			ID:   id,
			Host: e.host,
			Mark: fleet.Mark{
				Installation: fleet.Installation(Installation + e.tag),
				Fleet:        "exam",
				Machine:      machine,
				Generation:   3,
				Built:        time.Now().UTC().Truncate(time.Second),
				Instance:     id,
			},
		},
		Name:     fmt.Sprintf("hale-exam-%s-%d", e.tag, ordinal),
		Template: e.h.Template(),
	}
	e.removeAtEnd(o.Ref)
	return o
}

// on returns the order for another host.
func (e *exam) on(o provider.Blueprint, host fleet.HostName) provider.Blueprint {
	o.Host = host
	o.ID = fleet.InstanceID(uuid.NewString())
	o.Mark.Instance = o.ID
	e.removeAtEnd(o.Ref)
	return o
}

// rival returns an order for the same name with another id.
func (e *exam) rival(o provider.Blueprint) provider.Blueprint {
	o.ID = fleet.InstanceID(uuid.NewString())
	o.Mark.Instance = o.ID
	o.Mark.Generation++
	e.removeAtEnd(o.Ref)
	return o
}

// removeAtEnd powers off and deletes what the reference names, if it is there when the test ends.
func (e *exam) removeAtEnd(ref provider.Ref) {
	e.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), e.h.Patience())
		defer cancel()
		e.await("the removal of "+string(ref.ID), func() (string, bool) {
			seen, err := e.p.Get(ctx, ref)
			if fault.Is(err, fault.NotFound) {
				return "", true
			}
			if err != nil {
				return err.Error(), false
			}
			ref.Mark = seen.Mark
			if seen.Power != fleet.PowerOff {
				return fmt.Sprint("power off: ", e.p.PowerOff(ctx, ref)), false
			}
			return fmt.Sprint("delete: ", e.p.Delete(ctx, ref)), false
		})
	})
}

// built creates the ordinal's instance and waits until it runs.
func (e *exam) built(ordinal int) provider.Blueprint {
	e.Helper()
	o := e.order(ordinal)
	e.do("create", e.p.Create(e.ctx(), o))
	e.awaitPower(o.Ref, fleet.PowerRunning)
	return o
}

// off powers the instance off and waits for the proof.
func (e *exam) off(ref provider.Ref) {
	e.Helper()
	e.do("power off", e.p.PowerOff(e.ctx(), ref))
	e.awaitPower(ref, fleet.PowerOff)
}

// do fails the test when the call did.
func (e *exam) do(call string, err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("%s: %v", call, err)
	}
}

// refused fails the test unless the call ended with one of the kinds.
func (e *exam) refused(call string, err error, kinds ...fault.Kind) {
	e.Helper()
	for _, kind := range kinds {
		if fault.Is(err, kind) {
			return
		}
	}
	e.Errorf("%s: got %v (kind %q), want one of kind %q", call, err, fault.KindOf(err), kinds)
}

// get returns the instance, which must be there.
func (e *exam) get(ref provider.Ref) fleet.Instance {
	e.Helper()
	seen, err := e.p.Get(e.ctx(), ref)
	e.do("get", err)
	return seen
}

// list returns a listing in which every host answered.
func (e *exam) list() provider.Listing {
	e.Helper()
	l, err := e.p.List(e.ctx())
	e.do("list", err)
	for _, host := range l.Hosts {
		e.do(fmt.Sprintf("list: host %q", host.Name), host.Err)
	}
	return l
}

// Named returns the instances of the listing that have the name.
func Named(l provider.Listing, name string) []fleet.Instance {
	var found []fleet.Instance
	for _, instance := range l.Instances {
		if instance.Name == name {
			found = append(found, instance)
		}
	}
	return found
}

// awaitPower waits until the provider reports the power state, and returns the report.
func (e *exam) awaitPower(ref provider.Ref, want fleet.Power) fleet.Instance {
	e.Helper()
	return e.awaitInstance("power "+string(want), ref, func(i fleet.Instance) bool { return i.Power == want })
}

// awaitInstance waits until the provider's report of the instance satisfies the condition.
func (e *exam) awaitInstance(what string, ref provider.Ref, ok func(fleet.Instance) bool) fleet.Instance {
	e.Helper()
	var seen fleet.Instance
	e.await(what, func() (string, bool) {
		var err error
		if seen, err = e.p.Get(e.ctx(), ref); err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%+v", seen), ok(seen)
	})
	return seen
}

// await polls until the condition holds. The condition says what it saw, for the message of a failure.
func (e *exam) await(what string, holds func() (saw string, ok bool)) {
	e.Helper()
	deadline := time.NewTimer(e.h.Patience())
	defer deadline.Stop()
	tick := time.NewTicker(e.pause())
	defer tick.Stop()
	for {
		saw, ok := holds()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			e.Fatalf("waited %v for %s; last seen: %s", e.h.Patience(), what, saw)
		}
	}
}

// stays fails the test when the condition ends within a tenth of the patience.
func (e *exam) stays(what string, holds func() (saw string, ok bool)) {
	e.Helper()
	end := time.NewTimer(e.h.Patience() / 10)
	defer end.Stop()
	tick := time.NewTicker(e.pause())
	defer tick.Stop()
	for {
		if saw, ok := holds(); !ok {
			e.Fatalf("%s did not stay; seen: %s", what, saw)
		}
		select {
		case <-tick.C:
		case <-end.C:
			return
		}
	}
}

// pause is the time between two looks.
func (e *exam) pause() time.Duration {
	return min(max(e.h.Patience()/200, 10*time.Millisecond), 500*time.Millisecond)
}

// same fails the test when the two differ.
func (e *exam) same(what string, want, got any) {
	e.Helper()
	if want, got := timeless(want), timeless(got); !reflect.DeepEqual(want, got) {
		e.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// timeless lets times that are equal be alike, whatever zone they were read in.
func timeless(v any) any {
	switch x := v.(type) {
	case fleet.Mark:
		x.Built = x.Built.UTC().Round(0)
		return x
	case fleet.Instance:
		x.Mark.Built = x.Mark.Built.UTC().Round(0)
		return x
	}
	return v
}
