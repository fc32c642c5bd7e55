package bubble

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/internal/fleet"
	"hale/internal/journal"
	"hale/internal/provider/simulated"
	"hale/internal/tenure"
)

// judge watches a play from the side of the truth and of the store: it follows the journal in the store's own order, asks
// the world on every beat, and goes through the provider's log when the play is over.
type judge struct {
	r    *room
	stop func() // nil: all is judged

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
	disks    map[heldDisk]attached
}

// attached is what was first written to a kept disk, and which instance has it.
type attached struct {
	content uint64
	to      fleet.InstanceID
}

// heldDisk names a kept disk of a machine.
type heldDisk struct {
	machine fleet.MachineName
	name    string
}

// tally is what can be counted here as in room A.
type tally struct {
	healthyDestroyed, caughtRecovering, windowActs, doubles, lost, unhealed int
	repairs, paged, held, brakes, visits, actions                           int
	reattached                                                              int // kept disks that another instance has than at the last look
	snapshots                                                               int // copies of disks that were made
	unseen                                                                  int // of healthyDestroyed: out of its sender's sight
}

// hearing is a record, and when it was stored.
type hearing struct {
	at     time.Time
	record fleet.Record
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
	return &judge{
		r: r, seen: map[string]bool{}, healing: map[fleet.MachineName]string{}, reviving: map[fleet.MachineName]bool{},
		repairs: map[fleet.MachineName]string{},
		outages: map[fleet.MachineName]*outage{}, disks: map[heldDisk]attached{}, adopted: map[fleet.InstanceID]time.Time{},
	}
}

// listen follows the journal from now on.
func (j *judge) listen() {
	store := j.r.backing.Open(nil)
	_, revision, err := journal.Read(j.r.t.Context(), store, j.r.spec.Name)
	j.r.must(err)
	ctx, cancel := context.WithCancel(j.r.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for record, err := range journal.Follow(ctx, store, j.r.spec.Name, revision) {
			if err != nil {
				j.r.t.Errorf("the journal cannot be followed: %v", err)
				return
			}
			j.mu.Lock()
			j.heard = append(j.heard, hearing{time.Now(), record})
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

// look takes in what was recorded, and judges beliefs and machines as they are. Nothing is in motion while it runs.
func (j *judge) look() {
	j.mu.Lock()
	heard := j.heard
	j.heard = nil
	j.mu.Unlock()
	for _, h := range heard {
		j.record(h)
	}
	for n := 1; n <= j.r.spec.Size; n++ {
		j.believed(n)
		j.serving(n)
		j.equipped(n)
	}
	for _, d := range j.r.world.Snapshots() {
		n, _ := d.Machine.Ordinal()
		if m, known := j.r.machine(n); known && m.SnapshotAt(d.ID) < 0 {
			j.broken("L12", d.Machine, "the copy %s of its disks is forgotten", d.ID)
		}
	}
}

func (j *judge) record(h hearing) {
	rec := h.record
	switch rec.Kind {
	case fleet.RecordOwner:
		if rec.Reason == fleet.ReasonTookOver {
			j.handover(rec.Detail, h.at)
			j.owner = rec.Detail
			j.terms = append(j.terms, term{rec.Detail, h.at})
		}
	case fleet.RecordHeld:
		j.tally.held++
	case fleet.RecordPaged:
		j.page(rec)
	case fleet.RecordProvider:
		j.silent = j.silent && rec.Reason != fleet.ReasonUp
	case fleet.RecordBrake:
		j.braked = rec.Reason == fleet.ReasonEngaged
		if j.braked && rec.By == "" {
			j.tally.brakes++
		}
	case fleet.RecordAdoption:
		if rec.Reason == fleet.ReasonAdopted {
			j.adopted[rec.Instance] = h.at
		}
	case fleet.RecordRepairStarted:
		j.begun(rec)
	case fleet.RecordIntent:
		if j.reviving[rec.Machine] && rec.Op != fleet.OpStart && rec.Op != fleet.OpResume {
			j.takesPlace(rec)
		}
	case fleet.RecordRepairEnded:
		delete(j.repairs, rec.Machine)
		delete(j.healing, rec.Machine)
		delete(j.reviving, rec.Machine)
	default: // the rest says why, and is room A's business
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
func (j *judge) begun(rec fleet.Record) {
	if old := j.repairs[rec.Machine]; old != "" {
		j.tally.lost++
		j.broken("L12", rec.Machine, "repair %s is gone without an end", old)
	}
	j.repairs[rec.Machine] = rec.Repair
	if rec.Reason != fleet.Reason(fleet.RepairHeal) {
		return
	}
	j.tally.repairs++
	if j.reviving[rec.Machine] = rec.Cause.Stopped(); !rec.Cause.Stopped() {
		j.takesPlace(rec)
	}
}

// takesPlace checks that a repair may take a place in the budget: when it begins, or when it goes on to more than a
// start.
func (j *judge) takesPlace(rec fleet.Record) {
	delete(j.reviving, rec.Machine)
	j.healing[rec.Machine] = rec.Repair
	if j.braked {
		j.broken("L6", rec.Machine, "a repair begins while the brake is on")
	}
	if most := j.r.spec.Limits.InRepair; len(j.healing) > most {
		j.broken("L5", rec.Machine, "%d machines are in repair, and %d may be", len(j.healing), most)
	}
}

// page notes that a person was told, and sends them where somebody comes.
func (j *judge) page(rec fleet.Record) {
	if !rec.Joined() {
		j.tally.paged++
	}
	if rec.Joint != "" && rec.Machine == "" {
		return // the machines' own records name them
	}
	j.silent = j.silent || rec.Machine == "" && rec.Reason != fleet.ReasonBrake
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
	for n := 1; n <= j.r.spec.Size; n++ {
		m, _ := j.r.machine(n)
		if own := j.r.spec.Name.Machine(n); (name == "" || name == own) && m.Repair == nil && !j.r.personal[own] {
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

// believed checks the laws that a belief can break by itself.
func (j *judge) believed(n int) {
	m, known := j.r.machine(n)
	if !known {
		return
	}
	if err := m.Check(); err != nil {
		j.broken("belief", m.Name, "%v", err)
	}
	if m.Waiting == fleet.ReasonLawBroken {
		j.broken("belief", m.Name, "hale itself found a law broken and stopped touching it")
	}
	if m.Quarantine != nil && (m.Incident == nil || !m.Incident.Paged) {
		j.broken("L8", m.Name, "in quarantine, and nobody was told")
	}
}

// serving follows the outages, and notices one that lasts longer than the policy may take, without a person who knows.
func (j *judge) serving(n int) {
	name := j.r.spec.Name.Machine(n)
	o := j.outages[name]
	switch {
	case j.r.serves(n) || j.r.left(n):
		delete(j.outages, name)
		delete(j.r.personal, name)
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
	o := j.outages[j.r.spec.Name.Machine(n)]
	return known && (m.Current.Candidate() || m.Incident != nil && m.Incident.Paged) || o != nil && o.paged || j.braked || j.silent || j.r.personal[j.r.spec.Name.Machine(n)]
}

// equipped checks that the machine's instance has every disk that is to be kept, with what was ever written to it.
func (j *judge) equipped(n int) {
	i, ok := j.r.world.Instance(j.r.spec.Name.Machine(n))
	if !ok || !j.r.spec.Template.HasAttached() {
		return
	}
	has := j.r.world.Attached(i.ID)
	for _, d := range j.r.spec.Template.Disks {
		k := heldDisk{i.Mark.Machine, d.Name}
		switch content := has[d.Name]; {
		case !d.Attached():
		case content == 0:
			j.broken("disk", k.machine, "was built without its disk %s", d.Name)
		case j.disks[k].content == 0:
			j.disks[k] = attached{content, i.ID}
		case j.disks[k].content != content:
			j.broken("disk", k.machine, "has another disk %s, without the data", d.Name)
		case j.disks[k].to != i.ID:
			j.disks[k] = attached{content, i.ID}
			j.tally.reattached++
		}
	}
}

// vouched reports whether the machine had an instance on a host that a person said to be off, in a word that the policy takes: then it may have been wrong;
// or on one that a person gave its access back.
func (j *judge) vouched(machine fleet.MachineName) bool {
	return slices.ContainsFunc(j.r.world.Lives(), func(l simulated.Life) bool {
		said := j.r.spec.Repair.Fence.Word && slices.Contains(j.r.saidOff, l.Host)
		return l.Mark.Machine == machine && (said || slices.Contains(j.r.given, l.Host))
	})
}

// finish judges what can be judged only when all is over.
func (j *judge) finish() {
	if j.stop == nil {
		return
	}
	j.look()
	j.stop()
	j.stop = nil
	for n := 1; n <= j.r.spec.Size; n++ {
		name := j.r.spec.Name.Machine(n)
		if most := j.r.world.MaxRunningCopies(name); most > 1 {
			j.tally.doubles++
			if !j.vouched(name) {
				j.broken("L1", name, "%d instances ran at once", most)
			}
		}
	}
	for _, d := range j.r.world.Disks() {
		if d.Most > 1 {
			j.broken("disk", fleet.MachineName(d.Machine), "%d instances wrote to its disk %s at once", d.Most, d.Name)
		}
	}
	for _, c := range j.r.world.Calls() {
		if strings.HasPrefix(c.Client, "hale-") || isSecond(c.Client) {
			j.call(c)
		}
	}
}

// call judges one call of hale's.
func (j *judge) call(c simulated.Call) {
	if !c.Again && c.Op.Disruptive() && !heldUp(c.Client) && !isSecond(c.Client) { // who owns its fleet is no question
		j.tenure(c)
	}
	j.strangers(c)
	j.copied(c.Instance, c.Op)
	if !c.Effect {
		return
	}
	if c.Op == fleet.OpSnapshot {
		j.tally.snapshots++
	}
	j.tally.actions++
	if c.Op.Disruptive() && c.Power == fleet.PowerPaused {
		j.broken("L10", c.Machine, "%s of %s, which was paused", c.Op, c.Instance)
	}
	switch {
	case c.Again || !c.Op.Disruptive() || c.Served == 0:
	case j.r.isOrdered(c):
	case heldUp(c.Client):
		j.tally.windowActs++
	case c.Served >= proven(j.r.spec):
		j.tally.healthyDestroyed++
		if c.Unseen {
			j.tally.unseen++
			if j.r.blindly {
				break
			}
		}
		j.broken("harm", c.Machine, "%s of %s, sent at %v although it was healthy", c.Op, c.Instance, c.Sent.Sub(j.r.began))
	default:
		j.tally.caughtRecovering++
	}
}

// isOrdered reports whether a person's order has the call in it: a confirmed plan, or the old instance that is wanted back.
func (r *room) isOrdered(c simulated.Call) bool {
	planned := r.named[c.Instance] == c.Machine || r.renewed[c.Instance] || r.leaving[c.Machine] && !r.spec.Adopt.Selects()
	return planned && (c.Op == fleet.OpPowerOff || c.Op == fleet.OpDelete) || c.Op == fleet.OpPowerOff && r.swapped[c.Machine]
}

// tenure checks that a disruptive call was sent by the owner (L7), and not before it could know anything (L9).
func (j *judge) tenure(c simulated.Call) {
	i := slices.IndexFunc(j.terms, func(t term) bool { return t.from.After(c.Sent) })
	if i < 0 {
		i = len(j.terms)
	}
	if i == 0 || j.terms[i-1].server != c.Client && (i < 2 || j.terms[i-1].from != c.Sent || j.terms[i-2].server != c.Client) {
		j.broken("L7", c.Machine, "%s by %s, which does not own the fleet", c.Op, c.Client)
		return
	}
	if c.Op == fleet.OpDelete || c.Op == fleet.OpRebuild {
		return // nothing is deleted that runs: the proof that it is off stands in for a verdict
	}
	quickest := time.Hour
	for _, k := range j.r.spec.Checks {
		quickest = min(quickest, time.Duration(max(k.DownAfter-1, 0))*k.Every)
	}
	if known := c.Sent.Sub(j.terms[i-1].from); len(j.r.spec.Checks) > 0 && known < quickest {
		j.broken("L9", c.Machine, "%s by %s, which had owned the fleet for %v", c.Op, c.Client, known)
	}
}

// proven is how long a machine's own checks need to call it up: before, it was only caught recovering.
func proven(spec fleet.Spec) time.Duration {
	var longest time.Duration
	for _, c := range spec.Checks {
		longest = max(longest, time.Duration(max(c.UpAfter-1, 0))*c.Every)
	}
	return longest
}

// patience is how long the policy may take until a machine is healed or a person told, worked out from the policy alone.
func (r *room) patience() time.Duration {
	detect := r.o.Poll
	for _, c := range r.spec.Checks {
		detect = max(detect, time.Duration(c.DownAfter+1)*c.Every+c.Timeout)
	}
	pass := 2 * detect
	for _, step := range r.spec.Repair.Steps {
		pass += 2*step.Timeout + step.VerifyWithin
		if step.Kind == fleet.StepRecreate || step.Kind == fleet.StepRebuild {
			pass += r.spec.BuildWithin
		}
	}
	total := r.spec.BlindAfter + r.spec.Repair.ExternalStopHold + time.Hour
	backoff := r.spec.Repair.Backoff
	for range max(r.spec.Repair.Attempts, 1) {
		for range 1 + r.spec.Size/max(r.spec.Limits.InRepair, 1) { // one after the other
			total += pass
		}
		total += min(backoff, 30*time.Minute)
		backoff *= 2
	}
	return total
}
