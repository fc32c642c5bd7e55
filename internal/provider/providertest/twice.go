package providertest

import (
	"fmt"
	"strings"
	"sync"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Leaver is a harness with independent hosts (provider.HostAnswer), that can make an id be on two of them.
type Leaver interface {
	HostFailer
	// LeaveBehind makes the other host list the instance, too: off, with its name, id and mark, as a migration does
	// that leaves the definition where it was. Nothing becomes of the instance itself.
	LeaveBehind(t T, ref provider.Ref, host fleet.HostName)
	// TakeAway removes what the host has of the id, which is off there, and nothing else.
	TakeAway(t T, id fleet.InstanceID, host fleet.HostName)
}

// Copier is a harness that can copy an instance as a person does, who takes the definition and changes nothing but
// what must be another one.
type Copier interface {
	// CopyOf makes a copy, under the name, on the same host, off, and removes it at the end of the test.
	CopyOf(t T, ref provider.Ref, name string) provider.Ref
}

// twice is an instance that runs on one of two independent hosts: each alone knows what is on it.
type twice struct {
	*exam
	Leaver
	order provider.Blueprint
	other fleet.HostName
}

func beginTwice(t T, h Harness) twice {
	t.Helper()
	e := begin(t, h)
	w := twice{exam: e, Leaver: ability[Leaver](t, h), order: e.built(1), other: h.Hosts()[1]}
	for _, host := range e.list().Hosts {
		if !host.Independent {
			t.Errorf("host %q has what the others have, and does not say that it is independent", host.Name)
		}
	}
	return w
}

// leave has the other host list the instance, too, until the end or the returned call.
func (w twice) leave() (takeAway func()) {
	w.Helper()
	w.LeaveBehind(w, w.order.Ref, w.other)
	takeAway = sync.OnceFunc(func() { w.TakeAway(w, w.order.ID, w.other) })
	w.Cleanup(takeAway)
	return takeAway
}

// at is a reference to what the host has of the id.
func (w twice) at(host fleet.HostName) provider.Ref {
	ref := w.order.Ref
	ref.Host = host
	return ref
}

// silence stops the host's answers, until the end or the returned call.
func (w twice) silence(host fleet.HostName) (mend func()) {
	w.Helper()
	w.FailHost(w, host)
	mend = sync.OnceFunc(func() { w.RepairHost(w, host) })
	w.Cleanup(mend)
	return mend
}

// because fails the test unless the call was refused, with the kind, on account of the host.
func (w twice) because(call string, err error, kind fault.Kind, host fleet.HostName) {
	w.Helper()
	w.refused(call, err, kind)
	if err != nil && !strings.Contains(err.Error(), string(host)) {
		w.Errorf("%s: %v does not name host %s", call, err, host)
	}
}

// none fails the test unless each order about what is off on the reference's host is refused, with the kind, on
// account of the other host.
func (w twice) none(ref provider.Ref, kind fault.Kind, host fleet.HostName) {
	w.Helper()
	said := func(call string) string { return fmt.Sprintf("%s on %s", call, ref.Host) }
	w.because(said("start"), w.p.Start(w.ctx(), ref), kind, host)
	w.because(said("power off"), w.p.PowerOff(w.ctx(), ref), kind, host)
	w.because(said("delete"), w.p.Delete(w.ctx(), ref), kind, host)
	w.refused(said("reboot"), w.p.Reboot(w.ctx(), ref), kind, fault.Conflict) // some reboot only what runs
	if k, ok := w.p.(provider.Keeper); ok && can(w.h, "Keeper") {
		w.because(said("keep"), k.Keep(w.ctx(), ref, w.order.Name), kind, host)
	}
	if r, ok := w.p.(provider.Rebuilder); ok && can(w.h, "Rebuilder") {
		order := w.order
		order.Ref = ref
		w.because(said("rebuild"), r.Rebuild(w.ctx(), order), kind, host)
	}
}

// idOnTwoHosts: no mention is lost, and as long as there are two of them nothing is done to one that is off (L1).
func idOnTwoHosts(t T, h Harness) {
	w := beginTwice(t, h)
	w.because("delete of what is elsewhere only", w.p.Delete(w.ctx(), w.at(w.other)), fault.Conflict, w.host)
	takeAway := w.leave()
	where := map[fleet.HostName]fleet.Power{}
	for _, i := range Named(w.list(), w.order.Name) {
		w.same("id on "+string(i.Host), w.order.ID, i.ID)
		where[i.Host] = i.Power
	}
	w.same("mentions", map[fleet.HostName]fleet.Power{w.host: fleet.PowerRunning, w.other: fleet.PowerOff}, where)

	w.none(w.at(w.other), fault.Conflict, w.host)
	w.untouched(w.order)
	w.same("power of the other", fleet.PowerOff, w.get(w.at(w.other)).Power)
	w.off(w.order.Ref) // which runs: there is no doubt where
	w.none(w.order.Ref, fault.Conflict, w.other)
	w.none(w.at(w.other), fault.Conflict, w.host)
	excused := w.order.Ref
	excused.Excused = []fleet.HostName{w.other}
	err := w.p.Start(w.ctx(), excused)
	w.because("start while the other host is excused, and answers", err, fault.Conflict, w.other)

	takeAway()
	w.do("start of the only one", w.p.Start(w.ctx(), w.order.Ref))
	w.awaitPower(w.order.Ref, fleet.PowerRunning)
	w.untouched(w.order)
}

// silentHostMayHaveIt: a host that does not answer may have the id, unless the caller says that it need not answer.
func silentHostMayHaveIt(t T, h Harness) {
	w := beginTwice(t, h)
	mend := w.silence(w.other)
	w.do("reboot of one that runs", w.p.Reboot(w.ctx(), w.order.Ref))
	w.awaitPower(w.order.Ref, fleet.PowerRunning)
	w.off(w.order.Ref) // which runs
	w.none(w.order.Ref, fault.Transient, w.other)
	w.same("power", fleet.PowerOff, w.get(w.order.Ref).Power)

	excused := w.order
	excused.Excused = []fleet.HostName{w.other}
	w.do("power off, with the other host excused", w.p.PowerOff(w.ctx(), excused.Ref))
	w.do("start, with the other host excused", w.p.Start(w.ctx(), excused.Ref))
	w.awaitPower(w.order.Ref, fleet.PowerRunning)
	w.untouched(w.order)
	w.off(w.order.Ref)
	w.do("delete, with the other host excused", w.p.Delete(w.ctx(), excused.Ref))
	mend()
}

// nameOnTwoHosts: a name that is taken on another host is taken, also where that host is silent.
func nameOnTwoHosts(t T, h Harness) {
	w := beginTwice(t, h)
	rival := w.on(w.order, w.other)
	w.because("create of the same name on another host", w.p.Create(w.ctx(), rival), fault.Conflict, w.host)
	same := w.order
	same.Host = w.other
	same.Name += "-other"
	w.because("create of the same id on another host", w.p.Create(w.ctx(), same), fault.Conflict, w.host)
	next := w.on(w.rival(w.order), w.other)
	w.because("create of the next instance beside one that runs", w.p.Create(w.ctx(), next), fault.Conflict, w.host)
	w.untouched(w.order)
	w.off(w.order.Ref)
	w.because("create of the name of one that is off", w.p.Create(w.ctx(), rival), fault.Conflict, w.host)

	mend := w.silence(w.host)
	w.because("create while the other host is silent", w.p.Create(w.ctx(), rival), fault.Transient, w.host)
	_, err := w.p.Get(w.ctx(), rival.Ref)
	w.refused("get of what was refused", err, fault.NotFound)
	rival.Excused = []fleet.HostName{w.host}
	w.do("create, with the other host excused", w.p.Create(w.ctx(), rival))
	w.awaitPower(rival.Ref, fleet.PowerRunning)
	mend()
	w.off(rival.Ref)
	w.do("delete", w.p.Delete(w.ctx(), rival.Ref))

	// An earlier instance that is off, and could not be removed, does not hold its machine's name on other hosts.
	w.do("create of the machine's next instance", w.p.Create(w.ctx(), next))
	w.awaitPower(next.Ref, fleet.PowerRunning)
	if k, ok := w.p.(provider.Keeper); ok && can(h, "Keeper") {
		w.do("keep of the earlier one", k.Keep(w.ctx(), w.order.Ref, w.order.Name))
		err := k.Restore(w.ctx(), w.order.Ref, w.order.Name)
		w.because("restore while another host has the name", err, fault.Conflict, w.other)
		w.untouched(next)
	}
}

// pausedOnOneHost: what is paused has its process where it is. It does not go on beside another that has its id, and
// it does go on beside a host that is silent.
func pausedOnOneHost(t T, h Harness) {
	w := beginTwice(t, h)
	takeAway := w.leave()
	ability[Pauser](t, h).Pause(t, w.order.ID)
	w.awaitPower(w.order.Ref, fleet.PowerPaused)
	w.because("start of what is paused", w.p.Start(w.ctx(), w.order.Ref), fault.Conflict, w.other)
	w.because("reboot of what is paused", w.p.Reboot(w.ctx(), w.order.Ref), fault.Conflict, w.other)
	w.because("resume", has[provider.Resumer](w.exam).Resume(w.ctx(), w.order.Ref), fault.Conflict, w.other)
	w.same("power", fleet.PowerPaused, w.get(w.order.Ref).Power)
	takeAway()
	mend := w.silence(w.other)
	w.do("resume beside a silent host", has[provider.Resumer](w.exam).Resume(w.ctx(), w.order.Ref))
	w.awaitPower(w.order.Ref, fleet.PowerRunning)
	mend()
	w.untouched(w.order)
}

// oneOfTwoHostsWins: creates for one name on several hosts, at the same time, are one instance or none.
func oneOfTwoHostsWins(t T, h Harness) {
	e := begin(t, h)
	hosts := h.Hosts()
	orders := []provider.Blueprint{e.order(1)}
	for len(orders) < 4 {
		orders = append(orders, e.on(orders[0], hosts[len(orders)%len(hosts)]))
	}
	errs := make([]error, len(orders))
	ctx := e.ctx()
	var creates sync.WaitGroup
	for i, order := range orders {
		creates.Go(func() { errs[i] = e.p.Create(ctx, order) })
	}
	creates.Wait()
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
			continue
		}
		e.refused(fmt.Sprintf("create %d", i), err, fault.Conflict)
	}
	if found := Named(e.list(), orders[0].Name); won > 1 || len(found) != won {
		t.Errorf("%d creates won, and the listing has %+v", won, found)
	}
}

// copyIsAStranger: a copy of an instance has its mark, too, and the mark names the original. So the copy is a stranger
// like any other (L2).
func copyIsAStranger(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	e.do("certify", e.p.Certify(e.ctx(), order.Ref))
	order.Mark.Certified = true
	name := order.Name + "-copy"
	theirs := ability[Copier](t, h).CopyOf(t, order.Ref, name)
	if theirs.ID == order.ID {
		t.Fatalf("the copy has the id of what it was made of, %s", order.ID)
	}
	e.awaitPower(theirs, fleet.PowerOff)
	unharmed := func() {
		found := Named(e.list(), name)
		if len(found) != 1 || found[0].ID != theirs.ID || found[0].Mark != (fleet.Mark{}) {
			t.Fatalf("the listing has %+v", found)
		}
		e.same("mark of the copy", fleet.Mark{}, e.get(theirs).Mark)
		e.untouched(order)
	}
	unharmed()
	ref := theirs
	for what, mark := range map[string]fleet.Mark{"the mark that it was copied with": order.Mark, "no mark": {}} {
		ref.Mark = mark
		e.refused("power off with "+what, e.p.PowerOff(e.ctx(), ref), fault.Conflict)
		e.refused("reboot with "+what, e.p.Reboot(e.ctx(), ref), fault.Conflict)
		e.refused("certify with "+what, e.p.Certify(e.ctx(), ref), fault.Conflict)
		e.refused("delete with "+what, e.p.Delete(e.ctx(), ref), fault.Conflict)
	}
	unharmed()
	ref.Adopted, ref.Mark = true, fleet.Mark{}
	e.do("power off of the adopted, which is off", e.p.PowerOff(e.ctx(), ref))
	unharmed()
}
