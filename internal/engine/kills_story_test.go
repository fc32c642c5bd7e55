package engine_test

import (
	"context"
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
	"hale/internal/state/inbox"
)

var update = flag.Bool("update", false, "write the table of docs/safety.md anew")

// ordeal is one kind of step, and what has to come of it whenever hale is killed meanwhile.
type ordeal struct {
	step  string // as the table names it
	spec  policy.Spec
	world simulated.Options
	// early is what is so before the first hale starts; before is what is so when it begins, beside a fleet that
	// stands; begin is what happens then. nil: nothing.
	early, before, begin func(s *story)
	// again is what a person does who finds, when hale is back, that it is still to be done.
	again func(s *story)
	// ends reports whether all has come of it that had to; nil: an incident was closed, and the fleet stands.
	ends func(s *story) bool
	// after checks what is this step's own; nil: nothing.
	after func(s *story)
	// fresh says that hale has not begun yet when it begins, and rival that another server takes over, which must wait
	// for the lease.
	fresh, rival bool
	// incidents, pages and kept are how many there have to be in the end; any: as many incidents as there are.
	incidents, pages, kept int
	// twice are the operations that may take effect once more for the same instance.
	twice []fleet.Op
	// mayPage says that a person may be told once more, who then has the machine.
	mayPage bool
	// asks says that each attempt asks a person, who is paged for that.
	asks bool
	// mayRefuse says that an order may come too late, and is put aside then.
	mayRefuse bool
}

// anyNumber of incidents is right.
const anyNumber = -1

// told of a kill: where, and what came of it.
type killed struct {
	moment
	manner manner
	result string
}

// No step of the ladder is left out.
func TestS71KillsInEveryStep(t *testing.T) {
	t.Parallel()
	missing := map[fleet.StepKind]bool{}
	for _, step := range fleet.Steps() {
		missing[step] = true
	}
	for _, o := range ordeals() {
		for _, step := range o.spec.Repair.Steps {
			delete(missing, step.Kind)
		}
	}
	for step := range missing {
		t.Errorf("add an ordeal for the step %s", step)
	}
}

// S71, L12: hale is killed before, in and after everything that it writes or does to the outside, in every kind of
// step. Whoever comes after it brings the step to its end: nothing is lost, left behind or done twice, and nobody is
// told twice. The table of docs/safety.md is made of the results. Its short form kills once in every fortieth moment of
// a step, and makes no table.
func TestS71KilledAtAnyPoint(t *testing.T) {
	t.Parallel()
	rows := make(chan row, len(ordeals()))
	t.Run("step", func(t *testing.T) {
		for _, o := range ordeals() {
			t.Run(o.step, func(t *testing.T) {
				t.Parallel()
				rows <- o.suffer(t)
			})
		}
	})
	close(rows)
	if !testing.Short() {
		compareTable(t, rows)
	}
}

// fewOf takes every fortieth moment of a step in the short form, and all otherwise.
func fewOf(moments []moment) []moment {
	if !testing.Short() {
		return moments
	}
	var few []moment
	for i := 0; i < len(moments); i += 40 {
		few = append(few, moments[i])
	}
	return few
}

// suffer plays the ordeal once undisturbed, and then once for each way to be killed in it.
func (o ordeal) suffer(t *testing.T) row {
	t.Helper()
	var moments []moment
	var usual string
	t.Run("undisturbed", func(t *testing.T) {
		moments, usual = o.play(t, &fuse{})
	})
	ways := make(chan killed, 4*len(moments))
	t.Run("killed", func(t *testing.T) {
		for _, m := range fewOf(moments) {
			for _, how := range m.sort.manners() {
				t.Run(m.String()+", "+string(how), func(t *testing.T) {
					t.Parallel()
					k := killed{m, how, o.kill(t, m, how)}
					if k.result == usual {
						k.result = ""
					}
					ways <- k
				})
			}
		}
	})
	close(ways)
	r := row{step: o.step, moments: moments}
	for k := range ways {
		r.killed = append(r.killed, k)
	}
	return r
}

// play lets the ordeal happen behind a fuse that does not blow, and returns what hale did, and what came of it.
func (o ordeal) play(t *testing.T, f *fuse) (moments []moment, result string) {
	t.Helper()
	tell(t, o.world, o.spec, func(s *story) {
		o.start(s, f)
		o.await(s)
		s.pass(5 * time.Second)
		moments = f.disarm()
		o.check(s)
		result = o.result(s)
	})
	return moments, result
}

// kill lets hale die in the moment, starts another one on what is stored, and returns what came of it.
func (o ordeal) kill(t *testing.T, m moment, how manner) (result string) {
	t.Helper()
	tell(t, o.world, o.spec, func(s *story) {
		f := &fuse{at: m, manner: how}
		o.start(s, f)
		s.await(30*time.Minute, "it is killed at "+m.String(), f.cold)
		s.fuse = nil
		o.succeed(s)
		o.await(s)
		s.pass(3 * time.Minute)
		o.check(s)
		result = o.result(s)
	})
	return result
}

// Start brings it to where it begins.
func (o ordeal) start(s *story, f *fuse) {
	if o.early != nil {
		o.early(s)
	}
	if !o.fresh {
		s.fuse = f
		s.grown()
	}
	if o.before != nil {
		o.before(s)
	}
	s.fuse, s.began = f, time.Now()
	f.arm()
	o.begin(s)
}

// succeed lets another hale take over.
func (o ordeal) succeed(s *story) {
	s.hale.stop()
	name := "hale-1"
	if o.rival {
		name = "hale-2"
	} else {
		s.backing.RevokeAll()
	}
	s.pass(time.Second)
	s.hale = s.controller(name)
	s.pass(2 * lateness)
	s.insist()
	if o.again != nil {
		o.again(s)
	}
}

// await lets time pass until the ordeal has come to its end.
func (o ordeal) await(s *story) {
	s.t.Helper()
	for waited := time.Duration(0); !o.ended(s); waited += time.Second {
		if waited > 30*time.Minute {
			s.t.Fatal("it does not come to its end")
		}
		s.pass(time.Second)
	}
}

// insist gives an order again when its giver was not told that it was taken, and finds that it was not.
func (s *story) insist() {
	s.t.Helper()
	for _, o := range s.unsure {
		letters, _, err := inbox.Pending(s.t.Context(), s.backing.Open(nil), s.spec.Name)
		if err != nil {
			s.t.Fatal(err)
		}
		if !slices.ContainsFunc(letters, func(l inbox.Letter) bool { return l.Order.ID == o.ID }) &&
			s.count(func(r record.Record) bool { return r.Order == o.ID }) == 0 {
			s.give(o)
		}
	}
	s.unsure = nil
}

func (o ordeal) ended(s *story) bool {
	if o.ends != nil {
		return o.ends(s)
	}
	return s.allHealthy() && s.count(kind(record.IncidentClosed)) > 0
}

// check asks the truth and the store whether all is as it has to be.
func (o ordeal) check(s *story) {
	s.t.Helper()
	o.checkInstances(s)
	o.checkStore(s)
	o.checkRecords(s)
	for what, n := range s.took() {
		if n > 1 && !slices.Contains(o.twice, what.op) {
			s.t.Errorf("%s of %s took effect %d times", what.op, what.instance, n)
		}
	}
	if o.after != nil {
		o.after(s)
	}
}

// effect is something that was done to an instance.
type effect struct {
	op       fleet.Op
	instance fleet.InstanceID
	hook     string // and its repair
}

// took counts what took effect since the ordeal began.
func (s *story) took() map[effect]int {
	n := map[effect]int{}
	runs := s.spec.Repair.Has(fleet.StepRun) // else it is hooks that run
	for _, c := range s.world.Calls() {
		if (c.Effect || c.Op == fleet.OpRun && runs) && !c.At.Before(s.began) {
			n[effect{op: c.Op, instance: c.Instance}]++
		}
	}
	maps.Copy(n, s.hooked.counts())
	return n
}

// checkInstances: every machine has one instance, which is the one that hale believes in, and nobody has any other.
func (o ordeal) checkInstances(s *story) {
	s.t.Helper()
	kept, exist := 0, map[fleet.InstanceID]bool{}
	for _, l := range s.world.Lives() {
		i, there := s.world.Guest(l.ID)
		switch {
		case !there:
		case i.Mark.Kept:
			kept++
		default:
			exist[l.ID] = true
		}
	}
	if kept != o.kept {
		s.t.Errorf("%d instances are put aside, want %d", kept, o.kept)
	}
	for _, v := range s.status().Machines {
		m := v.Machine
		if err := m.Check(); err != nil {
			s.t.Errorf("%s: %v", m.Name, err)
		}
		if m.Current.None() {
			continue
		}
		if !exist[m.Current.ID] {
			s.t.Errorf("%s is believed to be %s, which does not exist", m.Name, m.Current.ID)
		}
		delete(exist, m.Current.ID)
	}
	for id := range exist {
		s.t.Errorf("%s is left over", id)
	}
}

// checkStore: nobody holds anything in it that is not needed any more.
func (o ordeal) checkStore(s *story) {
	s.t.Helper()
	entries, _, err := s.backing.Open(nil).List(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		stuck := strings.HasPrefix(e.Key, "inbox/") || strings.Contains(e.Key, "/waiting/") || e.Key == "slots" &&
			len(e.Value) > len("null") ||
			strings.HasPrefix(e.Key, "dead-letters/") && !o.mayRefuse || strings.Contains(e.Key, "/dead/")
		if stuck {
			s.t.Errorf("%s is left over: %s", e.Key, e.Value)
		}
	}
}

// checkRecords: the journal has no gap, and tells of as many troubles as there were.
func (o ordeal) checkRecords(s *story) {
	s.t.Helper()
	n := map[record.Kind]int{}
	for i, r := range s.records() {
		n[r.Kind]++
		if r.Seq != uint64(i+1) {
			s.t.Fatalf("record %d is number %d", i+1, r.Seq)
		}
	}
	if got := n[record.IncidentOpen]; o.incidents != anyNumber && got != o.incidents {
		s.t.Errorf("%d incidents, want %d", got, o.incidents)
	}
	want := o.pages
	if o.mayPage && n[record.Quarantined] > 0 {
		want++
	}
	if o.asks {
		want = n[record.HookOver] // of each question
	}
	if got := n[record.Paged]; got != want {
		s.t.Errorf("%d pages, want %d", got, want)
	}
	if got := n[record.RepairStarted] - n[record.RepairEnded]; got != 0 {
		s.t.Errorf("%d repairs have no end", got)
	}
}

// result says what came of it, in the table's words.
func (o ordeal) result(s *story) string {
	var twice []string
	for what, n := range s.took() {
		if n > 1 {
			twice = append(twice, string(what.op))
		}
	}
	slices.Sort(twice)
	switch {
	case len(twice) > 0:
		return strings.Join(twice, " and ") + " twice"
	case s.ops != nil && len(s.ops.Taken()) > len(s.messages()):
		return "told twice, under one key"
	case s.count(kind(record.Quarantined)) > 0:
		return "to a person"
	case s.count(kind(record.StepFailed)) > 0:
		return "by the next step"
	}
	return "healed"
}

// give posts an order as a person does, who does not wait for ever for the answer.
func (s *story) give(o fleet.Order) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Second)
	defer cancel()
	if _, err := inbox.Post(ctx, s.store(), o); err != nil {
		if s.fuse == nil || !s.fuse.spent() {
			s.t.Fatal(err)
		}
		s.unsure = append(s.unsure, o)
	}
}
