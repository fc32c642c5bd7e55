package bulkprobe

import (
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

const (
	// manyAtOnce is the number of new or changed targets that may all be due at once. More targets are spread over the
	// interval, and at most spreadOver.
	manyAtOnce = 100
	spreadOver = time.Second
)

// record is what an engine keeps of a target that the shards watch: who it is, and its latest edge.
type record struct {
	machine  fleet.MachineName
	instance fleet.InstanceID
	plan     *plan
	epoch    uint64
	at, due  int64 // of the latest edge
	address  addressOf
	seq      uint32
	run      uint32 // counts restarts of all targets; what belongs to an earlier one is ignored
	handle   int32  // in its shard; none: the target cannot be probed
	check    int32  // its name's number
	note     note
	standing standing
	was      standing
	reason   reason
	used     bool
	queued   bool // in the outbox
	pending  bool // its edge was not delivered yet
}

// register knows who the targets are, and what is to be told of them. It belongs to the goroutine of Engine.Run.
type register struct {
	pool     *Pool
	ordinary Ordinary
	number   uint16 // of the mailbox
	numbered bool   // it has one; if not, the ordinary engine watches all
	box      *mailbox
	records  slab[record]
	checks   checkNames
	places   places
	index    index
	plans    map[*policy.Check]*shared
	run      uint32
	out      outbox
	theirs   theirs
	log      probe.Listeners
}

// shared is a plan with the number of records that use it.
type shared struct {
	plan  *plan
	users int
}

func newRegister(p *Pool, ordinary Ordinary) *register {
	r := &register{pool: p, ordinary: ordinary, plans: make(map[*policy.Check]*shared), theirs: make(theirs)}
	r.number, r.box, r.numbered = p.open()
	if !r.numbered {
		r.out.shards = never
	}
	r.index.records, r.index.checks = &r.records, &r.checks
	r.out.register = r
	return r
}

// close ends all targets.
func (r *register) close() {
	for i := range r.records.used {
		if rec := r.records.at(i); rec.used {
			r.halt(rec)
		}
	}
	r.box.close()
}

// set adds or replaces targets; unchanged ones are left alone.
func (r *register) set(targets []probe.Target, now time.Time) {
	var changed, others []*probe.Target
	for k := range targets {
		want := &targets[k]
		switch i := r.index.find(want.ID); {
		case !r.numbered || !Takes(want.Spec) || want.Keeps || want.Unaimed() == fleet.ResultSharedAddress:
			others = append(others, want)
		case i == none || !r.same(r.records.at(i), want):
			changed = append(changed, want)
		}
	}
	r.setOthers(others, now)
	orders := make([][]instruction, len(r.pool.shards))
	for _, want := range changed {
		first := now
		if len(changed) > manyAtOnce {
			spread := uint64(min(want.Spec.Every, spreadOver))      //nolint:gosec // positive
			first = now.Add(time.Duration(share(want.ID) % spread)) //nolint:gosec // positive
		}
		r.restart(want, first.Sub(r.pool.origin), now, orders)
	}
	for k, some := range orders {
		if len(some) > 0 {
			r.pool.shards[k].tell(some...)
		}
	}
}

// same reports whether the target may go on undisturbed. Another instance is another target, whatever its address.
func (r *register) same(rec *record, want *probe.Target) bool {
	check := rec.plan.check
	return rec.instance == want.Instance && rec.epoch == want.Epoch && rec.address == addressFrom(want.Address) &&
		(check == want.Spec || reflect.DeepEqual(check, want.Spec))
}

// restart makes the target begin from unknown, with its first probe due at first.
func (r *register) restart(want *probe.Target, first time.Duration, now time.Time, orders [][]instruction) {
	i := r.index.find(want.ID)
	if i == none {
		i = r.enter(want)
	}
	rec := r.records.at(i)
	where := r.shardOf(want.ID)
	if end, running := r.ended(rec); running {
		orders[where] = append(orders[where], end)
	}
	newEpoch := rec.epoch != want.Epoch
	if newEpoch {
		rec.epoch, rec.seq = want.Epoch, 0
	}
	r.run++
	r.leave(rec.plan)
	rec.instance, rec.address, rec.plan, rec.run = want.Instance, addressFrom(want.Address), r.planOf(want.Spec), r.run
	why := nothing
	if want.Address.IsValid() {
		orders[where] = append(orders[where], r.begin(i, rec, where, int64(first)))
	} else {
		why = noAddress
	}
	told := rec.standing == unknown && rec.reason == why
	if newEpoch && (rec.reason != nothing || rec.pending) {
		told = false // the new epoch has not heard it
	}
	if !told {
		at := int64(now.Sub(r.pool.origin))
		r.tell(i, news{standing: unknown, reason: why, at: at, due: at})
	}
}

// enter makes a record of a target that there was none of. One that the ordinary engine watched comes over with its
// count of edges.
func (r *register) enter(want *probe.Target) int32 {
	i := r.places.get()
	r.records.reach(i)
	rec := r.records.at(i)
	queued := rec.queued // a place that waits in the outbox waits on for the next target
	*rec = record{
		machine: want.ID.Machine, check: r.checks.numberOf(want.ID.Check), epoch: want.Epoch, handle: none, used: true,
		queued: queued,
	}
	r.index.add(i)
	if last := r.moveIn(want.ID); last.Epoch == want.Epoch {
		rec.seq = uint32(last.Seq) //nolint:gosec // edges of one epoch
		rec.standing, rec.reason = standingOf(last.Standing), codeOf(last.Result)
	}
	return i
}

// begin gives the target to its shard.
func (r *register) begin(i int32, rec *record, where int, first int64) instruction {
	rec.handle = r.pool.shards[where].handle()
	every := uint64(rec.plan.every) //nolint:gosec // positive
	slot := uint64(r.pool.slot)     //nolint:gosec // positive
	regular := share(r.idOf(rec)) % every
	if every > slot {
		regular -= regular % slot // slots begin there
	}
	t := target{
		box: r.number, record: i, run: rec.run, token: regular, address: rec.address.bytes, zone: rec.address.zone,
	}
	if rec.address.is4() {
		t.flags |= isIPv4
	}
	if r.log.To(rec.machine) {
		t.flags |= overheard
	}
	return instruction{handle: rec.handle, target: t, plan: rec.plan, first: first}
}

// ended returns the order that ends the target in its shard, if it is there.
func (r *register) ended(rec *record) (instruction, bool) {
	if rec.handle == none {
		return instruction{}, false
	}
	o := instruction{handle: rec.handle, end: true}
	rec.handle = none
	return o, true
}

// halt ends the target in its shard.
func (r *register) halt(rec *record) {
	if end, running := r.ended(rec); running {
		r.pool.shards[r.shardOf(r.idOf(rec))].tell(end)
	}
}

// remove ends targets; their undelivered edges are dropped.
func (r *register) remove(ids []probe.ID) {
	r.ordinary.Remove(ids...)
	for _, id := range ids {
		r.dismiss(id)
		if i := r.index.find(id); i != none {
			r.drop(i)
		}
	}
}

// drop ends a record.
func (r *register) drop(i int32) {
	rec := r.records.at(i)
	r.halt(rec)
	r.leave(rec.plan)
	r.index.remove(i)
	*rec = record{handle: none, queued: rec.queued}
	r.places.put(i)
}

// hear takes the news of the shards.
func (r *register) hear() {
	if !r.numbered {
		return
	}
	all, judged := r.box.empty()
	for _, n := range all {
		if rec := r.records.at(n.record); rec.used && rec.run == n.run {
			r.tell(n.record, n)
		}
	}
	r.out.judged(judged)
	r.passSingles()
}

// tell makes an edge.
func (r *register) tell(i int32, n news) {
	rec := r.records.at(i)
	rec.seq++
	rec.was, rec.standing, rec.reason, rec.note = rec.standing, n.standing, n.reason, n.note
	rec.at, rec.due = n.at, n.due
	r.out.edge(i, rec)
}

// edge is the record's latest edge as the port has it.
func (r *register) edge(rec *record) probe.Edge {
	e := probe.Edge{
		ID: r.idOf(rec), Epoch: rec.epoch, Seq: uint64(rec.seq), Standing: rec.standing.word(), Was: rec.was.word(),
		Result: rec.reason.word(), Detail: rec.note.text(),
	}
	if rec.seq > 0 {
		e.At, e.Due = r.pool.origin.Add(time.Duration(rec.at)), r.pool.origin.Add(time.Duration(rec.due))
	} else {
		e.Was = ""
	}
	return e
}

// standings returns the latest edge of every target, sorted by ID.
func (r *register) standings() []probe.Edge {
	r.hear()
	edges := r.ordinary.Standings()
	for k := range edges {
		edges[k].Seq = r.theirs.seq(edges[k])
	}
	for i := range r.records.used {
		if rec := r.records.at(i); rec.used {
			edges = append(edges, r.edge(rec))
		}
	}
	slices.SortFunc(edges, func(x, y probe.Edge) int {
		if c := strings.Compare(string(x.Machine), string(y.Machine)); c != 0 {
			return c
		}
		return strings.Compare(string(x.Check), string(y.Check))
	})
	return edges
}

// planOf returns the plan of the check, and counts one more user.
func (r *register) planOf(c *policy.Check) *plan {
	s := r.plans[c]
	if s == nil {
		s = &shared{plan: newPlan(c)}
		r.plans[c] = s
	}
	s.users++
	return s.plan
}

// leave counts one user less.
func (r *register) leave(p *plan) {
	if p == nil {
		return
	}
	s := r.plans[p.check]
	if s.users--; s.users == 0 {
		delete(r.plans, p.check)
	}
}

func (r *register) shardOf(id probe.ID) int {
	return int(share(id) >> 32 % uint64(len(r.pool.shards))) //nolint:gosec // a few shards
}

// idOf returns who the target is.
func (r *register) idOf(rec *record) probe.ID { return r.checks.idOf(rec) }

// share is the ID as a number: the same on every start and on every server, and evenly spread.
func share(id probe.ID) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id.Machine))
	h.Write([]byte{0})
	h.Write([]byte(id.Check))
	x := h.Sum64() // the few differing bits of similar names are spread over the whole word (the finish of splitmix64)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
