package simulated

import (
	"time"

	"hale/internal/fleet"
)

// Symptom is how an ill guest behaves. The provider reports such a guest as running.
type Symptom string

// The symptoms.
const (
	NeverBoots  Symptom = "never-boots"  // it has an address, but nothing behind it ever answers
	BootsSlowly Symptom = "boots-slowly" // its boots, and its addresses, take Illness.Delay longer
	NoAddress   Symptom = "no-address"   // it has none, so nothing reaches it
	NoNetwork   Symptom = "no-network"   // pings and connections are lost
	Hung        Symptom = "hung"         // the same, and it does not listen to its provider either
	Halted      Symptom = "halted"       // the same, and its processors stand still
	NoHTTP      Symptom = "no-http"      // connections are refused; pings are answered
	HTTPStatus  Symptom = "http-status"  // it answers with Illness.Status
	HTTPHangs   Symptom = "http-hangs"   // it accepts connections and never answers
	WrongPage   Symptom = "wrong-page"   // its pages say something else
	CheckFails  Symptom = "check-fails"  // it fails the check named Illness.Check, of Options.Checks: its port refuses, its program ends with 2
	LosesProbes Symptom = "loses-probes" // Illness.Share of the probes is lost; it serves its users all the same
	AgentMute   Symptom = "agent-mute"   // its agent answers nothing, and all else is well
	AgentLies   Symptom = "agent-lies"   // its agent answers in whatever state the guest is, as long as that is on
)

// Cure is what makes a guest well again.
type Cure string

// The cures. A recreated machine is well unless NextBuilds says otherwise.
const (
	ByReboot   Cure = "reboot"   // the next power on
	ByRecreate Cure = "recreate" // nothing but a new instance
	ByCommand  Cure = "command"  // a command that applies its configuration again, or a new instance
)

// Illness is what is wrong with a guest.
type Illness struct {
	Symptom Symptom
	Cure    Cure            // default: ByReboot; for BootsSlowly ByRecreate
	Status  int             // HTTPStatus
	Delay   time.Duration   // BootsSlowly
	Share   float64         // LosesProbes: how likely each is lost, 0 to 1
	Check   fleet.CheckName // CheckFails

	from *injection
}

// caught returns the illness with its default filled in, as brought by the injection.
func (i Illness) caught(in *injection) Illness {
	i.from = in
	if i.Cure == "" {
		i.Cure = ByReboot
		if i.Symptom == BootsSlowly {
			i.Cure = ByRecreate
		}
	}
	return i
}

// Broken makes a guest ill until it is cured or the fault is lifted.
type Broken struct {
	Instance fleet.InstanceID
	Illness
}

func (f Broken) strike(w *World, in *injection, now time.Time) error {
	g, err := w.find(f.Instance)
	if err != nil {
		return err
	}
	w.fallIll(g, now, f.Illness.caught(in))
	in.undo = func(now time.Time) { w.recover(g, in, now) }
	return nil
}

// NextBuilds makes instances ill from their creation on, as a bad template does. Those built stay ill when it is lifted.
type NextBuilds struct {
	Machine fleet.MachineName // empty: any
	Image   string            // of the template that they are built from; empty: any
	Times   int               // how many; 0: until lifted
	Illness
}

func (f NextBuilds) strike(w *World, in *injection, _ time.Time) error { //nolint:unparam // Fault's signature: others can fail
	w.keep(in, f.Times)
	return nil
}

// infect makes a guest that was just created as ill as NextBuilds demands.
func (w *World) infect(g *guest, now time.Time) {
	for _, in := range w.active {
		f, ok := in.fault.(NextBuilds)
		if !ok || in.left == 0 || f.Machine != "" && f.Machine != g.bears().Machine || f.Image != "" && f.Image != g.life.Image {
			continue
		}
		in.spend()
		w.fallIll(g, now, f.Illness.caught(in))
	}
	g.schedule(now, w.options)
	g.remember(now)
}

// Crash ends the guest as a killed process does: off, StopCrash.
type Crash struct{ Instance fleet.InstanceID }

func (f Crash) strike(w *World, _ *injection, now time.Time) error {
	return w.turn(f.Instance, now, fleet.PowerOff, fleet.StopCrash)
}

// Panic ends the guest's kernel. Remains says what the provider makes of it: PowerCrashed (the default) keeps the
// remains, PowerOff removes them, PowerRunning boots the guest again.
type Panic struct {
	Instance fleet.InstanceID
	Remains  fleet.Power
}

func (f Panic) strike(w *World, _ *injection, now time.Time) error {
	switch f.Remains {
	case fleet.PowerRunning:
		g, err := w.find(f.Instance)
		if err != nil {
			return err
		}
		w.powerOn(g, now)
		return nil
	case fleet.PowerOff:
		return w.turn(f.Instance, now, fleet.PowerOff, fleet.StopCrash)
	case fleet.PowerCrashed, fleet.PowerUnknown, fleet.PowerPaused, fleet.PowerError, fleet.PowerGone: // as the default
	}
	return w.turn(f.Instance, now, fleet.PowerCrashed, fleet.StopCrash)
}

// GuestPowersOff is a shutdown from within: off, StopGuest.
type GuestPowersOff struct{ Instance fleet.InstanceID }

func (f GuestPowersOff) strike(w *World, _ *injection, now time.Time) error {
	return w.turn(f.Instance, now, fleet.PowerOff, fleet.StopGuest)
}

// PersonPowersOff is a stop that somebody else than hale ordered at the provider: off, StopExternal.
type PersonPowersOff struct{ Instance fleet.InstanceID }

func (f PersonPowersOff) strike(w *World, _ *injection, now time.Time) error {
	return w.turn(f.Instance, now, fleet.PowerOff, fleet.StopExternal)
}

// PersonShutsDown is what virsh shutdown does: off, StopShutdown.
type PersonShutsDown struct{ Instance fleet.InstanceID }

func (f PersonShutsDown) strike(w *World, _ *injection, now time.Time) error {
	return w.turn(f.Instance, now, fleet.PowerOff, fleet.StopShutdown)
}

// PersonMends is what somebody does to a guest that was left to a person: whatever ails it is gone, and it boots, off or not.
type PersonMends struct{ Instance fleet.InstanceID }

func (f PersonMends) strike(w *World, _ *injection, now time.Time) error {
	g, err := w.find(f.Instance)
	if err != nil {
		return err
	}
	g.ills = nil
	w.powerOn(g, now)
	return nil
}

// Paused suspends the guest; when lifted it goes on, if it is still suspended.
type Paused struct {
	Instance fleet.InstanceID
	// By says who did it: a person (StopExternal, or StopUnknown), the guest (StopGuest), or the provider, because a write to
	// the disk failed (StopIOError).
	By fleet.Stop
}

func (f Paused) strike(w *World, in *injection, now time.Time) error {
	g, err := w.find(f.Instance)
	if err != nil {
		return err
	}
	in.undo = func(now time.Time) {
		if g.power == fleet.PowerPaused {
			w.setPower(g, now, fleet.PowerRunning, fleet.StopUnknown)
		}
	}
	w.setPower(g, now, fleet.PowerPaused, f.By)
	return nil
}

// Vanishes removes the guest with all that it had, as an undefine by somebody else does.
type Vanishes struct{ Instance fleet.InstanceID }

func (f Vanishes) strike(w *World, _ *injection, now time.Time) error {
	g, err := w.find(f.Instance)
	if err != nil {
		return err
	}
	w.remove(g, now)
	return nil
}

// NewAddress gives the guest another address from the DHCP at once.
type NewAddress struct{ Instance fleet.InstanceID }

func (f NewAddress) strike(w *World, _ *injection, now time.Time) error {
	g, err := w.find(f.Instance)
	if err != nil {
		return err
	}
	g.silence()
	w.lease(g)
	g.remember(now)
	return nil
}

// SameAddress gives the guest the address that another one has and keeps, as where networks of two hosts overlap: who
// asks there reaches the other one.
type SameAddress struct{ Instance, As fleet.InstanceID }

func (f SameAddress) strike(w *World, _ *injection, now time.Time) error {
	g, err := w.find(f.Instance)
	if err != nil {
		return err
	}
	other, err := w.find(f.As)
	if err != nil {
		return err
	}
	g.silence()
	w.giveUp(g)
	g.address = other.address
	w.sharers[g.address] = append(w.sharers[g.address], g)
	g.remember(now)
	return nil
}

// turn changes the guest's power behind the provider's back.
func (w *World) turn(id fleet.InstanceID, now time.Time, power fleet.Power, stop fleet.Stop) error {
	g, err := w.find(id)
	if err != nil {
		return err
	}
	w.setPower(g, now, power, stop)
	return nil
}
