package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/engine"
	"hale/internal/engine/beside"
	"hale/internal/engine/poller"
	"hale/internal/gauge"
	"hale/internal/hook"
	notified "hale/internal/notify/memory"
	"hale/internal/owner/published"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/state"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
)

// story is a simulated world with a store that outlives the controllers, inside a synctest bubble.
type story struct {
	t       *testing.T
	world   *simulated.World
	backing *memory.Backing
	spec    policy.Spec
	hale    *controller
	// transport is how probes reach the machines; the world itself unless a story says otherwise.
	transport probe.Transport
	// vantage says how hale's own network is watched; the zero value: it is not.
	vantage beside.Vantage
	// named are instances that a person's confirmed plan named: no harm is done to them by what it says.
	named []fleet.InstanceID
	// leaving are machines that a person ordered removed by their names: whichever instance they have.
	leaving []fleet.MachineName
	// twins says that the story itself gave a machine a second instance.
	twins bool
	// adapter wraps the provider that the next controller opens; nil: it does not.
	adapter func(provider.Provider) provider.Provider
	// runner executes commands; nil: the world's.
	runner program.Runner
	// fencer cuts the power of hosts; nil: nobody does.
	fencer poller.Fencer
	// hooked counts the hooks that were begun.
	hooked hookTally
	// members tells what the pools say of machines; nil: there are no pools.
	members func(fleet.Name) []engine.Membership
	// engineOf is what stands before the probes of the next controller; nil: nothing.
	engineOf func(probe.Engine) probe.Engine
	// within is how long a listing of the next controller may take; 0: as long as is usual.
	within time.Duration
	// post is who is told; the zero value: nobody.
	post engine.Post
	// room is how much the next controller's store says that it has; nil: it does not say.
	room func() (state.Space, error)
	// faults of the store that the next controller opens.
	faults memory.Faults
	// fuse lies between the next controller and everything outside; nil: none.
	fuse *fuse
	// beside are further fleets of the next controller.
	beside []policy.Spec
	// began is when what is looked at began.
	began time.Time
	// unsure are orders that got no answer.
	unsure []fleet.Order
	// before is the instance that the machine had, cure ends what ailed it, ops is who is told, and yard has the
	// metrics, in stories about them.
	before fleet.InstanceID
	cure   func()
	ops    *notified.Target
	yard   *yard
	// gauges opens the sources of the next controller's metrics; nil: there are none.
	gauges gauge.Open
	// log is of the next controller; nil: nobody reads it.
	log *slog.Logger
}

// controller is one running hale.
type controller struct {
	engine *engine.Engine
	probes probe.Engine
	handle *simulated.Provider
	// adapter is the handle, or what stands before it.
	adapter provider.Provider
	runner  program.Runner
	hooks   hook.Runner
	fencer  poller.Fencer
	within  time.Duration
	beside  []engine.Fleet
	store   state.Store
	stop    func()
}

// setup is what it looks after: the spec, by its connection and its probes.
func (c *controller) setup(spec policy.Spec) engine.Setup {
	return engine.Setup{
		Sources: []poller.Source{{Name: spec.Provider, Adapter: c.adapter, Watcher: c.handle, Poll: 5 * time.Second,
			ListWithin: c.within, Runner: c.runner, Hooks: c.hooks, Fencer: c.fencer}},
		Fleets: append([]engine.Fleet{{Spec: spec, Probes: c.probes}}, c.beside...),
	}
}

// Tell runs a story in a bubble, with the laws checked when it ends.
func tell(t *testing.T, options simulated.Options, spec policy.Spec, tale func(s *story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &story{t: t, world: simulated.NewWorld(options), backing: memory.New(memory.Options{}), spec: spec}
		s.transport = s.world
		defer func() {
			s.kill()
			s.checkLaws()
			if t.Failed() {
				s.printJournal()
			}
		}()
		tale(s)
	})
}

// Start starts a controller on the story's store and world.
func (s *story) start() {
	s.t.Helper()
	s.hale = s.controller("hale-1")
}

func (s *story) controller(server string) *controller {
	s.t.Helper()
	handle := s.world.Open(server)
	probes := netprobe.New(s.transport, netprobe.Options{Agents: handle})
	c := &controller{probes: s.probesOf(probes), handle: handle, within: s.within, fencer: s.fencer,
		hooks: s.hooked.counted(handle.Hooks())}
	asked := []*netprobe.Engine{probes}
	for _, spec := range s.beside {
		p := netprobe.New(s.transport, netprobe.Options{Agents: handle})
		asked, c.beside = append(asked, p), append(c.beside, engine.Fleet{Spec: spec, Probes: p})
	}
	c.adapter = c.handle
	if s.adapter != nil {
		c.adapter = s.adapter(c.handle)
	}
	if c.runner = s.runner; c.runner == nil {
		c.runner = c.handle.Commands()
	}
	store, post := state.Store(s.backing.Open(s.faults)), s.post
	if s.fuse != nil {
		late := s.world.Open(server + "-late")
		store, post.Find = fusedStore{store, s.fuse, s.backing.Open(nil)}, s.fuse.find(post.Find)
		c.adapter, c.runner = fused(handle, late, s.fuse), fusedRunner{c.runner, s.fuse, late.Commands()}
		c.hooks = fusedHooks{c.hooks, s.fuse, s.hooked.counted(late.Hooks())}
		if c.fencer != nil {
			c.fencer = fusedFencer{c.fencer, s.fuse}
		}
	}
	c.store = store
	setup := c.setup(s.spec)
	e, err := engine.New(engine.Options{
		Store: store, Server: server, Logger: cmp.Or(s.log, slog.New(slog.DiscardHandler)),
		Sources: setup.Sources, Fleets: setup.Fleets, Vantage: s.vantage, Post: post, Room: s.room,
		Gauges: s.gauges, Members: s.members,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	c.engine, c.stop = e, serve(s.t, e, handle, asked...)
	return c
}

// serve runs an engine and what probes for it. The returned function ends both, and lets go of the provider.
func serve(t *testing.T, e *engine.Engine, handle io.Closer, probes ...*netprobe.Engine) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, p := range probes {
		wg.Go(func() {
			if err := p.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if err := e.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	return func() {
		cancel()
		wg.Wait()
		if err := handle.Close(); err != nil {
			t.Error(err)
		}
	}
}

// probesOf returns what the controller takes for its probes.
func (s *story) probesOf(e probe.Engine) probe.Engine {
	if s.engineOf == nil {
		return e
	}
	return s.engineOf(e)
}

// kill ends the controller as kill -9 on a lone server does: the next one revokes its leases.
func (s *story) kill() {
	if s.hale == nil {
		return
	}
	s.hale.stop()
	s.hale = nil
	s.backing.RevokeAll()
}

// await lets time pass until the condition holds.
func (s *story) await(within time.Duration, what string, cond func() bool) {
	s.t.Helper()
	for waited := time.Duration(0); ; waited += 100 * time.Millisecond {
		synctest.Wait()
		if cond() {
			return
		}
		if waited >= within {
			s.t.Fatalf("after %v still not: %s", within, what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// pass lets time pass.
func (s *story) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// store is the running hale's, or what nobody uses.
func (s *story) store() state.Store {
	if s.hale == nil {
		return s.backing.Open(nil)
	}
	return s.hale.store
}

func (s *story) status() published.Fleet { return s.hale.engine.Status()[0] }

// machine returns what hale believes of the machine with the ordinal.
func (s *story) machine(n int) belief.Machine {
	name := s.spec.Name.Machine(n)
	for _, v := range s.status().Machines {
		if v.Machine.Name == name {
			return v.Machine
		}
	}
	return belief.Machine{}
}

func (s *story) healthy(n int) bool {
	m := s.machine(n)
	return s.status().Acting == "" && m.Health.Verdict == belief.VerdictHealthy && m.Repair == nil &&
		m.Incident == nil && m.Current.Certified
}

func (s *story) allHealthy() bool {
	for n := 1; n <= s.spec.Size; n++ {
		if !s.healthy(n) {
			return false
		}
	}
	return true
}

// grown starts hale and waits for the fleet to stand, and for the amnesty to end.
func (s *story) grown() {
	s.t.Helper()
	s.start()
	s.await(5*time.Minute, "the fleet stands", s.allHealthy)
	s.pass(time.Minute)
}

// id returns the true instance of the machine with the ordinal.
func (s *story) id(n int) fleet.InstanceID {
	s.t.Helper()
	return s.idOf(s.spec.Name.Machine(n))
}

func (s *story) idOf(name fleet.MachineName) fleet.InstanceID {
	s.t.Helper()
	i, ok := s.world.Instance(name)
	if !ok {
		s.t.Fatalf("the world has no instance of %s", name)
	}
	return i.ID
}

// inject makes a fault happen.
func (s *story) inject(f simulated.Fault) (lift func()) {
	s.t.Helper()
	lift, err := s.world.Inject(f)
	if err != nil {
		s.t.Fatal(err)
	}
	return lift
}

// records returns the journal.
func (s *story) records() []record.Record {
	s.t.Helper()
	records, _, err := journal.Read(s.t.Context(), s.backing.Open(nil), s.spec.Name)
	if err != nil {
		s.t.Fatal(err)
	}
	return records
}

// count returns how many records match.
func (s *story) count(match func(record.Record) bool) int {
	s.t.Helper()
	n := 0
	for _, r := range s.records() {
		if match(r) {
			n++
		}
	}
	return n
}

func kind(k record.Kind) func(record.Record) bool {
	return func(r record.Record) bool { return r.Kind == k }
}

func because(k record.Kind, why fleet.Reason) func(record.Record) bool {
	return func(r record.Record) bool { return r.Kind == k && r.Reason == why }
}

// heals counts the repairs begun for the machine.
func (s *story) heals(n int) int {
	s.t.Helper()
	return s.count(func(r record.Record) bool {
		return r.Kind == record.RepairStarted && r.Reason == fleet.Reason(belief.RepairHeal) &&
			r.Machine == s.spec.Name.Machine(n)
	})
}

// calls returns the changing calls of the operation that took effect since the time.
func (s *story) calls(op fleet.Op, since time.Time) []simulated.Call {
	var out []simulated.Call
	for _, c := range s.world.Calls() {
		if c.Op == op && !c.At.Before(since) && c.Effect {
			out = append(out, c)
		}
	}
	return out
}

// checkLaws asks the world for the truth about the laws.
func (s *story) checkLaws() {
	for _, c := range s.world.Harm() {
		if (slices.Contains(s.named, c.Instance) || slices.Contains(s.leaving, c.Machine)) &&
			(c.Op == fleet.OpPowerOff || c.Op == fleet.OpDelete || c.Op == fleet.OpReboot) {
			continue
		}
		s.t.Errorf("harm: %s of %s (%s) at %s while it was healthy", c.Op, c.Machine, c.Instance,
			c.At.Format(time.StampMilli))
	}
	for _, m := range s.world.Machines() {
		if n := s.world.MaxRunningCopies(m); n > 1 && !s.twins {
			s.t.Errorf("L1: %s had %d running instances at once", m, n)
		}
	}
}

func (s *story) printJournal() {
	var b strings.Builder
	for _, r := range s.records() {
		fmt.Fprintf(&b, "%s %s %s %s %s %s/%s check=%s/%s step=%s op=%s out=%s gen=%d %s\n",
			r.At.Format("15:04:05.000"), r.Machine, r.Kind,
			r.Reason, r.Verdict, r.Was, r.Cause, r.Check, r.Result, r.Step, r.Op, r.Outcome, r.Generation, r.Detail)
	}
	s.t.Log("\n" + b.String())
}

// web is a fleet with a page check every 2 s and a ping every second, as in the guide.
func web(size int) policy.Spec {
	return policy.Spec{
		Name: "web", Provider: "lab", Size: size, Mode: policy.ModeAct,
		Checks: []policy.Check{
			{Name: "alive", Kind: policy.CheckPing, Every: time.Second, Timeout: 500 * time.Millisecond, DownAfter: 3,
				UpAfter: 2},
			{Name: "page", Kind: policy.CheckHTTP, Every: 2 * time.Second, Timeout: time.Second, DownAfter: 3,
				UpAfter: 2, Port: 80,
				HTTP: policy.HTTPCheck{Scheme: "http", Path: "/"}},
		},
		UnhealthyWhen: policy.Condition{Op: policy.OpAny, Of: []policy.Condition{
			{Op: policy.OpTerm, Term: "alive"}, {Op: policy.OpTerm, Term: "page"}}},
		Repair: policy.Repair{
			Steps: []policy.Step{
				{Kind: fleet.StepStart, Timeout: 10 * time.Second, VerifyWithin: 30 * time.Second},
				{Kind: fleet.StepReboot, Timeout: 10 * time.Second, VerifyWithin: 30 * time.Second},
				{Kind: fleet.StepRecreate, Timeout: 30 * time.Second, OnDeleteFailure: policy.DeleteFailureStop},
			},
			Fence: fleet.Fence{Proof: fleet.ProofConfirmedOff}, Attempts: 3, AttemptsIn: time.Hour,
			Backoff:        10 * time.Second,
			OnExternalStop: policy.ExternalStopHoldThenPage, ExternalStopHold: 15 * time.Minute,
		},
		Limits: policy.Limits{InRepair: 1, InBuild: 5, Brake: policy.Brake{AtLeast: 2, Percent: 20,
			ReleaseAfter: 30 * time.Second}},
		Grace: time.Minute, BuildWithin: time.Minute, BlindAfter: 5 * time.Minute,
	}
}

// only returns the spec with a single check.
func only(spec policy.Spec, c policy.Check) policy.Spec {
	spec.Checks = []policy.Check{c}
	spec.UnhealthyWhen = policy.Condition{Op: policy.OpAny, Of: []policy.Condition{{Op: policy.OpTerm, Term: c.Name}}}
	return spec
}

// ladder returns the spec with only these steps.
func ladder(spec policy.Spec, kinds ...fleet.StepKind) policy.Spec {
	steps := make([]policy.Step, len(kinds))
	for i, k := range kinds {
		steps[i] = rung(k)
		for _, s := range spec.Repair.Steps {
			if s.Kind == k {
				steps[i] = s
			}
		}
	}
	return rungs(spec, steps...)
}

// keeper is a fleet with one step, which keeps what it replaces for a day.
func keeper(size int) policy.Spec {
	return rungs(web(size), policy.Step{Kind: fleet.StepRecreate, Timeout: 30 * time.Second,
		OnDeleteFailure: policy.DeleteFailureStop, KeepOld: 24 * time.Hour})
}

// rung returns a step as the guide's fleet would have it.
func rung(kind fleet.StepKind) policy.Step {
	return policy.Step{Kind: kind, Timeout: 10 * time.Second, VerifyWithin: 30 * time.Second}
}

// softly is a reboot that asks the guest.
func softly() policy.Step {
	step := rung(fleet.StepReboot)
	step.Mode = policy.RebootSoft
	return step
}

// rungs returns the spec with these steps.
func rungs(spec policy.Spec, steps ...policy.Step) policy.Spec {
	spec.Repair.Steps = steps
	return spec
}

// personStarts powers the machine on behind hale's back.
func (s *story) personStarts(n int) {
	s.t.Helper()
	i, _ := s.world.Instance(s.spec.Name.Machine(n))
	person := s.world.Open("person")
	if err := person.Start(s.t.Context(), provider.Ref{ID: i.ID, Host: i.Host, Mark: i.Mark}); err != nil {
		s.t.Fatal(err)
	}
	if err := person.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// replaced has the machine replaced, and returns the old instance, which is kept, and would be well if it were started
// again.
func (s *story) replaced(n int) (old fleet.InstanceID) {
	s.t.Helper()
	old = s.id(n)
	s.inject(simulated.Broken{Instance: old, Illness: simulated.Illness{Symptom: simulated.NoNetwork,
		Cure: simulated.ByReboot}})
	s.await(5*time.Minute, "it is replaced", func() bool { return s.healthy(n) && s.machine(n).Current.ID != old })
	if len(s.machine(n).Kept) == 0 {
		s.t.Fatal("nothing is kept")
	}
	return old
}

// slowCommits lets each commit take as long as d says at that moment.
func slowCommits(d *atomic.Int64) memory.Faults {
	return func(_ context.Context, c memory.Call) memory.Effect {
		if c.Op == memory.OpCommit {
			time.Sleep(time.Duration(d.Load()))
		}
		return memory.Normal
	}
}

// mendedWhileAway kills hale while the call on web-2 is under way, lets a person mend and start the machine, and brings
// hale back half an hour later: it must find the machine well and leave it so.
func (s *story) mendedWhileAway(op fleet.Op, lift, end func()) {
	s.t.Helper()
	s.await(time.Minute, string(op)+" under way", func() bool {
		r := s.machine(2).Repair
		return r != nil && r.Intent != nil && r.Intent.Op == op
	})
	s.kill()
	lift()
	end()
	s.personStarts(2)
	s.pass(30 * time.Minute)
	s.start()
	s.pass(5 * time.Minute)
	if !s.healthy(2) {
		s.t.Error("the machine that a person mended is not taken back")
	}
}
