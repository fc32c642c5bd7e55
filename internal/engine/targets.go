package engine

import (
	"net/netip"

	"hale/internal/fleet"
	"hale/internal/probe"
)

// targets keeps the probe engine's targets in step with the beliefs. Whenever a machine's address, instance or epoch
// changes, its checks begin anew under a new probe epoch, and what was heard before is forgotten.
type targets struct {
	probes probe.Engine
	spec   fleet.Spec
	views  []fleet.View // the term's own
	aims   []aim
	epoch  uint64 // the last one given
}

// aim is where one machine is probed.
type aim struct {
	address  netip.Addr
	instance fleet.InstanceID
	machine  uint64 // the machine's epoch
	probe    uint64 // the probe epoch; zero: not probed
}

func newTargets(p probe.Engine, views []fleet.View, spec fleet.Spec) *targets {
	ts := &targets{probes: p, spec: spec, views: views, aims: make([]aim, len(views))}
	for _, e := range p.Snapshot() { // of an earlier term
		p.Remove(e.ID)
		ts.epoch = max(ts.epoch, e.Epoch)
	}
	for i := range views {
		views[i].Checks = make([]fleet.CheckState, len(spec.Checks))
		for k, c := range spec.Checks {
			views[i].Checks[k] = fleet.CheckState{Check: c.Name, Standing: fleet.StandingUnknown}
		}
	}
	return ts
}

// aim points the machine's checks at the address, if anything about them changed.
func (ts *targets) aim(index int, address netip.Addr) {
	m, a := ts.views[index].Machine, &ts.aims[index]
	if m.Current.None() {
		if a.probe != 0 {
			ts.remove(index)
		}
		return
	}
	want := aim{address: address, instance: m.Current.ID, machine: m.Epoch, probe: a.probe}
	if *a == want && a.probe != 0 {
		return
	}
	ts.epoch++
	want.probe = ts.epoch
	*a = want
	v := &ts.views[index]
	v.Epoch, v.Due = m.Epoch, true
	for k := range v.Checks {
		v.Checks[k].Standing, v.Checks[k].Result, v.Checks[k].Detail = fleet.StandingUnknown, fleet.ResultNone, ""
	}
	ts.probes.Set(ts.of(index)...)
}

func (ts *targets) of(index int) []probe.Target {
	m, a := ts.views[index].Machine, ts.aims[index]
	out := make([]probe.Target, len(ts.spec.Checks))
	for k, c := range ts.spec.Checks {
		out[k] = probe.Target{
			ID: probe.ID{Machine: m.Name, Check: c.Name}, Instance: a.instance, Address: a.address, Spec: c, Epoch: a.probe,
		}
	}
	return out
}

// forLook returns the targets that a look asks.
func (ts *targets) forLook(index int, scope fleet.LookScope) []probe.Target {
	if scope == fleet.LookProvider || ts.aims[index].probe == 0 {
		return nil
	}
	return ts.of(index)
}

// current reports whether an edge of the probe epoch is about the machine as it is now.
func (ts *targets) current(index int, epoch uint64) bool {
	return epoch != 0 && ts.aims[index].probe == epoch
}

// restart makes the next aim of every machine a new one.
func (ts *targets) restart() {
	for i := range ts.aims {
		ts.aims[i].machine = ^uint64(0)
	}
}

func (ts *targets) remove(index int) {
	for _, c := range ts.spec.Checks {
		ts.probes.Remove(probe.ID{Machine: ts.views[index].Machine.Name, Check: c.Name})
	}
	ts.aims[index] = aim{}
}

// clear ends all probing.
func (ts *targets) clear() {
	for i := range ts.aims {
		if ts.aims[i].probe != 0 {
			ts.remove(i)
		}
	}
}
