package bubble

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/tenure"
	"hale/internal/notify"
	"hale/internal/provider/simulated"
	"hale/internal/sim/law"
	"hale/internal/sim/load"
	"hale/internal/sim/world"
	"hale/internal/state/journal"
	"hale/internal/state/outbox"
)

// judge watches a play from the side of the truth and of the store: it follows the journal in the store's own order,
// and lets the judge of the truth, which is the simulator's too, know of what a bystander saw.
type judge struct {
	r     *room
	truth *law.Judge
	sizes *law.Sizes
	stop  func() // nil: all is judged

	mu    sync.Mutex
	heard []hearing // not taken in yet

	said    []remark
	broke   []remark
	seen    map[string]bool
	owner   string
	terms   []term
	healing map[fleet.MachineName]string // the repair under way, by its id
	// reviving are the machines in a repair that has done no more yet than to set going what does not run.
	reviving map[fleet.MachineName]bool
	repairs  map[fleet.MachineName]string
	outages  map[fleet.MachineName]*outage
	adopted  map[fleet.InstanceID]time.Time // strangers, when they were
	braked   bool                           // hale says so
	silent   bool                           // a person was told that the provider does not answer
	tally    tally
}

// tally is what can be counted here as in the simulator.
type tally struct {
	law.Tally
	law.SizeTally
	lost, unhealed, repairs, paged, held, brakes, visits int
	unseen                                               int // of HealthyDestroyed: out of its sender's sight
}

// hearing is a record, and when it was stored.
type hearing struct {
	at     time.Time
	record record.Record
}

// remark is something to print beside the journal.
type remark struct {
	at   time.Duration
	what string
}

// term is one uninterrupted ownership.
type term struct {
	server string
	from   time.Time
}

// outage is a time during which a machine does not serve, by truth.
type outage struct {
	since  time.Duration
	paged  bool // a person was told of it
	judged bool
}

func newJudge(r *room) *judge {
	j := &judge{
		r: r, seen: map[string]bool{}, healing: map[fleet.MachineName]string{}, reviving: map[fleet.MachineName]bool{},
		repairs: map[fleet.MachineName]string{},
		outages: map[fleet.MachineName]*outage{}, adopted: map[fleet.InstanceID]time.Time{},
	}
	j.truth = law.New(j, law.Fleet{Spec: &r.spec, Poll: r.o.Poll, Most: r.o.Most()}, &j.tally.Tally)
	j.sizes = law.NewSizes(j, r.spec.Sizing, &load.Demand{}, &j.tally.SizeTally)
	return j
}

// listen follows the journal from now on.
func (j *judge) listen() {
	store := j.r.backing.Open(nil)
	_, revision, err := journal.Read(j.r.t.Context(), store, j.r.spec.Name)
	j.r.must(err)
	ctx, cancel := context.WithCancel(j.r.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for entry, err := range journal.Follow(ctx, store, j.r.spec.Name, revision) {
			if err != nil {
				j.r.t.Errorf("the journal cannot be followed: %v", err)
				return
			}
			j.mu.Lock()
			j.heard = append(j.heard, hearing{time.Now(), entry.Record})
			j.mu.Unlock()
		}
	})
	j.stop = func() {
		cancel()
		wg.Wait()
	}
}

// note keeps a remark about what is done to the world.
func (j *judge) note(what string) { j.said = append(j.said, remark{j.r.now(), what}) }

// broken books a broken law, once per machine.
func (j *judge) broken(law string, machine fleet.MachineName, format string, args ...any) {
	if j.seen[law+string(machine)] {
		return
	}
	j.seen[law+string(machine)] = true
	b := remark{j.r.now(), fmt.Sprintf("law %s is broken: %s %s", law, machine, fmt.Sprintf(format, args...))}
	j.broke = append(j.broke, b)
	j.said = append(j.said, b)
}

// take takes in what was recorded and what was seen since it was asked last.
func (j *judge) take() {
	j.mu.Lock()
	heard := j.heard
	j.heard = nil
	j.mu.Unlock()
	for _, h := range heard {
		j.record(h)
	}
	for _, judge := range j.r.seen() {
		judge()
	}
}

// moved judges that an opinion moves the size: never down while a metric says nothing (law.Sizes).
func (j *judge) moved(rec *record.Record, at time.Time) {
	if rec.Reason != fleet.ReasonOpinion {
		return
	}
	j.r.truth(func(t *world.World) {
		ago := time.Since(at)
		j.sizes.Demand(&t.Demand)
		j.sizes.ByOpinion(rec, law.Now{At: t.Now() - ago, Asked: rec.Limit, Braked: j.braked})
	})
}

// look judges beliefs and machines as they are, and what led to that. Nothing is in motion while it runs.
func (j *judge) look() {
	j.take()
	for n := 1; n <= j.r.most(); n++ {
		if m, known := j.r.machine(n); known {
			j.truth.Believed(&m)
		}
		j.serving(n)
	}
	var crowds []*law.Crowd
	j.r.truth(func(t *world.World) {
		crowds = law.Crowds(t)
		for n := 1; n <= j.r.most(); n++ {
			name := string(j.r.spec.Name.Machine(n))
			if vm := t.Current(name); vm != nil && vm.Power == world.Running {
				j.truth.Holds(name, law.Disks(vm))
			}
		}
	})
	for _, c := range crowds {
		j.truth.Stands(c)
	}
	for _, d := range j.r.world.Snapshots() {
		n, _ := d.Machine.Ordinal()
		if m, known := j.r.machine(n); known && m.SnapshotAt(d.ID) < 0 {
			j.broken("L12", d.Machine, "the copy %s of its disks is forgotten", d.ID)
		}
	}
	j.tells()
}

// tells checks that each message was sent under an owner who had the time to: here it is taken at once (L12).
func (j *judge) tells() {
	if n := len(j.terms); n == 0 || j.r.owner() == nil || time.Since(j.terms[n-1].from) < time.Minute {
		return
	}
	waiting, err := outbox.Waiting(j.r.t.Context(), j.r.backing.Open(nil), j.r.spec.Name)
	j.r.must(err)
	for _, l := range waiting {
		taken := func(m notify.Message) bool { return m.Key == l.Value.Key }
		if time.Since(l.Value.Since) >= time.Minute && !slices.ContainsFunc(j.r.pager.Taken(), taken) {
			j.broken("L12", l.Value.Record.Machine, "no person is told that it is %s", l.Value.Record.Kind)
		}
	}
}

func (j *judge) brake(rec *record.Record) {
	j.braked = rec.Reason == fleet.ReasonEngaged
	if j.braked && rec.By == "" {
		j.tally.brakes++
	}
}

func (j *judge) changed(rec *record.Record) {
	switch rec.Reason {
	case fleet.ReasonLeaves: // within its bounds no person need be asked
		j.r.leaving[rec.Machine] = true
	case fleet.ReasonWithdrawn, fleet.ReasonGivenUp:
		delete(j.r.leaving, rec.Machine)
	default:
	}
}

func (j *judge) record(h hearing) {
	rec := h.record
	switch rec.Kind {
	case record.Owner:
		if rec.Reason == fleet.ReasonTookOver {
			j.handover(rec.Detail, h.at)
			j.owner = rec.Detail
			j.terms = append(j.terms, term{rec.Detail, h.at})
		}
	case record.Change:
		j.changed(&rec)
	case record.Size:
		j.moved(&rec, h.at)
	case record.Held:
		j.tally.held++
	case record.Paged:
		j.page(h)
	case record.Provider:
		j.silent = j.silent && rec.Reason != fleet.ReasonUp
	case record.Brake:
		j.brake(&rec)
	case record.Adoption:
		if rec.Reason == fleet.ReasonAdopted {
			j.adopted[rec.Instance] = h.at
		}
	case record.RepairStarted:
		j.begun(rec)
	case record.Intent:
		if j.reviving[rec.Machine] && !law.Sparing(rec.Op) {
			j.takesPlace(rec)
		}
	case record.RepairEnded:
		delete(j.repairs, rec.Machine)
		delete(j.healing, rec.Machine)
		delete(j.reviving, rec.Machine)
	default: // the rest says why, and is the simulator's business
	}
}

// handover checks that a server which waited for another one's end also waited for its last calls (L7).
func (j *judge) handover(name string, at time.Time) {
	for _, s := range j.r.servers {
		if s.name != name {
			continue
		}
		s.mu.Lock()
		claims := s.claims
		s.mu.Unlock()
		if n := len(claims); n > 1 && !claims[n-1].After(at) && at.Sub(claims[n-1]) < tenure.Handover {
			j.broken("L7", "", "%s took over %v after it won the fleet from another server", name, at.Sub(claims[n-1]))
		}
	}
}

// begun checks that a repair may begin.
func (j *judge) begun(rec record.Record) {
	if old := j.repairs[rec.Machine]; old != "" {
		j.tally.lost++
		j.broken("L12", rec.Machine, "repair %s is gone without an end", old)
	}
	j.repairs[rec.Machine] = rec.Repair
	if rec.Order.OfSpare() {
		j.standsBy(rec)
	}
	if rec.Reason != fleet.Reason(belief.RepairHeal) {
		return
	}
	j.tally.repairs++
	if j.reviving[rec.Machine] = rec.Cause.Stopped(); !rec.Cause.Stopped() {
		j.takesPlace(rec)
	}
}

// standsBy notes what hale does with a spare of its own accord, where the fleet's spares are to be off.
func (j *judge) standsBy(rec record.Record) {
	name := string(rec.Machine)
	switch {
	case rec.Step == fleet.StepStart:
		j.truth.WantedOn(name)
		j.truth.Has(name, fleet.OrderStart)
	case !j.r.spec.Spares.Off:
		j.broken("L4", rec.Machine, "it is turned off as a spare, and spares are to run")
	default:
		j.truth.Has(name, fleet.OrderStop)
	}
}

// takesPlace checks that a repair may take a place in the budget: when it begins, or when it goes on to more than a
// start.
func (j *judge) takesPlace(rec record.Record) {
	delete(j.reviving, rec.Machine)
	j.healing[rec.Machine] = rec.Repair
	if j.braked {
		j.broken("L6", rec.Machine, "a repair begins while the brake is on")
	}
	if most := j.r.spec.Limits.InRepair; len(j.healing) > most {
		j.broken("L5", rec.Machine, "%d machines are in repair, and %d may be", len(j.healing), most)
	}
}

// page notes that a person was told, and has them come where the room has an operator.
func (j *judge) page(h hearing) {
	rec := h.record
	if rec.Reason == fleet.ReasonAccessBack || rec.Reason == fleet.ReasonSecondRunning {
		j.truth.Told(string(rec.Machine), h.at.Sub(j.r.epoch))
	}
	if !rec.Joined() {
		j.tally.paged++
	}
	if rec.Joint != "" && rec.Machine == "" {
		return // the machines' own records name them
	}
	j.silent = j.silent || rec.Machine == "" && rec.Reason != fleet.ReasonBrake && rec.Reason != fleet.ReasonHostReboots
	for name, o := range j.outages {
		o.paged = o.paged || rec.Machine == "" || rec.Machine == name
	}
	if op := j.r.o.Operator; op > 0 {
		j.r.after(j.r.between(op/2, op*3/2), func() {
			if ofTwo(rec.Reason) {
				j.r.putsInOrder(rec)
			}
			j.visit(rec.Machine)
		})
	}
}

// visit lets a person mend the machine, or all of them, as far as hale left it to them.
func (j *judge) visit(name fleet.MachineName) {
	for n := 1; n <= j.r.most(); n++ {
		m, _ := j.r.machine(n)
		own := j.r.spec.Name.Machine(n)
		if (name == "" || name == own) && m.Repair == nil && !j.truth.Personal(string(own)) {
			j.mend(n)
		}
	}
}

// mend lets a person mend the machine, if it does not serve and there is anything to mend.
func (j *judge) mend(n int) {
	i, ok := j.r.instance(j.r.spec.Name.Machine(n))
	if !ok || j.r.serves(n) {
		return
	}
	j.tally.visits++
	j.note("a person mends " + string(i.Mark.Machine))
	j.r.inject(simulated.PersonMends{Instance: i.ID})
}

// serving follows the outages, and notices one that lasts longer than the policy may take, without a person who knows.
func (j *judge) serving(n int) {
	name := j.r.spec.Name.Machine(n)
	o := j.outages[name]
	switch {
	case j.r.serves(n) || j.r.left(n):
		delete(j.outages, name)
	case o == nil:
		j.outages[name] = &outage{since: j.r.now()}
	case !o.judged && j.r.now()-o.since > j.r.patience() && !j.covered(n):
		o.judged = true
		j.tally.unhealed++
		j.broken("L8", name, "down since %v, neither healed nor in a person's hands", o.since)
	}
}

// covered reports whether a person was told of something that explains why the machine does not serve.
func (j *judge) covered(n int) bool {
	m, known := j.r.machine(n)
	name := j.r.spec.Name.Machine(n)
	o := j.outages[name]
	return known && (m.Current.Candidate() || m.Incident != nil && m.Incident.Paged) || o != nil && o.paged ||
		j.braked || j.silent || j.truth.Personal(string(name))
}

// finish judges what can be judged only when all is over.
func (j *judge) finish() {
	if j.stop == nil {
		return
	}
	j.look()
	j.stop()
	j.stop = nil
}

// tenure checks that a disruptive call was sent by the owner (L7), and not before it could know anything (L9).
func (j *judge) tenure(d *law.Deed) {
	sent, machine := j.r.epoch.Add(d.Sent), fleet.MachineName(d.Machine)
	i := slices.IndexFunc(j.terms, func(t term) bool { return t.from.After(sent) })
	if i < 0 {
		i = len(j.terms)
	}
	if i == 0 || j.terms[i-1].server != d.Client &&
		(i < 2 || !j.terms[i-1].from.Equal(sent) || j.terms[i-2].server != d.Client) {
		j.broken("L7", machine, "%s by %s, which does not own the fleet", d.Op, d.Client)
		return
	}
	if d.Op == world.Delete || d.Op == world.Rebuild {
		return // nothing is deleted that runs: the proof that it is off stands in for a verdict
	}
	if known := sent.Sub(j.terms[i-1].from); known < law.Steady(&j.r.spec) {
		j.broken("L9", machine, "%s by %s, which had owned the fleet for %v", d.Op, d.Client, known)
	}
}

// patience is how long the policy may take until a machine is healed or a person told.
func (r *room) patience() time.Duration { return law.Utmost(&r.spec, r.o.Poll, r.spec.Size) }
