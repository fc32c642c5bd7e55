package belief_test

import (
	"reflect"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

func TestWhatLiesInADomain(t *testing.T) {
	t.Parallel()
	h := fleet.Host{Name: "h1", Place: fleet.Place{Rack: "r1", Room: "m1", Zone: "z1"}}
	named := h
	named.Place.Storage = "nas1"
	for reason, c := range map[string]struct {
		domain          fleet.Domain
		host            fleet.Host
		contains, spare bool
	}{
		"the host itself":           {fleet.Domain{Kind: fleet.DomainHost, Name: "h1"}, h, true, false},
		"another host":              {fleet.Domain{Kind: fleet.DomainHost, Name: "h2"}, h, false, true},
		"its rack":                  {fleet.Domain{Kind: fleet.DomainRack, Name: "r1"}, h, true, false},
		"a room of the same name":   {fleet.Domain{Kind: fleet.DomainRoom, Name: "r1"}, h, false, true},
		"its room":                  {fleet.Domain{Kind: fleet.DomainRoom, Name: "m1"}, h, true, false},
		"its zone":                  {fleet.Domain{Kind: fleet.DomainZone, Name: "z1"}, h, true, false},
		"a network spares nobody":   {fleet.Domain{Kind: fleet.DomainNetwork, Name: "default"}, h, false, false},
		"a storage nobody named":    {fleet.Domain{Kind: fleet.DomainStorage, Name: "nas1"}, h, false, false},
		"its storage":               {fleet.Domain{Kind: fleet.DomainStorage, Name: "nas1"}, named, true, false},
		"another storage":           {fleet.Domain{Kind: fleet.DomainStorage, Name: "nas2"}, named, false, true},
		"a host without a name":     {fleet.Domain{Kind: fleet.DomainHost}, fleet.Host{}, false, true},
		"a place that nobody named": {fleet.Domain{Kind: fleet.DomainRack}, fleet.Host{}, false, true},
	} {
		if got := c.domain.Contains(c.host); got != c.contains {
			t.Errorf("%s: contains %v", reason, got)
		}
		if got := c.domain.Spares(c.host); got != c.spare {
			t.Errorf("%s: spares %v", reason, got)
		}
	}
}

func TestTheSmallerSortOfThingIsMoreSpecific(t *testing.T) {
	t.Parallel()
	kinds := []fleet.DomainKind{fleet.DomainHost, fleet.DomainRack, fleet.DomainRoom, fleet.DomainZone,
		fleet.DomainNetwork, fleet.DomainStorage, "moon"}
	for i, a := range kinds {
		for k, b := range kinds {
			if a.MoreSpecific(b) != (i < k) {
				t.Errorf("%s more specific than %s: %v", a, b, i >= k)
			}
		}
	}
}

// Waiting that permits harm when it is over begins anew with a new owner; what people were told stays told (L15).
func TestTheWholeAfterARestart(t *testing.T) {
	t.Parallel()
	opened := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	was := belief.Whole{
		Parents: []belief.Parent{{ID: "web/p1", Opened: opened, Since: 5, CalmSince: 7, Paged: true}}, Opened: 1,
		Doubt: belief.Doubt{Reason: fleet.ReasonVantageIsolated, CalmSince: 9, Paged: true},
	}
	kept := was.Clone()
	is := was.Restart(fleet.Now{Mono: 100, Wall: opened.Add(time.Hour)})
	p := is.Parent("web/p1")
	if p == nil || p.Since != 100 || p.CalmSince != 0 || !p.Paged || !p.Opened.Equal(opened) ||
		is.Doubt.CalmSince != 0 || !is.Doubt.Paged {
		t.Errorf("after the restart %+v", is)
	}
	if !was.Equal(kept) || was.Equal(is) {
		t.Error("the restart changed what was there before")
	}
	if is.Parent("") != nil || is.Parent("web/p2") != nil {
		t.Error("a parent that there is not")
	}
}

// What proves that the store is older than the world is compared whole, and is another owner's after a restart: its
// clock is another.
func TestWhatProvesAnOlderStoreIsComparedWhole(t *testing.T) {
	t.Parallel()
	full := func() belief.Whole {
		return belief.Whole{Older: &belief.Older{
			Machine: "web-1", Instance: "a", Host: "h1", Generation: 2, Allotted: 1, Start: "7-a",
			Since: time.Unix(9, 0), SinceMono: 5, Told: []fleet.StartName{"7-a"},
		}}
	}
	whole := full()
	if !whole.Equal(full()) || whole.Equal(belief.Whole{}) || (belief.Whole{}).Equal(whole) {
		t.Fatal("equal proofs differ, or one equals none")
	}
	for i := range reflect.TypeFor[belief.Older]().NumField() {
		other := full()
		reflect.ValueOf(other.Older).Elem().Field(i).SetZero()
		if whole.Equal(other) {
			t.Errorf("a difference in %s is overlooked", reflect.TypeFor[belief.Older]().Field(i).Name)
		}
	}
	is := whole.Restart(fleet.Now{Mono: 100})
	if is.Older.SinceMono != 0 || !is.Older.Covers("7-a") || !whole.Equal(full()) {
		t.Errorf("after the restart %+v, and %+v before", is.Older, whole.Older)
	}
}

// That a host is in use again ends a hold, so for how long it has been so is stored, and is not counted on by another
// owner, whose clock is another (L15).
func TestAHostsMaintenanceIsComparedWhole(t *testing.T) {
	t.Parallel()
	whole := belief.Whole{Maintenance: []belief.Maintenance{{Host: "h1", InUse: 5}}}
	for _, other := range []belief.Maintenance{{Host: "h2", InUse: 5}, {Host: "h1"}} {
		if whole.Equal(belief.Whole{Maintenance: []belief.Maintenance{other}}) {
			t.Errorf("it equals %+v", other)
		}
	}
	is := whole.Restart(fleet.Now{Mono: 100})
	if m := is.Maintenance[0]; m.Host != "h1" || m.InUse != 0 || whole.Maintenance[0].InUse != 5 {
		t.Errorf("after the restart %+v, and %+v before", m, whole.Maintenance)
	}
	copied := whole.Clone()
	if copied.Maintenance[0].InUse = 7; !whole.Clone().Equal(whole) || whole.Equal(copied) {
		t.Error("a copy shares its hosts")
	}
}

// A hold's order id says that the provider placed it, and for which host. The owner's name does not.
func TestAHoldOfTheProvidersIsKnownByWhatPlacedIt(t *testing.T) {
	t.Parallel()
	h := belief.HoldByProvider("h1", "maintenance", time.Hour, fleet.Now{})
	persons := belief.HoldOf(&fleet.Order{ID: "o", Host: "h1", By: h.By}, fleet.Now{})
	if !h.ByProvider("h1") || h.ByProvider("h2") || h.ByProvider("") || persons.ByProvider("h1") {
		t.Errorf("%+v, %+v", h, persons)
	}
}

func TestAMachineLiesWhereItWasLast(t *testing.T) {
	t.Parallel()
	old := belief.Incarnation{ID: "a", Host: "h1"}
	for reason, c := range map[string]struct {
		machine belief.Machine
		want    belief.Incarnation
	}{
		"it has an instance": {belief.Machine{Current: old}, old},
		"it is being rebuilt": {
			belief.Machine{Repair: &belief.Repair{Climb: belief.Climb{Aim: belief.Aim{Target: old}}}}, old,
		},
		"it never had one": {belief.Machine{}, belief.Incarnation{}},
	} {
		if got := c.machine.Lies(); got != c.want {
			t.Errorf("%s: %+v", reason, got)
		}
	}
}

func TestAMachineThatIsJudgedAfreshGetsItsTimeAgain(t *testing.T) {
	t.Parallel()
	spec := policy.Spec{Grace: time.Minute, BuildWithin: time.Hour,
		Repair: policy.Repair{Steps: []policy.Step{{Kind: fleet.StepStart, VerifyWithin: 30 * time.Second}}}}
	now := fleet.Now{Mono: fleet.Instant(time.Hour)}
	m := belief.Machine{Epoch: 3, Repair: &belief.Repair{
		Climb: belief.Climb{Step: fleet.StepStart, Stage: belief.Stage{Phase: belief.PhaseVerify, Deadline: 5}},
	}}
	m.Afresh(now, spec)
	if m.Epoch != 4 || m.Acted != now.Mono || m.Repair.Deadline != now.Mono.Add(30*time.Second) {
		t.Errorf("%+v", m)
	}
	started := belief.Machine{Health: belief.Health{Grace: 5}}
	started.Afresh(now, spec)
	if started.Health.Grace != now.Mono.Add(time.Minute) {
		t.Errorf("%+v", started)
	}
}
