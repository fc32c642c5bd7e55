package engine_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/budget"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/engine"
	"hale/internal/engine/poller"
	"hale/internal/probe/netprobe"
	"hale/internal/provider/simulated"
	"hale/internal/state/beliefs"
	"hale/internal/state/memory"
)

// street is a world with several fleets, each looked after by a hale server of its own, over one store.
type street struct {
	t       *testing.T
	world   *simulated.World
	backing *memory.Backing
	servers map[fleet.Name]*controller
	specs   map[fleet.Name]policy.Spec
}

// together tells a story of fleets that share budgets.
func together(t *testing.T, shared []policy.SharedLimit, names []fleet.Name, tale func(s *street)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &street{
			t: t, backing: memory.New(memory.Options{}), servers: map[fleet.Name]*controller{},
			specs: map[fleet.Name]policy.Spec{},
			world: simulated.NewWorld(simulated.Options{
				Hosts: []fleet.HostName{"h1", "h2"}, Latency: 50 * time.Millisecond, Ports: []uint16{80},
				Places: map[fleet.HostName]fleet.Place{"h1": {Rack: "r1"}, "h2": {Rack: "r2"}},
			}),
		}
		defer func() {
			for _, c := range s.servers {
				c.stop()
			}
		}()
		for _, name := range names {
			spec := web(6)
			spec.Name, spec.Limits.InRepair, spec.Limits.Shared = name, 3, shared
			spec.Limits.Brake = policy.Brake{AtLeast: 5, ReleaseAfter: time.Minute}
			s.specs[name] = spec
			s.start(name)
		}
		s.await(5*time.Minute, "the fleets stand", func() bool { return s.inRepair() == 0 && s.well() })
		time.Sleep(time.Minute)
		tale(s)
	})
}

func (s *street) start(name fleet.Name) {
	s.t.Helper()
	handle := s.world.Open("hale-" + string(name))
	probes := netprobe.New(s.world, netprobe.Options{})
	e, err := engine.New(engine.Options{
		Store: s.backing.Open(nil), Server: "hale-" + string(name), Logger: slog.New(slog.DiscardHandler),
		Sources: []poller.Source{{Name: "lab", Adapter: handle, Watcher: handle, Poll: 5 * time.Second}},
		Fleets:  []engine.Fleet{{Spec: s.specs[name], Probes: probes}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.servers[name] = &controller{engine: e, stop: serve(s.t, e, handle, probes)}
}

// beliefs returns what is stored of all machines.
func (s *street) beliefs() []belief.Machine {
	s.t.Helper()
	var out []belief.Machine
	for name := range s.specs {
		stored, err := beliefs.All(s.t.Context(), s.backing.Open(nil), name)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, b := range stored {
			out = append(out, b.Machine)
		}
	}
	return out
}

// inRepair counts the stored repairs, on one host or on all.
func (s *street) inRepair(hosts ...fleet.HostName) int {
	s.t.Helper()
	n := 0
	for _, m := range s.beliefs() {
		if m.Repair.Budgeted() && (len(hosts) == 0 || m.Repair.Target.Host == hosts[0]) {
			n++
		}
	}
	return n
}

// book returns the machines in the book of slots.
func (s *street) book() budget.Slots {
	s.t.Helper()
	var book budget.Slots
	e, err := s.backing.Open(nil).Get(s.t.Context(), "slots")
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(e.Value, &book); err != nil {
		s.t.Fatal(err)
	}
	return book
}

func (s *street) well() bool {
	for _, m := range s.beliefs() {
		if m.Health.Verdict != belief.VerdictHealthy || m.Repair != nil || m.Incident != nil {
			return false
		}
	}
	return len(s.beliefs()) == 6*len(s.specs)
}

// await lets time pass until the condition holds, and never more is in repair than the checks allow.
func (s *street) await(within time.Duration, what string, cond func() bool, checks ...func()) {
	s.t.Helper()
	for waited := time.Duration(0); ; waited += 100 * time.Millisecond {
		synctest.Wait()
		for _, check := range checks {
			check()
		}
		if cond() {
			return
		}
		if waited >= within {
			s.t.Fatalf("after %v still not: %s", within, what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// hang lets machines of every fleet hang at once.
func (s *street) hang(ordinals ...int) {
	s.t.Helper()
	s.strike(func(id fleet.InstanceID) simulated.Fault {
		return simulated.Broken{Instance: id, Illness: simulated.Illness{Symptom: simulated.Hung}}
	}, ordinals...)
}

// strike lets the fault happen to machines of every fleet at once.
func (s *street) strike(by func(fleet.InstanceID) simulated.Fault, ordinals ...int) {
	s.t.Helper()
	for name := range s.specs {
		for _, n := range ordinals {
			i, ok := s.world.Instance(name.Machine(n))
			if !ok {
				s.t.Fatalf("no instance of %s", name.Machine(n))
			}
			if _, err := s.world.Inject(by(i.ID)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// L5: several owners, each of whom may repair three machines, never repair more than two together, nor more than one on
// a host; and all is healed in the end, with nothing left in the book.
func TestL05FleetsShareBudgets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shared []policy.SharedLimit
		most   int // in all
		onHost int
	}{
		"installation": {[]policy.SharedLimit{{Scope: policy.ScopeInstallation, InRepair: 2}}, 2, 2},
		"provider":     {[]policy.SharedLimit{{Scope: policy.ScopeProvider, InRepair: 1}}, 1, 1},
		"host":         {[]policy.SharedLimit{{Scope: policy.ScopeHost, InRepair: 1}}, 2, 1},
		"rack":         {[]policy.SharedLimit{{Scope: policy.ScopeRack, InRepair: 2}}, 4, 2},
		"nobody's":     {[]policy.SharedLimit{{Scope: policy.ScopeZone, InRepair: 1}}, 9, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			together(t, c.shared, []fleet.Name{"app", "db", "web"}, func(s *street) {
				s.hang(1, 3, 5)
				s.await(time.Minute, "it is seen", func() bool { return !s.well() })
				most := 0
				s.await(time.Hour, "all are healed", s.well, func() {
					most = max(most, s.inRepair())
					if n := s.inRepair(); n > c.most {
						t.Errorf("%d machines are in repair, and %d may be", n, c.most)
					}
					for _, h := range []fleet.HostName{"h1", "h2"} {
						if n := s.inRepair(h); n > c.onHost {
							t.Errorf("%d machines are in repair on %s, and %d may be", n, h, c.onHost)
						}
					}
				})
				if most < min(c.most, 2) {
					t.Errorf("at most %d were in repair at once: the budget was not used", most)
				}
				if len(s.book()) != 0 {
					t.Errorf("left in the book: %+v", s.book())
				}
			})
		})
	}
}

// Two hosts are back after a loss of power, with the machines of three fleets off: whatever each fleet's budget, never
// more than eight are started at once on a host, and all are soon.
func TestS74FleetsShareTheirStarts(t *testing.T) {
	t.Parallel()
	one := []policy.SharedLimit{{Scope: policy.ScopeInstallation, InRepair: 1}}
	together(t, one, []fleet.Name{"app", "db", "web"}, func(s *street) {
		s.strike(func(id fleet.InstanceID) simulated.Fault { return simulated.Crash{Instance: id} }, 1, 2, 3, 4, 5, 6)
		s.await(time.Minute, "it is seen", func() bool { return !s.well() })
		most := 0
		s.await(5*time.Minute, "all are started", s.well, func() {
			starts := map[fleet.HostName]int{}
			for _, m := range s.beliefs() {
				if m.Repair.Starts() {
					starts[m.Repair.Target.Host]++
				}
			}
			most = max(most, starts["h1"], starts["h2"])
		})
		if most != 8 {
			t.Errorf("at most %d were started at once on a host, and 8 may be", most)
		}
		if len(s.book()) != 0 {
			t.Errorf("left in the book: %+v", s.book())
		}
	})
}

// An owner that dies in the middle of a repair keeps its place until it is back, and gives it back when the repair
// ends; a fleet that leaves the configuration gives its places back at once.
func TestL05AnOwnersPlacesAreGivenBack(t *testing.T) {
	t.Parallel()
	for _, returns := range []bool{true, false} {
		one := []policy.SharedLimit{{Scope: policy.ScopeInstallation, InRepair: 1}}
		together(t, one, []fleet.Name{"db", "web"}, func(s *street) {
			s.hang(2)
			s.await(time.Minute, "a repair begins", func() bool { return len(s.book()) == 1 })
			dead := s.book()[0].Machine.Fleet()
			other := fleet.Name("db")
			if dead == other {
				other = "web"
			}
			s.servers[dead].stop()
			delete(s.servers, dead)
			for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(time.Second) {
				synctest.Wait()
				if n := s.inRepair(); n > 1 {
					t.Fatalf("%d in repair", n)
				}
			}
			if len(s.book()) != 1 || s.book()[0].Machine.Fleet() != dead {
				t.Fatalf("the book: %+v", s.book())
			}
			if returns {
				s.start(dead)
				s.await(10*time.Minute, "both are healed", s.well)
			} else { // whoever starts without it in the configuration lets it go
				s.servers[other].stop()
				delete(s.servers, other)
				s.start(other)
				delete(s.specs, dead)
				s.await(10*time.Minute, "the other one is healed", s.well)
			}
			if len(s.book()) != 0 {
				t.Errorf("left in the book: %+v", s.book())
			}
		})
	}
}

// L5: a wanted change takes a place of the budget that fleets share, as a repair does.
func TestL05AnUpdateTakesASharedPlace(t *testing.T) {
	t.Parallel()
	spec := web(4)
	spec.Template.Image, spec.Update = "v1", policy.Update{Pilots: 1, Soak: 2 * time.Minute}
	spec.Limits.InRepair, spec.Limits.Shared = 3, []policy.SharedLimit{{Scope: policy.ScopeInstallation, InRepair: 1}}
	spec.Limits.Brake.AtLeast = 3
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v2" })
		s.confirm()
		s.await(time.Minute, "one is being updated", func() bool {
			r := s.machine(4).Repair
			return r != nil &&
				r.Kind == belief.RepairUpdate
		})
		if len(s.status().Slots) != 1 {
			t.Errorf("the book has %+v while web-4 is being replaced", s.status().Slots)
		}
		s.inject(simulated.Broken{Instance: s.id(1), Illness: simulated.Illness{Symptom: simulated.Hung}})
		s.oneAtATime(30*time.Minute, "all have it", func() bool { return s.built("v2") == 4 && s.allHealthy() })
	})
}

// L5: so does each old instance that is brought back.
func TestL05ReturnsOfOldInstancesTakeSharedPlaces(t *testing.T) {
	t.Parallel()
	spec := keeper(4)
	spec.Limits.InRepair, spec.Limits.Shared = 3, []policy.SharedLimit{{Scope: policy.ScopeInstallation, InRepair: 1}}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.replaced(1)
		s.replaced(2)
		for _, m := range []fleet.MachineName{"web-1", "web-2"} {
			s.named = append(s.named, s.idOf(m))
			s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: m})
		}
		s.oneAtATime(10*time.Minute, "both are brought back", func() bool {
			return s.count(because(record.RepairStarted, fleet.Reason(belief.RepairUndo))) == 2
		})
	})
}

// oneAtATime awaits the condition, and sees that never two machines are in repair meanwhile.
func (s *story) oneAtATime(within time.Duration, what string, cond func() bool) {
	s.t.Helper()
	most := 0
	s.await(within, what, func() bool {
		n := 0
		for _, v := range s.status().Machines {
			if v.Machine.Repair != nil {
				n++
			}
		}
		most = max(most, n)
		return cond()
	})
	if most != 1 {
		s.t.Errorf("L5: %d machines were in repair at once, and the installation allows 1", most)
	}
}
