package engine

import (
	"context"
	"net/netip"
	"sort"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/guard"
	"hale/internal/probe"
)

// deafAfter is the age of the probes' watermark beyond which nothing is known by checks.
const deafAfter = 4 * time.Second

// snapshot is what this round's decision rests on.
func (t *term) snapshot(now fleet.Now) fleet.Snapshot {
	return fleet.Snapshot{
		Now: now, Installation: t.installation, Spec: t.spec, Acting: t.acting, SteadyAt: t.steadyAt,
		Provider: t.provider, Hosts: t.hosts, Brake: t.brake, Machines: t.views,
	}
}

// minds looks at the clocks and at the probes' watermark.
func (t *term) minds(now fleet.Now) {
	if d := t.clock.drift(now); d-t.drift > tolerance || t.drift-d > tolerance {
		t.drift = d
		t.startAfresh(now, fleet.ReasonClockStep)
	}
	// After a long round the watermark is old because nobody listened, not because nobody spoke.
	deaf := time.Since(t.heard) > deafAfter && time.Since(t.listens) > deafAfter
	if deaf == t.deaf {
		return
	}
	t.deaf, t.dirty = deaf, true
	if deaf {
		t.log.Warn("the probes' watermark is stale: what the checks said counts no more")
		t.forgetChecks(fleet.ResultLate)
		return
	}
	t.steadyAt = now.Mono.Add(guard.SettleTime(t.spec))
	for _, e := range t.probes.Snapshot() {
		t.hearEdge(e)
	}
}

// startAfresh forgets what was seen, as at a take-over: after a step of the clock, durations are not what they seem (L9).
func (t *term) startAfresh(now fleet.Now, why fleet.Reason) {
	t.log.Warn("judging everything afresh", "reason", why)
	t.steadyAt = now.Mono.Add(guard.SettleTime(t.spec))
	t.pending = append(t.pending, t.about(fleet.Record{Kind: fleet.RecordOwner, Reason: why}))
	t.targets.restart()
	t.forgetChecks(fleet.ResultNone)
	for i := range t.views {
		t.views[i].Machine = t.views[i].Machine.Restart(now, t.spec)
		t.targets.aim(i, t.addressOf(i))
	}
	t.dirty = true
}

func (t *term) forgetChecks(why fleet.ResultReason) {
	for i := range t.views {
		v := &t.views[i]
		v.Due = true
		for k := range v.Checks {
			v.Checks[k].Standing, v.Checks[k].Result, v.Checks[k].Detail = fleet.StandingUnknown, why, ""
		}
	}
}

// hear takes in what the probes report.
func (t *term) hear(r probe.Report) {
	if r.Watermark != nil && r.Watermark.At.After(t.heard) {
		t.heard = r.Watermark.At
	}
	if r.Edge != nil {
		t.hearEdge(*r.Edge)
	}
}

func (t *term) hearEdge(e probe.Edge) {
	i, ok := t.byName[e.Machine]
	if !ok || t.deaf || !t.targets.current(i, e.Epoch) {
		return
	}
	v := &t.views[i]
	for k := range v.Checks {
		c := &v.Checks[k]
		if c.Check != e.Check {
			continue
		}
		if c.Standing != e.Standing {
			c.Since = t.clock.instant(e.At)
		}
		c.Standing, c.Result, c.Detail = e.Standing, e.Result, e.Detail
		v.Due, t.dirty = true, true
	}
}

// see takes in what the provider said of everything.
func (t *term) see(ctx context.Context, r report) {
	if r.state.Standing != t.provider.Standing {
		t.noteProvider(r.state)
	}
	t.provider = r.state
	t.dirty = true
	if r.state.Standing != fleet.ProviderUp {
		return
	}
	t.hosts = r.hosts
	up := make(map[fleet.HostName]bool, len(r.hosts))
	for _, h := range r.hosts {
		up[h.Name] = h.Up
	}
	t.taken = make(map[netip.Addr]fleet.InstanceID)
	byID := make(map[fleet.InstanceID]fleet.Instance, len(r.listing.Instances))
	marked := make(map[fleet.MachineName][]fleet.InstanceID)
	for _, i := range r.listing.Instances {
		byID[i.ID] = i
		if i.Power == fleet.PowerRunning && i.Address.IsValid() {
			t.taken[i.Address] = i.ID
		}
		if i.Mark.Fleet == t.spec.Name {
			marked[i.Mark.Machine] = append(marked[i.Mark.Machine], i.ID)
		}
	}
	for i := range t.views {
		t.seeMachine(ctx, i, sighted{byID: byID, marked: marked[t.views[i].Machine.Name], up: up, asked: r.asked})
	}
}

// sighted is one listing, seen from one machine.
type sighted struct {
	byID   map[fleet.InstanceID]fleet.Instance
	marked []fleet.InstanceID
	up     map[fleet.HostName]bool
	asked  fleet.Instant
}

func (t *term) seeMachine(ctx context.Context, index int, l sighted) {
	v := &t.views[index]
	var seen []fleet.Sighting
	for _, b := range believed(v.Machine) {
		old := v.Sighting(b.ID)
		i, listed := l.byID[b.ID]
		switch {
		case listed && l.asked >= old.Asked:
			seen = append(seen, fleet.Sighting{Instance: i, Asked: l.asked})
		case !l.up[b.Host] && old.Asked < l.asked: // its host cannot be asked: nothing is known
		case listed || old.Asked >= l.asked:
			seen = append(seen, old)
		case old.Instance.Power == fleet.PowerGone:
			old.Asked = l.asked
			seen = append(seen, old)
		default:
			seen = append(seen, old)
			t.confirmAbsence(ctx, index, b)
		}
	}
	for _, id := range l.marked {
		if !names(believed(v.Machine), id) {
			seen = append(seen, fleet.Sighting{Instance: l.byID[id], Asked: l.asked})
		}
	}
	sort.Slice(seen, func(a, b int) bool { return seen[a].Instance.ID < seen[b].Instance.ID })
	if differ(v.Seen, seen) {
		v.Due = true
	}
	v.Seen = seen
	t.targets.aim(index, t.addressOf(index))
	if m := v.Machine; m.Repair != nil && m.Repair.Phase == fleet.PhaseVerify && !v.Sighting(m.Current.ID).Instance.Address.IsValid() {
		t.sentinel.hasten()
	}
}

// believed returns the instances that the belief names, each once.
func believed(m fleet.Machine) []fleet.Incarnation {
	var out []fleet.Incarnation
	add := func(i fleet.Incarnation) {
		if !i.None() && !names(out, i.ID) {
			out = append(out, i)
		}
	}
	add(m.Current)
	if m.Repair != nil {
		add(m.Repair.Target)
		add(m.Repair.Next)
		if in := m.Repair.Intent; in != nil {
			add(fleet.Incarnation{ID: in.Instance, Host: in.Host})
		}
	}
	return out
}

func names(list []fleet.Incarnation, id fleet.InstanceID) bool {
	for _, i := range list {
		if i.ID == id {
			return true
		}
	}
	return false
}

// differ reports whether two lists of sightings say different things; when they were asked does not count.
func differ(a, b []fleet.Sighting) bool {
	if len(a) != len(b) {
		return true
	}
	for i := range a {
		if a[i].Instance != b[i].Instance {
			return true
		}
	}
	return false
}

// confirmAbsence asks for an instance that a complete listing does not have: only then is it gone.
func (t *term) confirmAbsence(ctx context.Context, index int, b fleet.Incarnation) {
	if t.asking[b.ID] {
		return
	}
	t.asking[b.ID] = true
	t.wg.Go(func() {
		s := t.observation(ctx, b.ID, b.Host)
		t.tell(ctx, func(t *term) {
			delete(t.asking, b.ID)
			if s != nil {
				t.sight(index, *s)
			}
		})
	})
}

// sight takes in what the provider said of one instance.
func (t *term) sight(index int, s fleet.Sighting) {
	v := &t.views[index]
	if !names(believed(v.Machine), s.Instance.ID) && v.Sighting(s.Instance.ID).Asked == 0 {
		return
	}
	v.Due, t.dirty = true, true
	for k := range v.Seen {
		if v.Seen[k].Instance.ID == s.Instance.ID {
			if s.Asked > v.Seen[k].Asked {
				v.Seen[k] = s
			}
			return
		}
	}
	v.Seen = append(v.Seen, s)
	sort.Slice(v.Seen, func(a, b int) bool { return v.Seen[a].Instance.ID < v.Seen[b].Instance.ID })
}

func (t *term) noteProvider(s fleet.ProviderState) {
	reason := map[fleet.ProviderStanding]fleet.Reason{
		fleet.ProviderUp: fleet.ReasonUp, fleet.ProviderDown: fleet.ReasonDown, fleet.ProviderDoubtful: fleet.ReasonProviderDoubtful,
	}[s.Standing]
	if s.Standing == fleet.ProviderUp && t.provider.Standing == fleet.ProviderUnknown {
		return // the ordinary beginning
	}
	rec := t.about(fleet.Record{Kind: fleet.RecordProvider, Reason: reason, Detail: s.Detail})
	t.pending = append(t.pending, rec)
	if s.Standing != fleet.ProviderUp {
		rec.Kind = fleet.RecordPaged
		t.pending = append(t.pending, rec)
	}
}

// addressOf returns where the machine is probed: the provider's word, or else its last one, unless that address is
// another instance's by now.
func (t *term) addressOf(index int) netip.Addr {
	m := t.views[index].Machine
	s := t.views[index].Sighting(m.Current.ID)
	if s.Asked > m.Acted && s.Instance.Address.IsValid() {
		return s.Instance.Address
	}
	if owner, taken := t.taken[m.Address]; taken && owner != m.Current.ID {
		return netip.Addr{}
	}
	return m.Address
}

// observation asks for one instance; a nil sighting means that nothing was learnt.
func (t *term) observation(ctx context.Context, id fleet.InstanceID, host fleet.HostName) *fleet.Sighting {
	asked := t.clock.now().Mono
	octx, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	i, err := t.sentinel.src.Adapter.Get(octx, refTo(id, host, fleet.Mark{}))
	switch {
	case err == nil:
		return &fleet.Sighting{Instance: i, Asked: asked}
	case fault.Is(err, fault.NotFound):
		return t.absence(octx, id, host)
	}
	t.log.Debug("no observation", "instance", id, "err", err)
	return nil
}

// absence follows up a "not found". An instance is gone only if a complete listing, by the very provider that we know,
// does not have it on any host either: it may have been migrated, and another provider would have none of ours.
func (t *term) absence(ctx context.Context, id fleet.InstanceID, host fleet.HostName) *fleet.Sighting {
	asked := t.clock.now().Mono
	if err := t.sentinel.vouch(ctx); err != nil {
		t.log.Warn("not found, but the provider is not the one we know", "instance", id, "err", err)
		return nil
	}
	listing, err := t.sentinel.src.Adapter.List(ctx)
	if err != nil {
		return nil
	}
	for _, h := range listing.Hosts {
		if h.Err != nil {
			return nil // it may be there
		}
	}
	for _, i := range listing.Instances {
		if i.ID == id {
			return &fleet.Sighting{Instance: i, Asked: asked}
		}
	}
	return &fleet.Sighting{Instance: fleet.Instance{ID: id, Host: host, Power: fleet.PowerGone}, Asked: asked}
}
