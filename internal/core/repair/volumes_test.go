package repair_test

import (
	"slices"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// withDisk is a build of a template with a disk that outlives its instances.
func withDisk(t *testing.T, storage string) *stage {
	t.Helper()
	h := host("h2", "")
	h.Place.Storage = storage
	st := building(t, h)
	st.s.Spec.Template.Disks = []policy.Disk{{Name: "data", Size: 1}, {Name: "root", Ephemeral: true}, {Name: "tmp",
		Size: 1, Ephemeral: true}}
	return st
}

// Where a machine's kept disks will lie is written down before the instance is asked for that has them, and which there
// are once one stood. The next one is told, so that none of them is made anew.
func TestWhereKeptDisksLie(t *testing.T) {
	t.Parallel()
	st := withDisk(t, "nas")
	st.want("the first", st.round(), "CALL create new; act")
	if v := st.m.Volumes; v == nil || v.Host != "h2" || v.Storage != "nas" || len(v.Made) != 0 {
		t.Errorf("they are to lie at %+v", v)
	}
	if got := st.action().Made; len(got) != 0 {
		t.Errorf("there is data on %v already", got)
	}
	st.ends(fleet.OutcomeDone)
	st.want("it stands", st.round(), "verify")
	if got := st.m.Volumes.Made; !slices.Equal(got, []string{"data"}) {
		t.Errorf("there is data on %v", got)
	}
	next := withDisk(t, "nas")
	next.m.Volumes = st.m.Volumes
	next.m.Volumes.Host = "h1" // which shares that storage
	next.want("the next", next.round(), "CALL create new; act")
	if got := next.action().Made; !slices.Equal(got, []string{"data"}) || next.m.Volumes.Host != "h2" {
		t.Errorf("it is told of %v, at %+v", got, next.m.Volumes)
	}
}

// A create that surely did nothing binds the machine to no host; one that may have, and one after an instance had the
// disks, does.
func TestABuildInVainBindsNoDisks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  fleet.OutcomeKind
		made  []string
		bound bool
	}{
		"it failed":                 {fleet.OutcomeFailed, nil, false},
		"it was not sent":           {fleet.OutcomeNotSent, nil, false},
		"the name was taken":        {fleet.OutcomeConflict, nil, false},
		"it is done":                {fleet.OutcomeDone, nil, true},
		"it is unknown":             {fleet.OutcomeUnknown, nil, true},
		"it failed, and had a past": {fleet.OutcomeFailed, []string{"data"}, true},
	} {
		st := withDisk(t, "")
		if c.made != nil {
			st.m.Volumes = &belief.Volumes{Host: "h2", Made: c.made}
		}
		st.round()
		st.ends(c.kind)
		st.round()
		if got := st.m.Volumes != nil; got != c.bound {
			t.Errorf("%s: the machine is bound to %+v", name, st.m.Volumes)
		}
	}
}

// A template without such a disk binds a machine to no host.
func TestAMachineWithoutKeptDisksIsBoundToNoHost(t *testing.T) {
	t.Parallel()
	for name, disks := range map[string][]policy.Disk{"none": nil, "one that goes": {{Name: "root", Ephemeral: true}}} {
		st := building(t, host("h2", ""))
		st.s.Spec.Template.Disks = disks
		st.want(name, st.round(), "CALL create new; act")
		if st.m.Volumes != nil {
			t.Errorf("%s: it is bound to %+v", name, st.m.Volumes)
		}
	}
}

// L1: nothing is built while another instance with the machine's mark may run, or may hold its disks.
func TestL1NothingIsBuiltBesideAnother(t *testing.T) {
	t.Parallel()
	theirs := marked("x", "h2", fleet.PowerRunning, 1)
	theirs.Mark.Installation = "theirs"
	certified := marked("x", "h2", fleet.PowerRunning, 1)
	certified.Mark.Certified = true
	off := certified
	off.Power = fleet.PowerOff
	for name, c := range map[string]struct {
		shows fleet.Instance
		disks bool
		want  string
	}{
		"one that runs":               {certified, false, "repair-ended rival; held backoff; over, again in 5s"},
		"one that is off":             {off, false, "CALL create new; act"},
		"one of another hale":         {theirs, false, "repair-ended rival; held backoff; over, again in 5s"},
		"one that may have its disks": {certified, true, "repair-ended disk-in-use; held backoff; over, again in 5s"},
	} {
		st := building(t, host("h2", ""))
		if c.disks {
			st.m.Volumes = &belief.Volumes{Host: "h2", Made: []string{"data"}}
		}
		st.seen(c.shows)
		st.want(name, st.round(), c.want)
	}
}

// L1: a machine that is about to have an instance, as one that was found, is rivalled by any other, and not by that.
func TestL1WhoIsARival(t *testing.T) {
	t.Parallel()
	for id, want := range map[fleet.InstanceID]bool{"x": false, "y": true, "": true} {
		st := building(t)
		st.seen(marked("x", "h2", fleet.PowerRunning, 1))
		if got := st.work().RivalledBeside(id); got != want {
			t.Errorf("beside %q: %t, want %t", id, got, want)
		}
		st.m.Strays, st.view.Seen = []belief.Stray{{ID: "x"}}, nil
		if got := st.work().RivalledBeside(id); got != want {
			t.Errorf("beside %q, of a stray that nothing is known of: %t, want %t", id, got, want)
		}
	}
}
