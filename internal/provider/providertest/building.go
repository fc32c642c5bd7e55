package providertest

import (
	"fmt"
	"slices"
	"sync"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

func createdRuns(t T, h Harness) {
	e := begin(t, h)
	order := e.order(1)
	order.Template.Metadata = fleet.MetadataOf(map[string]string{"role": `<db> & "more"`, "rack": "r1"})
	e.do("create", e.p.Create(e.ctx(), order))
	e.awaitInstance("a running instance with an address", order.Ref, func(i fleet.Instance) bool {
		return i.Power == fleet.PowerRunning && i.Address.IsValid()
	})
	e.same("metadata", order.Template.Metadata, e.get(order.Ref).Metadata)
	for _, i := range Named(e.list(), order.Name) {
		e.same("metadata in the list", order.Template.Metadata, i.Metadata)
	}
	if seen := e.get(order.Ref); seen.Stop != fleet.StopUnknown {
		t.Errorf("a running instance was stopped by %q", seen.Stop)
	}
}

func certifyFlipsTheFlag(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	e.awaitInstance("an address", order.Ref, func(i fleet.Instance) bool { return i.Address.IsValid() })
	want := e.get(order.Ref)
	want.Mark.Certified = true
	for _, call := range []string{"certify", "certify again"} {
		e.do(call, e.p.Certify(e.ctx(), order.Ref))
		seen := e.get(order.Ref)
		e.same("mark after "+call, want.Mark, seen.Mark)
		if seen.ID != want.ID || seen.Name != want.Name || seen.Power != want.Power || seen.Address != want.Address {
			t.Errorf("%s changed more than the mark: %+v, want %+v", call, seen, want)
		}
	}
	e.off(order.Ref)
	e.do("start", e.p.Start(e.ctx(), order.Ref))
	e.awaitPower(order.Ref, fleet.PowerRunning)
	e.same("mark after off and on", want.Mark, e.get(order.Ref).Mark)
}

func takenNameIsConflict(t T, h Harness) {
	e := begin(t, h)
	first := e.built(1)
	rival := e.rival(first)
	e.refused("create of a taken name", e.p.Create(e.ctx(), rival), fault.Conflict)
	e.untouched(first)
	_, err := e.p.Get(e.ctx(), rival.Ref)
	e.refused("get of the rival", err, fault.NotFound)

	e.off(first.Ref)
	e.refused("create of a name taken by an instance that is off", e.p.Create(e.ctx(), rival), fault.Conflict)
	e.do("start of the first", e.p.Start(e.ctx(), first.Ref))
	e.awaitPower(first.Ref, fleet.PowerRunning)
	e.untouched(first)
}

func takenIDIsConflict(t T, h Harness) {
	e := begin(t, h)
	first := e.built(1)
	e.refused("the same create again", e.p.Create(e.ctx(), first), fault.Conflict)
	e.untouched(first)

	renamed := first
	renamed.Name += "-other"
	e.refused("create of another name with a taken id", e.p.Create(e.ctx(), renamed), fault.Conflict)
	e.untouched(first)
	if found := Named(e.list(), renamed.Name); len(found) != 0 {
		t.Errorf("the refused create left %+v", found)
	}

	e.off(first.Ref)
	e.refused("the same create while it is off", e.p.Create(e.ctx(), first), fault.Conflict)
	e.same("power", fleet.PowerOff, e.get(first.Ref).Power)
}

// keptDiskIsNotMadeAnew: a disk with data is made once. It outlives its instances, and one that is missing is missed.
func keptDiskIsNotMadeAnew(t T, h Harness) {
	e := begin(t, h)
	first := e.order(1)
	first.Template.Disks = append(slices.Clone(first.Template.Disks), policy.Disk{Name: "data", Size: 8 << 20})
	unmade := first
	unmade.Made = []string{"data"}
	e.refused("create with a disk that is missing", e.p.Create(e.ctx(), unmade), fault.Invalid)
	_, err := e.p.Get(e.ctx(), first.Ref)
	e.refused("get of what was refused", err, fault.NotFound)
	e.do("create", e.p.Create(e.ctx(), first))
	for range 2 {
		e.off(first.Ref)
		e.do("delete", e.p.Delete(e.ctx(), first.Ref))
		next := e.rival(first)
		next.Made = []string{"data"}
		e.do("create with the disk that is there", e.p.Create(e.ctx(), next))
		e.awaitPower(next.Ref, fleet.PowerRunning)
		first = next
	}
}

// untouched fails the test unless the instance runs and bears what was asked for.
func (e *exam) untouched(order provider.Blueprint) {
	e.Helper()
	seen := e.get(order.Ref)
	if seen.Power != fleet.PowerRunning || seen.Name != order.Name {
		e.Errorf("the first instance was touched: %+v", seen)
	}
	e.same("mark of the first instance", order.Mark, seen.Mark)
}

func oneCreateWins(t T, h Harness) {
	e := begin(t, h)
	handles := []provider.Provider{e.p, h.New(t)}
	orders := []provider.Blueprint{e.order(1)}
	for len(orders) < 8 {
		orders = append(orders, e.rival(orders[0]))
	}
	errs := make([]error, len(orders))
	ctx := e.ctx()
	var creates sync.WaitGroup
	for i, order := range orders {
		creates.Go(func() { errs[i] = handles[i%len(handles)].Create(ctx, order) })
	}
	creates.Wait()

	var winners []provider.Blueprint
	for i, err := range errs {
		if err == nil {
			winners = append(winners, orders[i])
			continue
		}
		e.refused(fmt.Sprintf("create %d", i), err, fault.Conflict)
	}
	if len(winners) != 1 {
		t.Fatalf("%d creates won, want exactly one; errors: %v", len(winners), errs)
	}
	e.awaitPower(winners[0].Ref, fleet.PowerRunning)
	found := Named(e.list(), orders[0].Name)
	if len(found) != 1 || found[0].ID != winners[0].ID {
		t.Errorf("the listing has %+v, want only %s", found, winners[0].ID)
	}
}

func deleteOfRunningIsConflict(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	e.refused("delete of a running instance", e.p.Delete(e.ctx(), order.Ref), fault.Conflict)
	e.untouched(order)
}

func deleteLeavesNothing(t T, h Harness) {
	e := begin(t, h)
	first := e.built(1)
	e.off(first.Ref)
	e.do("delete", e.p.Delete(e.ctx(), first.Ref))
	_, err := e.p.Get(e.ctx(), first.Ref)
	e.refused("get of the deleted", err, fault.NotFound)
	if found := Named(e.list(), first.Name); len(found) != 0 {
		t.Errorf("the listing still has %+v", found)
	}
	e.do("delete again", e.p.Delete(e.ctx(), first.Ref))

	second := e.rival(first)
	e.do("create with the name that is free again", e.p.Create(e.ctx(), second))
	e.awaitInstance("the successor to run with an address", second.Ref, func(i fleet.Instance) bool {
		return i.Power == fleet.PowerRunning && i.Address.IsValid()
	})
	e.do("delete of the first, once more", e.p.Delete(e.ctx(), first.Ref))
	e.untouched(second)
}

// wrongMarkChangesNothing covers law L2: a caller with a wrong mark may not touch the instance.
func wrongMarkChangesNothing(t T, h Harness) {
	e := begin(t, h)
	running, stopped := e.built(1), e.built(2)
	e.off(stopped.Ref)
	wrongs := map[string]func(*fleet.Mark){
		"installation": func(m *fleet.Mark) { m.Installation = "another" },
		"machine":      func(m *fleet.Mark) { m.Machine = "exam-77" },
		"generation":   func(m *fleet.Mark) { m.Generation-- },
		"no mark":      func(m *fleet.Mark) { *m = fleet.Mark{} },
		"adoption":     func(m *fleet.Mark) { *m = fleet.Mark{} },
	}
	for name, spoil := range wrongs {
		on, off := running.Ref, stopped.Ref
		spoil(&on.Mark)
		spoil(&off.Mark)
		on.Adopted, off.Adopted = name == "adoption", name == "adoption"
		e.refused("power off with wrong "+name, e.p.PowerOff(e.ctx(), on), fault.Conflict)
		e.refused("reboot with wrong "+name, e.p.Reboot(e.ctx(), on), fault.Conflict)
		e.refused("certify with wrong "+name, e.p.Certify(e.ctx(), on), fault.Conflict)
		e.refused("delete with wrong "+name, e.p.Delete(e.ctx(), off), fault.Conflict)
	}
	e.untouched(running)
	seen := e.get(stopped.Ref)
	e.same("mark of the stopped instance", stopped.Mark, seen.Mark)
	e.same("power of the stopped instance", fleet.PowerOff, seen.Power)
}

// strangerIsTouchedOnlyWhenAdopted: an unmarked instance is listed like any other. Only a call that names it as adopted
// may touch it.
func strangerIsTouchedOnlyWhenAdopted(t T, h Harness) {
	e := begin(t, h)
	ours := e.built(1)
	stranger := ability[Outsider](t, h).Stranger(t, ours.Host, "stranger")
	e.awaitPower(stranger, fleet.PowerRunning)
	found := Named(e.list(), "stranger")
	if len(found) != 1 || found[0].ID != stranger.ID || found[0].Mark != (fleet.Mark{}) {
		t.Fatalf("the listing has %+v", found)
	}
	for name, mark := range map[string]fleet.Mark{"no mark": {}, "our mark": ours.Mark} {
		ref := stranger
		ref.Mark = mark
		e.refused("power off with "+name, e.p.PowerOff(e.ctx(), ref), fault.Conflict)
		e.refused("reboot with "+name, e.p.Reboot(e.ctx(), ref), fault.Conflict)
		e.refused("certify with "+name, e.p.Certify(e.ctx(), ref), fault.Conflict)
		e.refused("delete with "+name, e.p.Delete(e.ctx(), ref), fault.Conflict)
	}
	e.same("power of the stranger", fleet.PowerRunning, e.get(stranger).Power)

	stranger.Adopted, stranger.Mark = true, ours.Mark
	e.refused("power off of the adopted with a mark", e.p.PowerOff(e.ctx(), stranger), fault.Conflict)
	stranger.Mark = fleet.Mark{}
	e.do("reboot of the adopted", e.p.Reboot(e.ctx(), stranger))
	e.awaitPower(stranger, fleet.PowerRunning)
	e.do("power off of the adopted", e.p.PowerOff(e.ctx(), stranger))
	e.awaitPower(stranger, fleet.PowerOff)
	e.do("start of the adopted", e.p.Start(e.ctx(), stranger))
	e.awaitPower(stranger, fleet.PowerRunning)
	e.refused("certify of the adopted", e.p.Certify(e.ctx(), stranger), fault.Conflict)
	e.same("mark of the adopted", fleet.Mark{}, e.get(stranger).Mark)
	e.untouched(ours)
}
