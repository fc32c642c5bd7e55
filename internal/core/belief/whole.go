package belief

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/resized"
	"hale/internal/core/tested"
)

// Whole is what hale believes of a fleet beyond its machines one by one. It is stored beside the brake.
type Whole struct {
	// Parents are the open parent incidents, oldest first.
	Parents []Parent `json:",omitempty"`
	// Opened counts the parents, and the pages about several machines, that there ever were, so that ids are never
	// reused.
	Opened uint64
	Doubt  Doubt `json:",omitzero"`
	// Brakes are those shared with other fleets that are engaged, or were taken off, the widest first.
	Brakes []Brake `json:",omitempty"`
	// Begun are the last repairs that count for Limits.Repairs, by when each began, oldest first: no more than may.
	Begun []fleet.Instant `json:",omitempty"`
	// Holds are what people hold now, in the order in which they were placed.
	Holds []Hold `json:",omitempty"`
	// Maintenance are the hosts that the provider's people want to be empty.
	Maintenance []Maintenance `json:",omitempty"`
	// Ledger is what is in force; nil: what the configuration says. It is shared by copies.
	Ledger *Ledger `json:",omitempty"`
	// Sizing is what is remembered of how opinions moved the size; nil: nothing. It is shared by copies.
	Sizing *resized.State `json:",omitempty"`
	// LetGo are instances that people want out of hale's care, in the order in which they said so.
	LetGo []LetGo `json:",omitempty"`
	// Short is since when a fleet that selects has had another number of machines than is expected of it.
	Short Shortfall `json:",omitzero"`
	// Fenced is what people know of hosts that do not answer.
	Fenced []HostProof `json:",omitempty"`
	// Older is the proof that the store is older than the world; nil: there is none. It is never changed in place.
	Older *Older `json:",omitempty"`
	// Foreign are other installations of hale that have marked instances of this fleet's machines, as they were found.
	Foreign []Foreign `json:",omitempty"`
	// Book is what the checks were seen to do; nil: an older hale kept none. It is shared by copies.
	Book *tested.History `json:",omitempty"`
	// Summaries are what the recipients who want it once a day are told next of what was healed, sorted as those are.
	Summaries []Summary `json:",omitempty"`
	// Reboots are the hosts that took machines along of late, as their reboots were noticed.
	Reboots []HostReboots `json:",omitempty"`
}

// Older is what proves that the store is older than the world, as one does that was restored from a backup, or lost its
// last writes: an instance with this installation's mark and a generation that the store never allotted, or a start of
// hale at the provider's that the store does not know, as it is when a copy of the store is in use, too. Until a person
// has hale believe the world, nothing is done in the fleet.
type Older struct {
	Machine    fleet.MachineName
	Instance   fleet.InstanceID
	Host       fleet.HostName
	Generation fleet.Generation // of the instance
	Allotted   fleet.Generation // the highest one, by the store
	Start      fleet.StartName  `json:",omitempty"` // that the store does not know; then there is only Host beside it
	Since      time.Time
	// SinceMono is Since on the owner's clock; zero: an earlier owner found it.
	SinceMono fleet.Instant `json:",omitempty"`
	// Told are the unknown starts that a person was told with. A store may be put back to a time when it was held
	// already: then there is one that is not among them, that of the hale which went on meanwhile.
	Told []fleet.StartName `json:",omitempty"`
}

// Covers reports whether a person who was told of this was told with the start, too.
func (o *Older) Covers(n fleet.StartName) bool {
	return o != nil && (o.Start == n || slices.Contains(o.Told, n))
}

func (o *Older) equal(other *Older) bool {
	if o == nil || other == nil {
		return o == other
	}
	return o.Machine == other.Machine && o.Instance == other.Instance && o.Host == other.Host &&
		o.Generation == other.Generation &&
		o.Allotted == other.Allotted && o.Start == other.Start && o.Since.Equal(other.Since) &&
		o.SinceMono == other.SinceMono &&
		slices.Equal(o.Told, other.Told)
}

// Foreign is another installation of hale with an instance that bears the mark of one of this fleet's machines. Until a
// person has hale take it over, no first instance is built in the fleet.
type Foreign struct {
	Installation fleet.Installation
	Machine      fleet.MachineName
	Instance     fleet.InstanceID
	Host         fleet.HostName
	Since        time.Time
}

// Shortfall is the time of a wrong number of machines. The zero value: it is the right one.
type Shortfall struct {
	Since time.Time
	// SinceMono is Since on the owner's clock; it restarts with a new owner (L15).
	SinceMono fleet.Instant
	Paged     bool
}

// Parent is the incident of a domain: what failed there failed together, and shares its fate. Its children are the
// machines that have its ID as their Incident.Parent.
type Parent struct {
	ID     string
	Domain fleet.Domain
	Opened time.Time
	// Since is Opened on the owner's clock; it restarts with a new owner (L15).
	Since fleet.Instant
	// CalmSince is when the failures in the domain last ceased to be remarkable; zero while they are.
	CalmSince fleet.Instant
	Paged     bool
	// Told is the wall time at which a person was told last.
	Told time.Time `json:",omitzero"`
	// Joint names the page that told of this domain and others at once: Among are the first of them, MostAmong at most.
	Joint string         `json:",omitempty"`
	Among []fleet.Domain `json:",omitempty"`
	// Failing of Members failed when it was last looked at, and Chance is how likely that is without a common cause.
	Failing, Members int
	Chance           float64
}

// MostAmong is how many domains of one page are kept in mind, so that other fleets do not tell of them again.
const MostAmong = 8

func (p Parent) equal(other Parent) bool {
	return p.ID == other.ID && p.Domain == other.Domain && p.Opened.Equal(other.Opened) && p.Since == other.Since &&
		p.CalmSince == other.CalmSince && p.Paged == other.Paged && p.Told.Equal(other.Told) &&
		p.Joint == other.Joint && slices.Equal(p.Among, other.Among) && p.Failing == other.Failing &&
		p.Members == other.Members && p.Chance == other.Chance
}

// Doubt is the belief that hale's own sight is at fault, and not the machines.
type Doubt struct {
	Reason fleet.Reason // ReasonVantageIsolated or ReasonVantageDoubtful; empty: none
	Since  time.Time
	// CalmSince is when the reason for it ceased; zero while there is one.
	CalmSince fleet.Instant
	Paged     bool
	// Told is the wall time at which a person was told last.
	Told time.Time `json:",omitzero"`
}

// Parent returns the open parent incident with the id, or nil.
func (w Whole) Parent(id string) *Parent {
	if id == "" {
		return nil
	}
	for i := range w.Parents {
		if w.Parents[i].ID == id {
			return &w.Parents[i]
		}
	}
	return nil
}

// Brake returns the brake of the scope, which is off when nothing is known of it.
func (w Whole) Brake(k policy.ScopeKind) Brake {
	for _, b := range w.Brakes {
		if b.Scope == k {
			return b
		}
	}
	return Brake{Scope: k}
}

// Equal reports whether the two say the same.
func (w Whole) Equal(other Whole) bool {
	return w.Opened == other.Opened && w.Doubt == other.Doubt &&
		slices.EqualFunc(w.Parents, other.Parents, Parent.equal) &&
		slices.Equal(w.Brakes, other.Brakes) && slices.Equal(w.Begun, other.Begun) &&
		slices.Equal(w.Holds, other.Holds) && slices.Equal(w.Maintenance, other.Maintenance) &&
		w.Ledger.Equal(other.Ledger) && w.Short == other.Short && slices.EqualFunc(w.LetGo, other.LetGo, LetGo.Equal) &&
		slices.Equal(w.Fenced, other.Fenced) && w.Older.equal(other.Older) && slices.Equal(w.Foreign, other.Foreign) &&
		w.Book.Equal(other.Book) && w.Sizing.Equal(other.Sizing) &&
		slices.EqualFunc(w.Summaries, other.Summaries, Summary.same) &&
		slices.EqualFunc(w.Reboots, other.Reboots, HostReboots.equal)
}

// Clone returns a copy that shares nothing with w.
func (w Whole) Clone() Whole {
	w.Parents, w.Holds, w.LetGo = slices.Clone(w.Parents), slices.Clone(w.Holds), slices.Clone(w.LetGo)
	w.Fenced, w.Foreign, w.Brakes = slices.Clone(w.Fenced), slices.Clone(w.Foreign), slices.Clone(w.Brakes)
	w.Begun, w.Summaries = slices.Clone(w.Begun), slices.Clone(w.Summaries)
	w.Reboots, w.Maintenance = slices.Clone(w.Reboots), slices.Clone(w.Maintenance)
	return w
}

// Restart makes the belief good for a new owner with another clock: waiting begins anew (L15).
func (w Whole) Restart(now fleet.Now) Whole {
	w = w.Clone()
	for i := range w.Parents {
		w.Parents[i].Since, w.Parents[i].CalmSince = now.Mono, 0
	}
	for i := range w.Brakes {
		w.Brakes[i].CalmSince, w.Brakes[i].SteadySince = 0, 0
	}
	for i := range w.Begun {
		w.Begun[i] = now.Mono
	}
	w.Doubt.CalmSince = 0
	w.Book, w.Sizing, w.Ledger = w.Book.Restart(now), w.Sizing.Restart(now), w.Ledger.restart(now)
	if w.Older != nil {
		o := *w.Older
		o.SinceMono, w.Older = 0, &o
	}
	if !w.Short.Since.IsZero() {
		w.Short.SinceMono = now.Mono
	}
	for i := range w.Holds {
		w.Holds[i].restart(now)
	}
	for i := range w.Maintenance {
		w.Maintenance[i].InUse = 0
	}
	for i := range w.Fenced {
		w.Fenced[i].Ends = now.Mono.Add(max(0, w.Fenced[i].Until.Sub(now.Wall)))
	}
	return w
}

// ClockSet makes the belief good after a step of the wall clock: waiting begins anew, and no hold is shortened (L15).
func (w Whole) ClockSet(now fleet.Now) Whole {
	holds := slices.Clone(w.Holds)
	for i := range holds {
		holds[i].stretch(now)
	}
	ledger := w.Ledger.stretched(now)
	w = w.Restart(now)
	w.Holds, w.Fenced = holds, nil // it is unknown now how long a word counted
	if w.Ledger != nil && w.Ledger.Ordered != nil {
		w.Ledger.Ordered = ledger.Ordered
	}
	return w
}
