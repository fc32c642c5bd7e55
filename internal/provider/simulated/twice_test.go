package simulated_test

import (
	"testing"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/sim/world"
)

// truly does something to the world's truth, as a person does behind everybody's back, and returns what do returns.
func truly(w *simulated.World, do func(t *world.World) bool) (done bool) {
	w.Strike(func(t *world.World) func() {
		done = do(t)
		return nil
	})
	return done
}

// stays leaves the instance's definition on another host, off, as a migration does that does not remove it.
func stays(w *simulated.World, id fleet.InstanceID, host fleet.HostName) bool {
	return truly(w, func(t *world.World) bool {
		_, ok := t.Redefine(t.VM(string(id)), string(host))
		return ok
	})
}

// copies makes another instance of the instance's definition, mark included, on the same host, off.
func copies(w *simulated.World, of, id fleet.InstanceID, name string) bool {
	return truly(w, func(t *world.World) bool {
		s := t.VM(string(of)).Status
		s.ID, s.Name = string(id), name
		return t.VM(s.ID) == nil && t.Leave(s)
	})
}

// takeAway removes what the host has of the id.
func takeAway(w *simulated.World, id fleet.InstanceID, host fleet.HostName) {
	truly(w, func(t *world.World) bool {
		vm := t.Definition(string(id), string(host))
		if vm != nil {
			t.Vanish(vm)
		}
		return vm != nil
	})
}

// The truth counts what runs of an id on each host, and does not take a copy for the machine.
func TestWhatStayedCountsWhenItRunsAndACopyDoesNot(t *testing.T) {
	play(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}, func(s *stage) {
		o := order("a", 1)
		o.Host = "h1"
		s.must(s.p.Create(s.Context(), o))
		if !stays(s.world, "a", "h2") || stays(s.world, "a", "h2") {
			s.Error("it stays on h2, and once")
		}
		if !copies(s.world, "a", "copy", "web-1-copy") || copies(s.world, "a", "copy", "another") {
			s.Error("it is copied, and under one id once")
		}
		adopted := provider.Ref{ID: "copy", Host: "h1", Adopted: true}
		s.must(s.p.Start(s.Context(), adopted))
		if n := s.world.MaxRunningCopies("web-1"); n != 1 {
			s.Errorf("%d of web-1 ran beside somebody's copy", n)
		}
		if i, _ := s.world.Instance("web-1"); i.ID != "a" || i.Host != "h1" {
			s.Errorf("web-1 is %+v", i)
		}
		left := o.Ref
		left.Host = "h2"
		if seen := s.see(left); seen.Power != fleet.PowerOff || seen.Mark != s.see(o.Ref).Mark {
			s.Errorf("what stayed is %+v", seen)
		}

		// A host that is not asked, since it is dark and excused, has what runs.
		lift := s.inject(simulated.HostUnreachable{Host: "h1"})
		left.Excused = []fleet.HostName{"h1"}
		s.must(s.p.Start(s.Context(), left))
		lift()
		if n := s.world.MaxRunningCopies("web-1"); n != 2 {
			s.Errorf("%d ran at most, and two did", n)
		}
		takeAway(s.world, "a", "h1")
		if n := s.world.RunningCopies("web-1"); n != 1 {
			s.Errorf("%d run after one was taken away", n)
		}
		left.Excused = nil
		s.must(s.p.PowerOff(s.Context(), left))
		s.must(s.p.Delete(s.Context(), left))
	})
}

// As libvirt's transient domains: without a definition an instance is seen as such, and is gone once it is off.
func TestWhatHasNoDefinitionIsGoneOnceItIsOff(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		o := order("a", 1)
		s.must(s.p.Create(s.Context(), o))
		was := s.see(o.Ref).Transient
		s.world.Strike(func(t *world.World) func() {
			t.Forsake(t.VM("a"))
			return nil
		})
		if was || !s.see(o.Ref).Transient {
			s.Error("it is transient from when it is undefined")
		}
		s.must(s.p.PowerOff(s.Context(), o.Ref))
		if seen, err := s.p.Get(s.Context(), o.Ref); !fault.Is(err, fault.NotFound) {
			s.Errorf("got %+v and %v, and it is to be gone", seen, err)
		}
	})
}
