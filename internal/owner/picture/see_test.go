package picture_test

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
	"hale/internal/owner/picture"
)

func TestAbsenceMustBeConfirmed(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.settle()
	a.list = slices.Delete(a.list, 1, 2)

	doubts := a.see(2 * time.Second)
	if len(doubts) != 1 || doubts[0].Index != 1 || doubts[0].Instance.ID != "id-2" || doubts[0].Instance.Host != "b" {
		t.Fatalf("web-2 is not listed; in doubt are %+v", doubts)
	}
	if s := a.View(1).Sighting("id-2"); s.Instance.Power != fleet.PowerRunning || s.Asked != at(time.Second) {
		t.Errorf("not listed is not gone, and no newer word: %+v", s)
	}
	if doubts := a.see(3 * time.Second); len(doubts) > 0 {
		t.Errorf("it is being asked about, and in doubt again: %v", doubts)
	}
	a.Answered("id-2") // without an answer
	if doubts := a.see(4 * time.Second); len(doubts) != 1 {
		t.Errorf("nothing was learnt, and nothing is asked: %v", doubts)
	}

	a.settle()
	a.Answered("id-2")
	gone := fleet.Sighting{Instance: fleet.Instance{ID: "id-2", Host: "b", Power: fleet.PowerGone},
		Asked: at(4 * time.Second)}
	a.Sight(1, gone)
	if !a.Dirty() || !a.View(1).Due || a.View(1).Sighting("id-2") != gone {
		t.Errorf("confirmed, and it is %+v", a.View(1).Sighting("id-2"))
	}
	if doubts := a.see(5 * time.Second); len(doubts) > 0 || a.View(1).Sighting("id-2").Asked != at(5*time.Second) {
		t.Errorf("what is gone and still not listed is known to be gone as of now, without a question: %v", doubts)
	}
}

func TestTheSilenceOfAHostIsNotAbsence(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.settle()
	a.hosts[1].Up = false
	a.list = slices.Delete(a.list, 1, 2)
	doubts := a.see(2 * time.Second)
	if v := a.View(1); len(doubts) > 0 || v.Sighting("id-2") != (fleet.Sighting{}) || !v.Due {
		t.Errorf("the host of web-2 is silent, and %+v is seen, %v in doubt", v.Seen, doubts)
	}
	if got := a.Aim(1).Address; got != address(2) {
		t.Errorf("its last address stays probed, not %v", got)
	}
}

func TestAMigratedInstanceIsSeenWhereItIs(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.hosts[1].Up = false
	a.list[1].Host = "c"
	if doubts := a.see(2 * time.Second); len(doubts) > 0 || a.View(1).Sighting("id-2").Instance.Host != "c" {
		t.Errorf("%v in doubt, seen %+v", doubts, a.View(1).Seen)
	}
}

func TestAnOlderWordDoesNotReplaceANewerOne(t *testing.T) {
	t.Parallel()
	a := shown(t)
	off := fleet.Sighting{Instance: a.list[1], Asked: at(5 * time.Second)}
	off.Instance.Power = fleet.PowerOff
	a.Sight(1, off)
	a.see(4 * time.Second) // asked earlier, told later
	if got := a.View(1).Sighting("id-2"); got != off {
		t.Errorf("an older listing replaced the sighting: %+v", got)
	}
	a.hosts[1].Up = false
	a.see(4 * time.Second) // its host was silent then
	a.hosts[1].Up, a.list = true, slices.Delete(a.list, 1, 2)
	doubts := a.see(4 * time.Second) // it was not listed then
	if got := a.View(1).Sighting("id-2"); got != off || len(doubts) > 0 {
		t.Errorf("what an older listing has not is forgotten, or in doubt: %+v, %v", got, doubts)
	}
	late := off
	late.Instance.Power, late.Asked = fleet.PowerRunning, at(3*time.Second)
	a.Sight(1, late)
	if got := a.View(1).Sighting("id-2"); got != off {
		t.Errorf("an older answer replaced the sighting: %+v", got)
	}
}

func TestStrangersWithTheMarkAreSeen(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.settle()
	stray := a.list[0]
	stray.ID, stray.Mark.Generation = "id-0", 2
	other := a.list[0]
	other.ID, other.Mark.Fleet = "id-9", "db"
	a.list = append(a.list, stray, other)
	a.see(2 * time.Second)
	if v := a.View(0); len(v.Seen) != 2 || v.Seen[0].Instance.ID != "id-0" || v.Seen[1].Instance.ID != "id-1" ||
		!v.Due {
		t.Errorf("web-1 has %+v", v.Seen)
	}
	a.settle()
	a.Sight(0, fleet.Sighting{Instance: fleet.Instance{ID: "id-9", Power: fleet.PowerOff}, Asked: at(3 * time.Second)})
	if a.Dirty() || len(a.View(0).Seen) != 2 {
		t.Errorf("another fleet's instance is no news of web-1: %+v", a.View(0).Seen)
	}
}

// L13, L1: what bears a machine's mark beside its own instance is known to hale, and a listing that lacks it may lack
// everything. What lies on a silent host is not known.
func TestAStrayThatIsNotListedIsNotGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		silent bool
		asked  int
		power  fleet.Power
	}{
		"its host answers":  {false, 1, fleet.PowerRunning},
		"its host does not": {true, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := shown(t)
			stray := a.list[0]
			stray.ID, stray.Host = "id-0", "b"
			a.list = append(a.list, stray)
			a.see(2 * time.Second)
			m := a.View(0).Machine.Clone()
			m.Strays = []belief.Stray{{ID: "id-0", Host: "b"}}
			a.Adopt(round.Decided{Index: 0, Belief: m})
			a.list = a.list[:3]
			if c.silent {
				a.hosts[1].Up, a.list = false, slices.Delete(a.list, 1, 2)
			}
			doubts := a.see(3 * time.Second)
			if len(doubts) != c.asked || c.asked > 0 && doubts[0].Instance.ID != "id-0" {
				t.Errorf("in doubt are %+v", doubts)
			}
			if s := a.View(0).Sighting("id-0"); s.Instance.Power != c.power {
				t.Errorf("it is %+v", s)
			}
		})
	}
}

func TestEveryInstanceOfARepairIsAskedFor(t *testing.T) {
	t.Parallel()
	a := shown(t)
	m := a.View(1).Machine.Clone()
	m.Current = belief.Incarnation{}
	m.Repair = &belief.Repair{
		Intent: &belief.Intent{Op: fleet.OpCreate, Instance: "new", Host: "c"},
		Climb: belief.Climb{
			Next: belief.Incarnation{ID: "new", Host: "c"},
			Aim:  belief.Aim{Target: belief.Incarnation{ID: "id-2", Host: "b"}},
		},
	}
	a.Adopt(round.Decided{Index: 1, Belief: m})
	a.list = a.list[:1]
	var asked []fleet.InstanceID
	for _, d := range a.see(2 * time.Second) {
		asked = append(asked, d.Instance.ID)
	}
	if fmt.Sprint(asked) != "[id-2 new id-3]" {
		t.Errorf("asked about %v", asked)
	}
}

func TestOnlyThoseWhoAreNamedAreLookedAt(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.settle()
	for i := range a.list {
		a.list[i].Power = fleet.PowerOff
	}
	c := picture.NewCatalogue()
	c.Replace(a.hosts, a.list, at(2*time.Second))
	a.See(c, []int{2})
	for i, want := range []fleet.Power{fleet.PowerRunning, fleet.PowerRunning, fleet.PowerOff} {
		if got := a.View(i).Seen[0].Instance.Power; got != want || a.View(i).Due != (i == 2) {
			t.Errorf("%s is %s, due %v", a.View(i).Machine.Name, got, a.View(i).Due)
		}
	}
	a.settle()
	a.See(c, []int{})
	if a.View(0).Due || !a.Dirty() {
		t.Error("nobody was named, and the fleet as a whole is to be decided on")
	}
}

func TestAReplacementsAddressIsAwaited(t *testing.T) {
	t.Parallel()
	a := shown(t)
	m := a.View(1).Machine.Clone()
	m.Repair = &belief.Repair{Climb: belief.Climb{Stage: belief.Stage{Phase: belief.PhaseVerify}}}
	a.Adopt(round.Decided{Index: 1, Belief: m})
	if a.AwaitsAddress(0) || a.AwaitsAddress(1) {
		t.Error("the provider named every address")
	}
	a.list[1].Address = netip.Addr{}
	a.see(2 * time.Second)
	if a.AwaitsAddress(0) || !a.AwaitsAddress(1) {
		t.Error("web-2 alone has no address")
	}
}

func TestAProvidersTurnsAreRecorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was, now fleet.ProviderStanding
		want     string
	}{
		"the ordinary beginning": {fleet.ProviderUnknown, fleet.ProviderUp, ""},
		"nothing new":            {fleet.ProviderDown, fleet.ProviderDown, ""},
		"back":                   {fleet.ProviderDown, fleet.ProviderUp, "provider/up "},
		"lost":                   {fleet.ProviderUp, fleet.ProviderDown, "provider/down "},
		"never there":            {fleet.ProviderUnknown, fleet.ProviderDown, "provider/down "},
		"somebody else": {fleet.ProviderUp, fleet.ProviderDoubtful,
			"provider/provider-doubtful paged/provider-doubtful "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, nil)
			a.SetProvider(fleet.ProviderState{Standing: c.was})
			a.settle()
			now := fleet.ProviderState{Standing: c.now, Detail: "why"}
			var got string
			for _, r := range a.ProviderRecords(a.SetProvider(now), now) {
				got += fmt.Sprintf("%s/%s ", r.Kind, r.Reason)
				if r.Detail != "why" {
					t.Errorf("%s does not say why", r.Kind)
				}
			}
			if got != c.want || !a.Dirty() {
				t.Errorf("recorded %q, not %q; dirty %v", got, c.want, a.Dirty())
			}
		})
	}
}

// A person is told that a provider does not answer when that lasts for as long as a host may take to boot.
func TestAProviderThatIsSilentForAMomentIsToldToNobody(t *testing.T) {
	t.Parallel()
	a := open(t, nil)
	stand := func(d time.Duration, to fleet.ProviderStanding) []record.Record {
		now := fleet.ProviderState{Standing: to, Since: at(d), Detail: "why"}
		return a.ProviderRecords(a.SetProvider(now), now)
	}
	stand(0, fleet.ProviderUp)
	stand(time.Minute, fleet.ProviderDown)
	if due, is := a.ProviderPage(); !is || due != at(time.Minute+fleet.HostBoot) {
		t.Errorf("it is told at %v: %v", due, is)
	}
	back := stand(3*time.Minute, fleet.ProviderUp)
	if _, is := a.ProviderPage(); is || len(back) != 1 || back[0].Paged {
		t.Errorf("told of a provider that answers: %v; %+v", is, back)
	}
	stand(time.Hour, fleet.ProviderDown)
	if page := a.ProviderPaged(); page.Kind != record.Paged || page.Detail != "why" {
		t.Errorf("told: %+v", page)
	}
	if back = stand(2*time.Hour, fleet.ProviderUp); len(back) != 1 || !back[0].Paged {
		t.Errorf("its end: %+v", back)
	}
}

func TestAProviderThatFlapsIsToldOfOnce(t *testing.T) {
	t.Parallel()
	a := open(t, nil)
	pages := 0
	turn := func(d time.Duration, to fleet.ProviderStanding) {
		now := fleet.ProviderState{Standing: to, Since: at(d)}
		for _, r := range a.ProviderRecords(a.SetProvider(now), now) {
			if r.Kind == record.Paged {
				pages++
			}
		}
		if due, is := a.ProviderPage(); is && due <= now.Since {
			a.ProviderPaged()
			pages++
		}
	}
	for n := range 100 {
		d := time.Duration(n) * 10 * time.Second
		turn(d, fleet.ProviderDown)
		turn(d+5*time.Second, fleet.ProviderUp)
	}
	if pages != 1 {
		t.Errorf("a provider that fails every other call is told of %d times", pages)
	}
	for n := range 5 { // a host that reboots, each time as soon as it has stood for as long as one may take to boot
		d := 30*time.Minute + time.Duration(n)*(2*fleet.HostBoot-time.Second)
		turn(d, fleet.ProviderDown)
		turn(d+fleet.HostBoot-time.Second, fleet.ProviderUp)
	}
	if pages != 1 {
		t.Errorf("reboots that end in time are told of: %d pages", pages)
	}
	turn(2*time.Hour, fleet.ProviderDown)
	turn(2*time.Hour+time.Second, fleet.ProviderDoubtful)
	turn(2*time.Hour+fleet.HostBoot, fleet.ProviderDown)
	if pages != 3 {
		t.Errorf("after it was calm, and for another trouble, a person is told anew: %d pages", pages)
	}
}

// world is what a provider has, for the property below.
type world struct {
	hosts []fleet.Host
	has   map[fleet.InstanceID][]fleet.Instance // all mentions
}

// listing returns all there is, in any order.
func (w world) listing(t *rapid.T) []fleet.Instance {
	var list []fleet.Instance
	for _, id := range slices.Sorted(maps.Keys(w.has)) {
		list = append(list, w.has[id]...)
	}
	return rapid.Permutation(list).Draw(t, "listing")
}

// change lets something happen to a few instances and hosts, and says to which.
func (w *world) change(t *rapid.T) (changed []fleet.Instance, removed []fleet.InstanceID) {
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]fleet.InstanceID{"id-1", "id-2", "id-3", "id-4",
		"id-5"}), 0, 3, rapid.ID).Draw(t, "whose") {
		if rapid.Bool().Draw(t, "goes") {
			delete(w.has, id)
			removed = append(removed, id)
			continue
		}
		i := fleet.Instance{
			ID: id, Host: rapid.SampledFrom([]fleet.HostName{"a", "b", "c"}).Draw(t, "host"),
			Power: rapid.SampledFrom([]fleet.Power{fleet.PowerRunning, fleet.PowerOff}).Draw(t, "power"),
			Mark: fleet.Mark{
				Fleet:   rapid.SampledFrom([]fleet.Name{"web", "db", ""}).Draw(t, "fleet"),
				Machine: rapid.SampledFrom([]fleet.MachineName{"web-1", "web-2", ""}).Draw(t, "machine"),
			},
		}
		if n := rapid.IntRange(0, 3).Draw(t, "address"); n > 0 {
			i.Address = address(n)
		}
		w.has[id] = []fleet.Instance{i}
		if rapid.IntRange(0, 3).Draw(t, "stays behind") == 0 {
			i.Power, i.Host = fleet.PowerOff, map[fleet.HostName]fleet.HostName{"a": "b", "b": "c", "c": "a"}[i.Host]
			w.has[id] = append(w.has[id], i)
		}
		changed = append(changed, w.has[id]...)
	}
	twice := false
	for _, mentions := range w.has {
		twice = twice || len(mentions) > 1
	}
	w.hosts = nil
	for _, h := range []fleet.HostName{"a", "b", "c"} {
		if twice || rapid.Bool().Draw(t, "there") { // an instance is on a host that the provider names
			w.hosts = append(w.hosts, fleet.Host{Name: h, Up: rapid.Bool().Draw(t, "up"), Independent: true})
		}
	}
	return changed, removed
}

// A catalogue that was kept up to date shows every machine what a whole listing would.
func TestUpdateEqualsReplace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, kept := world{has: map[fleet.InstanceID][]fleet.Instance{}}, picture.NewCatalogue()
		beliefs, _, _ := webs()
		fresh := func() *picture.Picture {
			return picture.New(picture.Options{Spec: spec(), Beliefs: beliefs,
				FreshID: func() fleet.InstanceID { return "fresh" }}, noon(0))
		}
		byUpdate, byReplace := fresh(), fresh()
		for n := range rapid.IntRange(1, 8).Draw(t, "steps") {
			changed, removed := w.change(t)
			asked := at(time.Duration(n+1) * time.Second)
			kept.Update(w.hosts, changed, removed, asked)
			whole := picture.NewCatalogue()
			whole.Replace(w.hosts, w.listing(t), asked)
			if a, b := byUpdate.See(kept, []int{0, 1, 2}), byReplace.See(whole, nil); !reflect.DeepEqual(a, b) {
				t.Fatalf("in doubt by update %v, by replacement %v", a, b)
			}
			if a, b := byUpdate.Situation(noon(0)), byReplace.Situation(noon(0)); !reflect.DeepEqual(a, b) {
				t.Fatalf("by update\n%+v\nby replacement\n%+v", a, b)
			}
			for i := range byUpdate.Len() {
				if a, b := byUpdate.Aim(i), byReplace.Aim(i); a != b {
					t.Fatalf("aimed by update at %+v, by replacement at %+v", a, b)
				}
				byUpdate.Answered(byUpdate.View(i).Machine.Current.ID)
				byReplace.Answered(byReplace.View(i).Machine.Current.ID)
			}
		}
	})
}

// The same catalogue is filled again and again by an owner that only ever takes whole listings.
func TestReplaceForgetsWhatWas(t *testing.T) {
	t.Parallel()
	beliefs, hosts, list := webs()
	used, c := picture.NewCatalogue(), picture.NewCatalogue()
	used.Replace(hosts, list, at(time.Second))
	used.Replace(hosts[:2], list[2:], at(2*time.Second))
	c.Replace(hosts[:2], list[2:], at(2*time.Second))
	var seen [2]situation.Situation
	for k, catalogue := range []*picture.Catalogue{used, c} {
		p := picture.New(picture.Options{Spec: spec(), Beliefs: beliefs,
			FreshID: func() fleet.InstanceID { return "fresh" }}, noon(0))
		p.See(catalogue, nil)
		seen[k] = p.Situation(noon(0))
	}
	if !reflect.DeepEqual(seen[0], seen[1]) {
		t.Errorf("%+v\n%+v", seen[0], seen[1])
	}
}

func BenchmarkEvidence(b *testing.B) {
	const size = 1000
	s := spec()
	s.Size = size
	var beliefs []belief.Machine
	var list []fleet.Instance
	for n := 1; n <= size; n++ {
		m := belief.Machine{Name: s.Name.Machine(n), Epoch: 1, Generation: 1,
			Current: belief.Incarnation{ID: fleet.InstanceID(fmt.Sprintf("id-%d", n)), Host: "a"}}
		beliefs = append(beliefs, m)
		list = append(list, fleet.Instance{
			ID: m.Current.ID, Host: "a", Power: fleet.PowerRunning, Address: netip.AddrFrom4([4]byte{10, 0,
				byte(n >> 8), byte(n)}),
			Mark: fleet.Mark{Fleet: s.Name, Machine: m.Name},
		})
	}
	hosts := []fleet.Host{{Name: "a", Up: true}}
	p := picture.New(picture.Options{Spec: s, Beliefs: beliefs, FreshID: func() fleet.InstanceID { return "fresh" }},
		noon(0))
	c := picture.NewCatalogue()
	c.Replace(hosts, list, at(time.Second))
	p.See(c, nil)
	b.Run("hear", func(b *testing.B) {
		e := picture.Edge{Machine: "web-500", Check: "page", Epoch: p.Aim(499).Epoch, Standing: fleet.StandingUp}
		for b.Loop() {
			p.Hear(e)
		}
	})
	b.Run("update", func(b *testing.B) {
		for b.Loop() {
			c.Update(hosts, list[499:500], nil, at(time.Second))
		}
	})
	b.Run("see one", func(b *testing.B) {
		for b.Loop() {
			p.See(c, []int{499})
		}
	})
	b.Run("see all", func(b *testing.B) {
		for b.Loop() {
			p.See(c, nil)
		}
	})
	b.Run("replace", func(b *testing.B) {
		for b.Loop() {
			c.Replace(hosts, list, at(time.Second))
		}
	})
}

// A listing that was asked for before the owner began says nothing yet; the next one does, though it says the same. A
// fleet without checks has nothing else by which it would be judged after a restart.
func TestTheFirstWordThatCountsIsJudged(t *testing.T) {
	t.Parallel()
	a := open(t, nil)
	a.see(-time.Second)
	a.settle()
	if a.View(0).Due {
		t.Fatal("what was settled is due")
	}
	a.see(time.Second)
	if !a.View(0).Due {
		t.Error("the provider's word counts from now on, and nobody judges it")
	}
	a.settle()
	a.see(2 * time.Second)
	if a.View(0).Due {
		t.Error("it says the same again, and is judged once more")
	}
}

// A host that is started anew shuts most of what it has down before it falls silent; a person shuts down one machine,
// and the host falls silent for other reasons.
func TestAHostShutsDownWithMostOfItsMachines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ended    int           // of three
		later    time.Duration // from then until the host falls silent
		provider bool          // which falls silent as a whole
		want     bool
	}{
		"all of them":           {ended: 3, later: time.Second, want: true},
		"most of them":          {ended: 2, later: time.Minute, want: true},
		"with the provider":     {ended: 2, later: time.Minute, provider: true, want: true},
		"one of them":           {ended: 1, later: time.Second},
		"long before":           {ended: 3, later: fleet.HostBoot + time.Second},
		"none, and all are off": {later: time.Second},
	} {
		a := shown(t)
		a.independent()
		for i := range a.list {
			a.list[i].Host = "b"
		}
		a.see(2 * time.Second)
		for i := range c.ended {
			a.list[i].Power, a.list[i].Stop = fleet.PowerOff, fleet.StopShutdown
		}
		a.see(3 * time.Second)
		a.see(3*time.Second + c.later)
		if c.provider {
			a.SetProvider(fleet.ProviderState{Standing: fleet.ProviderDown})
		} else {
			a.hosts[1].Up = false
			a.see(4*time.Second + c.later)
		}
		for i := range a.list {
			if got := a.View(i).Ran.Ended; got != (c.want && i < c.ended) {
				t.Errorf("%s: %s was shut down with its host: %v", name, a.View(i).Machine.Name, got)
			}
		}
	}
}
