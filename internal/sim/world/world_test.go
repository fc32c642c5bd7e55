package world

import (
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/sim/guest"
)

func two(seed uint64) *World {
	return New(Options{Seed: seed, Hosts: []Host{{Name: "h1", Rack: "r1"}, {Name: "h2", Rack: "r1"}},
		Proven: 10 * time.Second})
}

func markOf(machine string, generation uint64) Mark {
	return Mark{Installation: "i", Fleet: "web", Machine: machine, Generation: generation, Certified: true}
}

func planted(w *World, id, host string) *VM {
	return w.Plant(Status{ID: id, Name: id, Host: host, Mark: markOf(id, 1)})
}

// pass lets time pass.
func pass(w *World, d time.Duration) {
	end := w.Now() + d
	w.At(end, func() {})
	for w.Now() < end {
		w.Step()
	}
}

// send sends a call and returns how it ended, once it did.
func send(w *World, c *Client, call Call) End {
	got, ended := End("none"), false
	c.Send(call, time.Minute, func(e End) { got, ended = e, true })
	for !ended && w.Step() {
	}
	return got
}

func TestAMachineThatBootsServesAfterItsBootTime(t *testing.T) {
	t.Parallel()
	w := two(1)
	c := w.Client("hale")
	if end := send(w, c, Call{Op: Create, ID: "a", Host: "h1", Name: "web-1", Mark: markOf("web-1", 1)}); end != Done {
		t.Fatalf("create ended %q", end)
	}
	vm := w.VM("a")
	if vm.Serving() {
		t.Error("it serves before it booted")
	}
	pass(w, time.Minute)
	if !vm.Serving() || !vm.Status.Address.IsValid() || !w.Healthy(vm) {
		t.Errorf("after a minute: %+v", vm)
	}
}

func TestACopyIsNoMoreOfADomainsMachines(t *testing.T) {
	t.Parallel()
	w := two(1)
	a := planted(w, "a", "h1")
	planted(w, "b", "h1")
	planted(w, "c", "h2")
	w.CopyDefinition(a)
	planted(w, "e", "h1") // it is beyond the fleet's size
	pass(w, time.Minute)
	w.Crash(planted(w, "d", "h1"), StopCrash)
	for subject, want := range map[Domain]int{{Kind: "host", Name: "h1"}: 2, {Kind: "all"}: 3} {
		if n := w.Members(subject, func(m string) bool { return m != "e" }); n != want {
			t.Errorf("%d machines serve in %v, and it should be %d", n, subject, want)
		}
	}
}

func TestTheProviderRefusesWhatWouldHarm(t *testing.T) {
	t.Parallel()
	w := two(2)
	vm := planted(w, "web-1", "h1")
	c := w.Client("hale")
	for name, tc := range map[string]struct {
		call Call
		want End
	}{
		"a name that is taken": {Call{Op: Create, ID: "b", Host: "h1", Name: "web-1", Mark: markOf("web-1", 2)},
			Conflict},
		"an id that exists": {Call{Op: Create, ID: "web-1", Host: "h2", Name: "other", Mark: markOf("web-1", 2)},
			Conflict},
		"delete what runs":        {Call{Op: Delete, ID: "web-1", Host: "h1", Mark: markOf("web-1", 1)}, Conflict},
		"another generation":      {Call{Op: PowerOff, ID: "web-1", Host: "h1", Mark: markOf("web-1", 2)}, Conflict},
		"start what is not there": {Call{Op: Start, ID: "x", Host: "h1", Mark: markOf("x", 1)}, NotFound},
		"delete what is gone":     {Call{Op: Delete, ID: "x", Host: "h1", Mark: markOf("x", 1)}, Done},
	} {
		if end := send(w, c, tc.call); end != tc.want {
			t.Errorf("%s: %q, want %q", name, end, tc.want)
		}
	}
	if !vm.Serving() {
		t.Error("a refused call did something")
	}
}

func TestHealthIsWhatPeersWouldFind(t *testing.T) {
	t.Parallel()
	w := two(3)
	vm := planted(w, "web-1", "h1")
	lift := w.Part("hale", Domain{"host", "h1"})
	if h := w.Hear("hale", vm.lease); h.Ping != guest.Silence {
		t.Error("hale hears through a cut")
	}
	if h := w.Hear("other", vm.lease); h.Ping != guest.Well || !w.Healthy(vm) {
		t.Error("a cut between hale and the machine is not the machine's illness")
	}
	lift()
	down := w.Part("", Domain{"rack", "r1"})
	if w.Healthy(vm) || vm.Serving() {
		t.Error("nobody reaches it, and it is called healthy")
	}
	down()
	if !vm.Serving() || w.Healthy(vm) {
		t.Error("it serves again, and is healthy only after its own checks would say so")
	}
	pass(w, 10*time.Second)
	if !w.Healthy(vm) {
		t.Error("and then it is")
	}
}

func TestWhoConnectsDuringAnOutageIsCutOffToo(t *testing.T) {
	t.Parallel()
	w := two(5)
	planted(w, "web-1", "h1")
	reach := func(name string) End {
		return send(w, w.Client(name), Call{Op: Reboot, ID: "web-1", Host: "h1", Mark: markOf("web-1", 1)})
	}
	one, all := w.Cutoff("hale-1"), w.Cutoff("")
	if end := reach("hale-2"); end != Transient {
		t.Errorf("while nobody gets through, hale-2's call ended %q", end)
	}
	all()
	if end := reach("hale-2"); end != Done {
		t.Errorf("hale-2's call ended %q", end)
	}
	if end := reach("hale-1"); end != Transient {
		t.Errorf("while hale-1 does not get through, its call ended %q", end)
	}
	one()
	if end := reach("hale-1"); end != Done {
		t.Errorf("after all that hale-1's call ended %q", end)
	}
}

func TestAResetCuresWhatDoesNotLast(t *testing.T) {
	t.Parallel()
	w := two(4)
	hung, broken := planted(w, "web-1", "h1"), planted(w, "web-2", "h1")
	w.Sicken(hung, guest.Ailment{Symptom: guest.Hung})
	w.Sicken(broken, guest.Ailment{Symptom: guest.NoBoot, Cure: guest.ByRecreate})
	c := w.Client("hale")
	for _, vm := range []*VM{hung, broken} {
		if end := send(w, c, Call{Op: Reboot, ID: vm.ID, Host: "h1", Mark: vm.Mark}); end != Done {
			t.Fatal(end)
		}
	}
	pass(w, time.Hour)
	if !hung.Serving() || broken.Serving() {
		t.Errorf("after the reset: hung serves %v, broken serves %v", hung.Serving(), broken.Serving())
	}
}

func TestALostAnswerHidesADeedAndADoubledOneRepeatsIt(t *testing.T) {
	t.Parallel()
	w := two(5)
	vm := planted(w, "web-1", "h1")
	c := w.Client("hale")
	lift := w.Upset(Trouble{Lost: 1})
	if end := send(w, c, Call{Op: PowerOff, ID: vm.ID, Host: "h1", Mark: vm.Mark}); end != Lost || vm.Power != Off {
		t.Errorf("ended %q with the power %s", end, vm.Power)
	}
	lift()
	lift = w.Upset(Trouble{Twice: 1})
	if end := send(w, c, Call{Op: Start, ID: vm.ID, Host: "h1", Mark: vm.Mark}); end != Done {
		t.Error(end)
	}
	w.Crash(vm, StopCrash)
	pass(w, 2*time.Minute)
	if vm.Power != Running {
		t.Error("the provider did not do it again")
	}
	lift()
}

// A listing tells what changed; put together, the answers equal the truth, whatever was stale, dark or cut in between.
func TestListingsAddUpToTheTruth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := two(rapid.Uint64().Draw(t, "seed"))
		c := w.Client("hale")
		known := map[string]Status{}
		var lifts []func()
		born := 0
		ask := func() bool {
			heard := false
			c.List(time.Minute, func(l Listing, e End) {
				if heard = e == Done; !heard {
					return
				}
				for _, s := range l.Changed {
					known[s.ID] = s
				}
				for _, id := range l.Removed {
					delete(known, id)
				}
			})
			pass(w, 2*time.Second)
			return heard
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				born++
				planted(w, "web-"+string(rune('a'+born)), []string{"h1", "h2"}[born%2])
			case 1:
				w.eachVM(func(vm *VM) { w.Crash(vm, StopCrash) })
			case 2:
				w.eachVM(func(vm *VM) { w.PowerOn(vm) })
			case 3:
				if vm := w.VM("web-" + string(rune('a'+born))); vm != nil {
					w.Vanish(vm)
				}
			case 4:
				lifts = append(lifts, w.Darkness(Domain{"host", "h1"}))
			case 5:
				lifts = append(lifts, w.Upset(Trouble{Stale: time.Minute}))
			case 6:
				for _, lift := range lifts {
					lift()
				}
				lifts = nil
			case 7:
				pass(w, 20*time.Second)
			}
			ask()
		}
		for _, lift := range lifts {
			lift()
		}
		pass(w, time.Minute)
		if !ask() {
			t.Fatal("no answer")
		}
		truth := map[string]Status{}
		w.eachVM(func(vm *VM) { truth[vm.ID] = vm.Status })
		if !maps.Equal(truth, known) {
			t.Fatalf("known %v, true %v", known, truth)
		}
	})
}

func (w *World) eachVM(do func(*VM)) {
	for _, vm := range w.within(Domain{Kind: "all"}) {
		do(vm)
	}
}
