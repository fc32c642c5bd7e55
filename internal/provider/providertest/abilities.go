package providertest

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// Pauser is a harness with a provider.Resumer, that can pause an instance behind its back, as a person does.
type Pauser interface {
	Pause(t T, id fleet.InstanceID)
}

// Listener is a harness with a provider.SoftRebooter, and guests that do what their power button says.
type Listener interface {
	// Boot returns what is another with each boot of the guest, once it has booted.
	Boot(t T, ref provider.Ref) string
	// Deafen lets the guest ignore its power button until it is reset.
	Deafen(t T, id fleet.InstanceID)
}

// DiskTeller is a harness with a provider.Rebuilder, and guests with disks that count their boots.
type DiskTeller interface {
	// DiskBoots returns the count, once the guest has booted.
	DiskBoots(t T, ref provider.Ref) int
}

// Speaker is a harness with a provider.GuestPinger, and guests that have an agent.
type Speaker interface {
	// Mute silences the agent of the instance's guest until the guest boots again.
	Mute(t T, id fleet.InstanceID)
}

// Halter is a harness with a provider.MeterReader.
type Halter interface {
	// Halt lets the processors of the instance's guest do nothing any more, until it is reset, while it runs on.
	Halt(t T, id fleet.InstanceID)
}

// Counted is a harness with a provider.UsageReader.
type Counted interface {
	// Counts are what it tells of an instance that has an address, in the course of its patience.
	Counts() []policy.Usage
}

// has returns the provider with the further ability that the harness says it has.
func has[A any](e *exam) A {
	e.Helper()
	able, ok := e.p.(A)
	if !ok {
		e.Fatalf("the harness says what the provider %T does not have", e.p)
	}
	return able
}

func pausedGoesOn(t T, h Harness) {
	e := begin(t, h)
	order, able := e.built(1), has[provider.Resumer](e)
	before := e.awaitInstance("an address", order.Ref, func(i fleet.Instance) bool { return i.Address.IsValid() })
	e.do("resume of a running instance", able.Resume(e.ctx(), order.Ref))
	ability[Pauser](t, h).Pause(t, order.ID)
	seen := e.awaitPower(order.Ref, fleet.PowerPaused)
	if seen.Stop == fleet.StopGuest || seen.Stop == fleet.StopIOError {
		t.Errorf("a person's pause is said to be by %q", seen.Stop)
	}
	e.do("resume", able.Resume(e.ctx(), order.Ref))
	seen = e.awaitPower(order.Ref, fleet.PowerRunning)
	e.same("who stopped it", fleet.StopUnknown, seen.Stop)
	if seen.Address != before.Address {
		t.Errorf("it goes on at %v, and was at %v", seen.Address, before.Address)
	}
	e.untouched(order)

	e.off(order.Ref)
	e.refused("resume of an instance that is off", able.Resume(e.ctx(), order.Ref), fault.Conflict)
	e.same("power", fleet.PowerOff, e.get(order.Ref).Power)
	e.refused("resume of an absent instance", able.Resume(e.ctx(), e.order(2).Ref), fault.NotFound)
}

func askedToReboot(t T, h Harness) {
	e := begin(t, h)
	order, able, guest := e.built(1), has[provider.SoftRebooter](e), ability[Listener](t, h)
	first := guest.Boot(t, order.Ref)
	e.do("soft reboot", able.RebootSoft(e.ctx(), order.Ref))
	e.await("another boot", func() (string, bool) {
		now := guest.Boot(t, order.Ref)
		return now, now != first
	})
	e.untouched(order)

	wrong := order.Ref
	wrong.Mark.Generation++
	e.refused("soft reboot with a wrong mark", able.RebootSoft(e.ctx(), wrong), fault.Conflict)
	second := guest.Boot(t, order.Ref)
	guest.Deafen(t, order.ID)
	e.do("soft reboot of a guest that does not listen", able.RebootSoft(e.ctx(), order.Ref))
	e.stays("a guest that does not listen", func() (string, bool) {
		seen := e.get(order.Ref)
		return string(seen.Power), seen.Power == fleet.PowerRunning
	})
	e.do("reboot", e.p.Reboot(e.ctx(), order.Ref))
	e.await("the boot after the reset", func() (string, bool) {
		now := guest.Boot(t, order.Ref)
		return now, now != second
	})

	e.off(order.Ref)
	e.refused("soft reboot of an instance that is off", able.RebootSoft(e.ctx(), order.Ref), fault.Conflict)
	e.same("power", fleet.PowerOff, e.get(order.Ref).Power)
}

func rebuiltOnANewDisk(t T, h Harness) {
	e := begin(t, h)
	order, able, disk := e.built(1), has[provider.Rebuilder](e), ability[DiskTeller](t, h)
	disk.DiskBoots(t, order.Ref)
	before := e.awaitInstance("an address", order.Ref, func(i fleet.Instance) bool { return i.Address.IsValid() })
	e.refused("rebuild of a running instance", able.Rebuild(e.ctx(), order), fault.Conflict)
	e.do("reboot", e.p.Reboot(e.ctx(), order.Ref))
	e.await("the second boot from the disk", func() (string, bool) {
		n := disk.DiskBoots(t, order.Ref)
		return strconv.Itoa(n), n == 2
	})
	e.off(order.Ref)
	wrong := order
	wrong.Mark.Generation++
	e.refused("rebuild with a wrong mark", able.Rebuild(e.ctx(), wrong), fault.Conflict)
	e.same("power", fleet.PowerOff, e.get(order.Ref).Power)
	e.do("rebuild", able.Rebuild(e.ctx(), order))
	seen := e.awaitInstance("it to run with an address", order.Ref, func(i fleet.Instance) bool {
		return i.Power == fleet.PowerRunning && i.Address.IsValid()
	})
	if seen.Address != before.Address {
		t.Errorf("it is at %v, and was at %v", seen.Address, before.Address)
	}
	e.untouched(order)
	if n := disk.DiskBoots(t, order.Ref); n != 1 {
		t.Errorf("its disk was booted from %d times, so it is not a new one", n)
	}
	e.off(order.Ref)
	e.do("delete after a rebuild", e.p.Delete(e.ctx(), order.Ref))
}

// pingTime is how long the guest's agent gets for one answer.
const pingTime = 2 * time.Second

// ping asks the agent once. It needs no mark.
func (e *exam) ping(able provider.GuestPinger, ref provider.Ref) error {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), pingTime)
	defer cancel()
	return able.PingGuest(ctx, provider.Ref{ID: ref.ID, Host: ref.Host})
}

func agentIsAsked(t T, h Harness) {
	e := begin(t, h)
	order, able := e.built(1), has[provider.GuestPinger](e)
	answers := func() (string, bool) {
		err := e.ping(able, order.Ref)
		return fmt.Sprint(err), err == nil
	}
	e.await("the agent of a guest that boots", answers)
	ability[Speaker](t, h).Mute(t, order.ID)
	e.await("silence", func() (string, bool) {
		err := e.ping(able, order.Ref)
		return fmt.Sprint(err), fault.Is(err, fault.Conflict)
	})
	e.refused("ping of a silent agent", e.ping(able, order.Ref), fault.Conflict)
	e.untouched(order)
	e.do("reboot", e.p.Reboot(e.ctx(), order.Ref))
	e.await("the agent after a reboot", answers)

	e.off(order.Ref)
	e.refused("ping of an instance that is off", e.ping(able, order.Ref), fault.Conflict)
	e.refused("ping of an absent instance", e.ping(able, e.order(2).Ref), fault.NotFound)
}

func frozenSaysNothing(t T, h Harness) {
	e := begin(t, h)
	order, able, freezer := e.built(1), has[provider.GuestPinger](e), ability[Freezer](t, h)
	e.await("the agent of a guest that boots", func() (string, bool) {
		err := e.ping(able, order.Ref)
		return fmt.Sprint(err), err == nil
	})
	freezer.Freeze(t)
	e.refused("ping through a frozen provider", e.ping(able, order.Ref), fault.Transient)
	freezer.Thaw(t)
	e.await("the agent again", func() (string, bool) {
		err := e.ping(able, order.Ref)
		return fmt.Sprint(err), err == nil
	})
}

// meter reads the counters, and bears no mark.
func (e *exam) meter(able provider.MeterReader, ref provider.Ref) (provider.Meter, error) {
	e.Helper()
	return able.Meter(e.ctx(), provider.Ref{ID: ref.ID, Host: ref.Host})
}

// metersTell: the counters of a guest that idles move within less than StillAfter, those of one that halted do not.
func metersTell(t T, h Harness) {
	e := begin(t, h)
	order, able := e.built(1), has[provider.MeterReader](e)
	e.awaitInstance("an address", order.Ref, func(i fleet.Instance) bool { return i.Address.IsValid() })
	moves := func() {
		t.Helper()
		first, err := e.meter(able, order.Ref)
		e.do("reading", err)
		e.rest(provider.StillAfter / 2)
		second, err := e.meter(able, order.Ref)
		e.do("reading again", err)
		if first == second {
			t.Errorf("a guest that idles seems to stand still: %s", first)
		}
	}
	moves()
	ability[Halter](t, h).Halt(t, order.ID)
	var last provider.Meter
	e.await("it to stand still", func() (string, bool) {
		was := last
		e.rest(time.Second)
		var err error
		last, err = e.meter(able, order.Ref)
		return fmt.Sprint(last, err), err == nil && last == was
	})
	e.rest(provider.StillAfter)
	if now, err := e.meter(able, order.Ref); err != nil || now != last {
		t.Errorf("a guest that halted moves from %s to %s, %v", last, now, err)
	}
	e.same("power", fleet.PowerRunning, e.get(order.Ref).Power)
	e.untouched(order)
	e.do("reboot", e.p.Reboot(e.ctx(), order.Ref))
	e.awaitPower(order.Ref, fleet.PowerRunning)
	moves()

	e.off(order.Ref)
	_, err := e.meter(able, order.Ref)
	e.refused("reading one that is off", err, fault.Conflict)
	_, err = e.meter(able, e.order(2).Ref)
	e.refused("reading an absent instance", err, fault.NotFound)
}

// usageTells: what an instance uses is known while it runs, and within what there can be.
func usageTells(t T, h Harness) {
	e := begin(t, h)
	order, able := e.built(1), has[provider.UsageReader](e)
	off := e.built(2)
	e.off(off.Ref)
	e.awaitInstance("an address", order.Ref, func(i fleet.Instance) bool { return i.Address.IsValid() })
	refs := []provider.Ref{{ID: order.ID, Host: order.Host}, {ID: off.ID, Host: off.Host}, e.order(3).Ref}
	read := func() (all map[fleet.InstanceID]provider.Usage) {
		t.Helper()
		all, err := able.Usage(e.ctx(), refs)
		e.do("usage", err)
		return all
	}
	for _, kind := range ability[Counted](t, h).Counts() {
		var first provider.Usage
		e.await("its "+string(kind), func() (string, bool) {
			first = read()[order.ID]
			_, tells := first.Of[kind]
			return fmt.Sprintf("%+v", first), tells
		})
		e.rest(2 * time.Second)
		second := read()[order.ID]
		was, is := first.Of[kind], second.Of[kind]
		amount, took := is.Value, second.At.Sub(first.At).Seconds()
		if is.Counts {
			amount = (is.Value - was.Value) / took
		}
		percent := kind == policy.UsageCPU || kind == policy.UsageMemory
		const rounded = 110 // a counter in steps may be a little ahead
		if amount < 0 || is.Counts != was.Counts || took <= 0 || percent && amount > rounded {
			t.Errorf("its %s is %v, from %+v to %+v", kind, amount, first, second)
		}
	}
	all := read()
	if _, told := all[off.ID]; told || len(all) != 1 {
		t.Errorf("of one that runs, one that is off and one that is not there it tells %+v", all)
	}
	ended, cancel := context.WithCancel(e.ctx())
	cancel()
	_, err := able.Usage(ended, refs)
	e.refused("usage", err, fault.Transient)
	e.untouched(order)
}

// rest lets the time pass.
func (e *exam) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.Context().Done():
	}
}
