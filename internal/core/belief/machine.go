package belief

import (
	"net/netip"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Machine is everything that hale believes about one machine. It is stored whole, in one key, and replaced whole.
// Its Instants belong to the process that stored it: Restart makes them good for a new owner.
type Machine struct {
	Name fleet.MachineName
	// What each round asks of every machine comes first, so that it lies together in memory.
	Health     Health
	Incident   *Incident   `json:",omitempty"`
	Repair     *Repair     `json:",omitempty"`
	Quarantine *Quarantine `json:",omitempty"`
	// Waiting says why nothing is done although something could be; empty when nothing waits.
	Waiting fleet.Reason `json:",omitempty"`
	// Swings are the reasons for which it was held since its repair last began or ended, oldest first: at most
	// MaxSwings.
	Swings []Swing `json:",omitempty"`
	// Warned is what people were told of by checks that only tell.
	Warned []Warned `json:",omitempty"`
	// Strays are instances that bear this machine's mark but are neither current nor being built, since when seen.
	Strays []Stray `json:",omitempty"`

	// Contest is what is known of the instance's being on two hosts; nil: it is not. It is never changed in place, so
	// that copies share it.
	Contest *Contest `json:",omitempty"`
	// Elsewhere is the claim of another installation for which the instance is left to that; nil: there is none. It is
	// never changed in place.
	Elsewhere *fleet.Claim `json:",omitempty"`

	// Generation is the highest one ever allotted; the next instance gets Generation+1.
	Generation fleet.Generation
	// Epoch rises with each act that makes earlier check results worthless; evidence of an older epoch is ignored.
	Epoch uint64
	// Acted is when the epoch was raised: sightings asked earlier say nothing about the machine of today.
	Acted fleet.Instant
	// Cleared is when something that lay beside Current was last removed, or found gone: sightings asked earlier may
	// show it still.
	Cleared fleet.Instant `json:",omitempty"`
	Current Incarnation
	// Provisioned is how those hooks ended that make of Current what it is to be, as long as it is raw; nil: none has.
	// It is never changed in place, so that copies share it.
	Provisioned *Hooking `json:",omitempty"`
	// Address is the last one the provider named for Current; it stays probed when the provider names none (L8).
	Address netip.Addr
	// Moved is when Current was first seen on its present host, after it was on another; 0: it did not move.
	Moved fleet.Instant `json:",omitempty"`
	// Wanted is a person's order to repair it now, until that repair ends.
	Wanted *Wanted `json:",omitempty"`
	// Marked is a word from outside that it fails; nil: there is none.
	Marked *Marked `json:",omitempty"`
	// Alias is the name of an adopted instance at its provider.
	Alias string `json:",omitempty"`
	// Attempts are the starts of the repairs within the policy's window, oldest first.
	Attempts []fleet.Instant `json:",omitempty"`
	// Spurned are the hosts on which it was built in vain in this incident.
	Spurned []fleet.HostName `json:",omitempty"`
	// RetryAt is when the guard may admit the next repair (backoff).
	RetryAt fleet.Instant `json:",omitempty"`
	// Incidents and Repairs count what there was, so that ids are never reused.
	Incidents, Repairs uint64
	// Anchor is where a call may yet take effect that had no answer, or that the provider carries out once more: until
	// then nothing is built elsewhere, since only there its name is guarded.
	Anchor *Anchor `json:",omitempty"`
	// Change is the last wanted change of the machine that came to an end.
	Change *Change `json:",omitempty"`
	// Volumes are the machine's kept disks; nil: it has none. They are never changed in place, so that copies share
	// them.
	Volumes *Volumes `json:",omitempty"`
	// Kept are instances that were replaced and put aside, oldest first.
	Kept []KeptInstance `json:",omitempty"`
	// Snapshots are copies of the disks of its instances, oldest first. Those that are not whole are being made, or
	// were given up.
	Snapshots []DiskSnapshot `json:",omitempty"`
	// Left are instances that were replaced while their host was off, oldest first. They are never changed in place, so
	// that copies share them.
	Left []LeftBehind `json:",omitempty"`
}

// Change is how a wanted change of one machine ended. The fleet's ledger books it.
type Change struct {
	Order fleet.OrderID
	// Ended is ReasonRemoved, or why it was given up: then the machine is healed again as any other.
	Ended fleet.Reason
}

// Incarnation is the instance that a machine has, as hale believes it.
type Incarnation struct {
	ID         fleet.InstanceID
	Generation fleet.Generation
	Host       fleet.HostName
	// Network and Storage are where it lies beside its host, as last seen: also when it is gone.
	Network string `json:",omitempty"`
	Storage string `json:",omitempty"`
	// Edition is the number of the template that it was built from, in the ledger.
	Edition uint64 `json:",omitempty"`
	// Certified says that hale finished building it, or, of an adopted one, that it was seen healthy once; the latter
	// is written in the store only.
	Certified bool
	// Expired says that hale's own build of it ran out of time, or died: it may be removed though never certified.
	Expired bool
	// Adopted says that it existed before hale, which never built it and never marked it. Irreplaceable says that it
	// must never be destroyed.
	Adopted       bool `json:",omitempty"`
	Irreplaceable bool `json:"Kept,omitempty"`
	// Raw says that it was not provisioned yet: it is not certified before it was, however well it looks.
	Raw bool `json:",omitempty"`
	// Spoilt says that it was not provisioned, and cannot be: what was begun on it must not be run twice. It is
	// replaced.
	Spoilt bool `json:",omitempty"`
	// Served says, in a fleet with spares, that it had a place among those that serve since it was built, or last left
	// its users.
	Served bool `json:",omitempty"`
	// PoweredOff says that hale ordered what powers it off, and has not seen it run since: no person stopped it.
	PoweredOff bool `json:",omitempty"`
	// Parked is the order by which hale turned it off: a person's, until a person wants it on, or hale's own, of a
	// spare, until it is needed. Empty: there is none.
	Parked fleet.OrderID `json:",omitempty"`
}

// Replaceable reports whether the instance may be destroyed at all (L2).
func (i Incarnation) Replaceable() bool { return (i.Certified || i.Expired) && !i.Irreplaceable }

// None reports whether there is no instance.
func (i Incarnation) None() bool { return i.ID == "" }

// Incident is opened when a machine becomes unhealthy, or stays unknown too long, and closed when it is verified
// healthy.
type Incident struct {
	ID     string
	Cause  Cause
	Opened time.Time
	// Began is when the first probe failed of those that led to it; zero: that is not known, or no probe did.
	Began  time.Time `json:",omitzero"`
	Paged  bool      // a person was told; once per incident
	Failed int       // attempts at this incident that ended without health
	// Last is why the last of them did.
	Last Failure `json:",omitzero"`
	// HoldUntil is the wall time until which a stop by a person is left alone. Zero: no such hold.
	HoldUntil time.Time
	// Worsened says that the machine left its quarantine because more failed than what it was put there for; once per
	// incident.
	Worsened bool `json:",omitempty"`
	// Told is the wall time at which a person was told last, and For is why they were told first.
	Told time.Time    `json:",omitzero"`
	For  fleet.Reason `json:",omitempty"`
	// Joint names the page by which they were told of other machines of the fleet, too; empty: they were told of this
	// one alone.
	Joint string `json:",omitempty"`
	// Parent is the open incident of the domain that the machine fails with; empty: it has one of its own.
	Parent string `json:",omitempty"`
	// Freed is when a hold of the machine last ended: what a person is told of because it lasts, lasts from then on.
	Freed time.Time `json:",omitzero"`
	// Evidence is the instance on which evidence was gathered last, or is being gathered.
	Evidence fleet.InstanceID `json:",omitempty"`
	// Dark says that it waited for its host, or for its whole provider, to answer.
	Dark bool `json:",omitempty"`
	// Refuted is how often a look found the machine alive before hale touched it.
	Refuted int `json:",omitempty"`
}

// Failure is why an attempt ended without health.
type Failure struct {
	Why    fleet.Reason
	Detail string `json:",omitempty"` // what the provider said of it, say
}

// Known reports whether a person was ever told of the incident, perhaps before another try: they are told of its end,
// too.
func (i *Incident) Known() bool { return i.Paged || !i.Told.IsZero() }

// ToldOfHost reports whether all that a person was told is that hale turned the host off, or cut it: then it went on by
// itself.
func (i *Incident) ToldOfHost() bool {
	return i.Paged && (i.For == fleet.ReasonHostFenced || i.For == fleet.ReasonHostCut)
}

// Lasts returns since when the incident is hale's business.
func (i *Incident) Lasts() time.Time {
	if i.Freed.After(i.Opened) {
		return i.Freed
	}
	return i.Opened
}

// Blind reports whether the incident is about knowing nothing. It pages; it never destroys.
func (i *Incident) Blind() bool { return i != nil && i.Cause == CauseBlind }

// Wanted is an order to repair a machine that waits for its repair, or stands behind the one under way. It is current
// until Until, in wall time: what happens later needs another order.
type Wanted struct {
	Order  fleet.OrderID
	By     string
	Reason string `json:",omitempty"`
	Until  time.Time
	// Undo says that an instance is wanted back, and not a repair: Back, which had been replaced last when it was
	// ordered. Without a name, as older versions stored it, it is the one that was replaced last by now.
	Undo bool             `json:",omitempty"`
	Back fleet.InstanceID `json:",omitempty"`
	// Chore is what else is wanted of the machine, be it well or not; empty: nothing else.
	Chore fleet.OrderKind `json:",omitempty"`
	// Copy is the copy of disks that is to be put back (fleet.OrderRevert).
	Copy  fleet.SnapshotID `json:",omitempty"`
	Given time.Time        `json:",omitzero"` // of an chore: when it was taken up
}

// Heals reports whether a repair is wanted, and nothing else. There may be no order.
func (w *Wanted) Heals() bool { return w != nil && !w.Undo && w.Chore == "" }

// Command returns the kind of the order.
func (w *Wanted) Command() fleet.OrderKind {
	switch {
	case w.Undo:
		return fleet.OrderUndo
	case w.Chore != "":
		return w.Chore
	}
	return fleet.OrderHeal
}

// Ordered reports whether a current order of a person wants the machine repaired.
func (m *Machine) Ordered(now fleet.Now) bool {
	return m.Wanted.Heals() && !now.Reached(m.Wanted.Until)
}

// HasChore reports whether a current order of a person wants something done with the machine, be it well or not.
func (m *Machine) HasChore(now fleet.Now) bool {
	return m.Wanted != nil && m.Wanted.Chore != "" && !now.Reached(m.Wanted.Until)
}

// WantedBack reports whether a current order of a person wants the machine's old instance back.
func (m *Machine) WantedBack(now fleet.Now) bool {
	return m.Wanted != nil && m.Wanted.Undo && !now.Reached(m.Wanted.Until)
}

// Quarantine is where a machine goes that hale could not heal. Nothing touches it until a person says so, or, unless it
// stays, it becomes healthy by itself.
type Quarantine struct {
	Since  time.Time
	Reason fleet.Reason
	// Stays says that the machine is healthy and is kept from its users all the same, until a person ends that: a hook
	// after its repair failed.
	Stays bool `json:",omitempty"`
	// Spared are the rungs of the ladder that were not tried because they are for other checks than those that are
	// down.
	Spared Rungs `json:",omitempty"`
}

// Rungs is a set of rungs of a ladder, by their index: of the first 64.
type Rungs uint64

// With returns the set with the rung.
func (r Rungs) With(rung int) Rungs { return r | 1<<rung }

// Has reports whether the rung is in the set.
func (r Rungs) Has(rung int) bool { return rung >= 0 && r>>rung&1 == 1 }

// Stray is an instance with this machine's mark that should not be.
type Stray struct {
	ID   fleet.InstanceID
	Host fleet.HostName
	Seen fleet.Instant
	// RetryAt is when its removal may be tried again; Paged says that a person was told of it.
	RetryAt fleet.Instant `json:",omitempty"`
	Paged   bool          `json:",omitempty"`
}

// Takes returns the host on which the machine has an instance, or will have the one that was asked for.
func (m *Machine) Takes() (fleet.HostName, bool) {
	switch {
	case !m.Current.None():
		return m.Current.Host, true
	case m.Repair != nil && !m.Repair.Next.None():
		return m.Repair.Next.Host, true
	case m.Anchor != nil:
		return m.Anchor.Host, true
	}
	return "", false
}

// Anchor binds the next build to a host for a while.
type Anchor struct {
	Host  fleet.HostName
	Until fleet.Instant
}

// BindTo has nothing be built elsewhere than on the host while a call to build there that was sent then may take
// effect, for the first time or once more (L1).
func (m *Machine) BindTo(host fleet.HostName, sent fleet.Instant, spec *policy.Spec) {
	m.Anchor = &Anchor{Host: host, Until: sent.Add(spec.BuildLimit())}
}

// Restart makes the belief good for a new owner: its clock is another, and what was seen before is old (L9, L15).
// Deadlines that permit harm begin anew with their full length only when the owner sets them; here they restart from
// now. A call that was under way has an unknown outcome.
func (m Machine) Restart(now fleet.Now, spec policy.Spec) Machine {
	m.Acted, m.Cleared = now.Mono, 0
	if m.Moved != 0 {
		m.Moved = now.Mono
	}
	m.Health.SinceMono = now.Mono
	if m.Health.Grace != 0 {
		m.Health.Grace = now.Mono.Add(spec.Grace)
	}
	m.Health.Verdict = VerdictUnknown
	if !m.Health.Cause.Stopped() {
		m.Health.Cause = CauseNone // a stop is remembered, so that a start by others is noticed
	}
	if m.Anchor != nil {
		m.BindTo(m.Anchor.Host, now.Mono, &spec)
	}
	m.Attempts = append([]fleet.Instant(nil), m.Attempts...)
	for i := range m.Attempts {
		m.Attempts[i] = now.Mono
	}
	if m.RetryAt != 0 {
		m.RetryAt = now.Mono.Add(spec.Repair.Backoff)
	}
	m.Strays = nil
	if m.Contest != nil {
		c := *m.Contest
		c.Asked = now.Mono
		m.Contest = &c
	}
	m.Kept = slices.Clone(m.Kept)
	for i := range m.Kept {
		m.Kept[i].restart(now)
	}
	m.Snapshots = slices.Clone(m.Snapshots)
	for i := range m.Snapshots {
		m.Snapshots[i].restart(now)
	}
	m.Left = slices.Clone(m.Left)
	for i := range m.Left {
		m.Left[i].Since = now.Mono
	}
	if m.Repair != nil {
		m.doubtReset()
		m.Repair = m.Repair.restart(now, spec)
		m.graceForHooks(now, &spec)
	}
	m.Keep(&spec.Adopt)
	return m
}

// doubtReset takes back that hale powered the instance off, where a reset was written down and nobody knows whether it
// was ever sent: a reset rarely leaves a machine off, a person who stops it does so at any moment, and the step after a
// reset that failed would destroy what they stopped (L10).
func (m *Machine) doubtReset() {
	if in := m.Repair.Intent; in != nil && in.Op == fleet.OpReboot && !in.Unknown {
		m.Current.PoweredOff = false
	}
}

// ClockSet makes the belief good after a step of the wall clock. Durations are not what they seem, so that waiting
// begins anew (L9), but the owner and its calls are the same, and nothing that was promised ends sooner (L15).
func (m Machine) ClockSet(now fleet.Now, spec policy.Spec) Machine {
	kept, copies := slices.Clone(m.Kept), slices.Clone(m.Snapshots)
	for i := range kept {
		kept[i].stretch(now)
	}
	for i := range copies {
		copies[i].stretch(now)
	}
	underWay, off := m.Repair != nil && m.Repair.Intent != nil && !m.Repair.Intent.Unknown, m.Current.PoweredOff
	m = m.Restart(now, spec)
	if m.Kept, m.Snapshots = kept, copies; underWay {
		m.Repair.Intent.Unknown, m.Current.PoweredOff = false, off
	}
	return m
}

// Lies returns where the machine is, or was last: in its instance, or else in the one that its repair replaces.
func (m *Machine) Lies() Incarnation {
	if m.Current.None() && m.Repair != nil {
		return m.Repair.Target
	}
	return m.Current
}

// Apart reports whether the two lie in different places, whatever instances they are.
func (i *Incarnation) Apart(other *Incarnation) bool {
	return i.None() != other.None() || i.Host != other.Host || i.Network != other.Network || i.Storage != other.Storage
}

// Afresh forgets what was heard of the machine: its checks begin anew, and only what is asked from now on counts (L9).
// What is under way goes on; time that a verification waited in vain is given again.
func (m *Machine) Afresh(now fleet.Now, spec policy.Spec) {
	m.Epoch++
	m.Acted = now.Mono
	if m.Health.Grace != 0 {
		m.Health.Grace = now.Mono.Add(spec.Grace)
	}
	if m.Repair == nil {
		return
	}
	m.graceForHooks(now, &spec)
	if r := m.Repair; r.Phase == PhaseVerify {
		r.Deadline = now.Mono.Add(VerifyTime(spec, *r))
		if r.Step != fleet.StepPage { // to tell a person is no start
			m.Health.Grace = r.Deadline
		}
	}
}

// graceForHooks gives a new instance that is being provisioned, and may fail meanwhile, as much time for that as when
// it began. There is a repair.
func (m *Machine) graceForHooks(now fleet.Now, spec *policy.Spec) {
	if m.Repair.Phase == PhaseProvision && m.Health.Grace != 0 {
		m.Health.Grace = now.Mono.Add(spec.ProvisionTime())
	}
}

// Stays reports whether it is in a quarantine that its health does not end.
func (m *Machine) Stays() bool { return m.Quarantine != nil && m.Quarantine.Stays }

// Clone returns a copy that shares nothing with m.
func (m Machine) Clone() Machine {
	var c Machine
	m.CopyTo(&c)
	return c
}

// CopyTo makes c a copy that shares nothing with m, in the memory that c has already.
func (m *Machine) CopyTo(c *Machine) {
	attempts, strays, anchor, incident, quarantine, repair, kept := c.Attempts, c.Strays, c.Anchor, c.Incident,
		c.Quarantine, c.Repair, c.Kept
	wanted, spurned, marked := c.Wanted, c.Spurned, c.Marked
	change, snapshots, swings, warned := c.Change, c.Snapshots, c.Swings, c.Warned
	var intent *Intent
	if repair != nil {
		intent = repair.Intent
	}
	*c = *m
	c.Attempts = refill(attempts, m.Attempts)
	c.Spurned = refill(spurned, m.Spurned)
	c.Strays = refill(strays, m.Strays)
	c.Swings = refill(swings, m.Swings)
	c.Warned = refill(warned, m.Warned)
	c.Kept = refill(kept, m.Kept)
	c.Snapshots = refill(snapshots, m.Snapshots)
	c.Anchor = copyTo(anchor, m.Anchor)
	c.Incident = copyTo(incident, m.Incident)
	c.Quarantine = copyTo(quarantine, m.Quarantine)
	c.Wanted = copyTo(wanted, m.Wanted)
	c.Marked = copyTo(marked, m.Marked)
	c.Change = copyTo(change, m.Change)
	if c.Repair = copyTo(repair, m.Repair); c.Repair != nil {
		c.Repair.Intent = copyTo(intent, m.Repair.Intent)
	}
}

// refill returns a copy of from, in the memory of to. An empty one is nil, whatever there was.
func refill[T any](to, from []T) []T {
	if len(from) == 0 {
		return nil
	}
	return append(to[:0], from...)
}

// copyTo returns a copy of what from points to: in the memory of to, if there is any.
func copyTo[T any](to, from *T) *T {
	if from == nil {
		return nil
	}
	if to == nil {
		to = new(T)
	}
	*to = *from
	return to
}

// IncidentOver forgets the incident, and all that waited because of it.
func (m *Machine) IncidentOver() {
	m.Incident, m.Quarantine, m.Waiting, m.RetryAt, m.Spurned = nil, nil, "", 0, nil
	if m.Wanted.Heals() {
		m.Wanted = nil
	}
}

// Blame returns the cause as it is of this machine: what hale itself powered off, no person stopped, whatever became of
// the work that it was done for; and what a person stopped stays so when its provider, which says that it is off, has
// forgotten who did it, as after a reboot of its host.
func (m *Machine) Blame(c Cause, by fleet.Stop) Cause {
	switch {
	case m.Current.Parked.OfSpare() && c.Off():
		return CauseSpareOff
	case m.Current.Parked != "" && c.Off():
		return CauseParked
	case m.Current.PoweredOff && (c == CauseStopped || c == CauseShutdown):
		return CauseOff
	case m.Current.PoweredOff || c != CauseOff || by != fleet.StopUnknown || !m.Health.Cause.Personal():
	case m.Health.Cause == CausePaused:
		return CauseStopped // it cannot go on any more
	default:
		return m.Health.Cause
	}
	return c
}

// Rescued reports whether the machine was put into a person's hands because it failed, and not by a person for reasons
// of their own.
func (m *Machine) Rescued() bool {
	return m.Health.Cause == CauseRescued && m.Incident != nil && m.Incident.Cause != CauseRescued
}

// Contest is the time for which a machine's instance has been shown by two hosts.
type Contest struct {
	// Asked is when the listing was asked for that showed it first, on the owner's clock; it restarts with a new owner.
	Asked fleet.Instant
	Paged bool
	// Host is where the instance is, and Also the other one that shows it. Others are another contest: the instance has
	// moved since, and the end of what a person was told of may have gone unseen.
	Host, Also fleet.HostName
}

// Neighbourhood returns the one that the instance lies in.
func (i *Incarnation) Neighbourhood() fleet.Neighbourhood {
	if i.Host != "" {
		return fleet.Neighbourhood{Host: i.Host}
	}
	return fleet.Neighbourhood{Network: i.Network}
}

// TakenAlong reports whether a start was all that the machine needed, which its host had taken along: that is no sign
// of trouble of its own, however often the host does so.
func (m *Machine) TakenAlong() bool {
	return m.Repair.Revives && m.Incident != nil && m.Incident.Dark
}

// LacksCertificate reports whether the machine is well, and its instance was not certified yet. What was well when its
// successor was refused has no instance any more, and is judged in the next round.
func (m *Machine) LacksCertificate() bool {
	return !m.Current.None() && m.Health.Verdict == VerdictHealthy && (!m.Current.Certified || m.Current.Raw)
}
