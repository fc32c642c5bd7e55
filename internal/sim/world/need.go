package world

import (
	"slices"
	"time"
)

// Need is what a machine lacks, by truth, to serve its users.
type Need string

// The needs.
const (
	NeedsNothing  Need = ""         // it serves, or comes up by itself
	NeedsWay      Need = "way"      // the network to it is broken
	NeedsPower    Need = "power"    // it is off, and would come up
	NeedsResume   Need = "resume"   // it is paused
	NeedsReset    Need = "reset"    // a boot cures it
	NeedsConfig   Need = "config"   // its configuration must be applied again, or it be made anew
	NeedsAnew     Need = "anew"     // what stands there comes up no more: another disk, or another instance
	NeedsInstance Need = "instance" // there is none
	NeedsSomebody Need = "somebody" // its provider or a person keeps it from running
	NeedsUnlocked Need = "unlocked" // its provider refuses everything until a person says otherwise
)

// Needs returns what the machine's instance lacks; nil: there is none.
func (w *World) Needs(vm *VM) Need {
	switch {
	case vm == nil || vm.Power == Gone:
		return NeedsInstance
	case w.severed(vm):
		return NeedsWay
	case vm.serving:
		return NeedsNothing
	case vm.Locked():
		return NeedsUnlocked
	case vm.Power == Paused && (vm.Stop == StopIOError || vm.Stop == StopRescue):
		return NeedsSomebody
	case vm.Power == Paused:
		return NeedsResume
	case vm.guest.NeedsAnew():
		return NeedsAnew
	case vm.guest.NeedsConfig():
		return NeedsConfig
	case vm.Power == Off:
		return NeedsPower
	case vm.Power == Crashed || vm.guest.Harmed():
		return NeedsReset
	}
	return NeedsNothing
}

// Obeys reports whether the host, or any if it is empty and there are others, carries out what everybody orders: its
// control plane answers, and the provider lets calls of the kind through.
func (w *World) Obeys(name string, op Op) bool {
	if slices.ContainsFunc(w.cutoffs, func(o *cutoff) bool { return o.client == "" }) {
		return false
	}
	refused := func(h *host) bool {
		return h.dark > 0 || h.apart || slices.ContainsFunc(w.trouble, func(t *troubled) bool {
			return t.Fails >= 1 && t.Client == "" && t.Times == 0 && (t.Host == "" || t.Host == h.Name) &&
				(t.Op == "" || t.Op == op)
		})
	}
	if h := w.hosts[name]; h != nil {
		return !refused(h)
	}
	return slices.ContainsFunc(w.order, func(h *host) bool { return !refused(h) })
}

// Spoiled reports whether what is built of the machine now comes up ill, wherever it is built.
func (w *World) Spoiled(machine string) bool {
	return slices.ContainsFunc(w.builds, func(b *badBuilds) bool {
		return (b.Machine == "" || b.Machine == machine) && b.Host == ""
	})
}

// Pace returns how long a call and a boot take on average.
func (w *World) Pace() (call, boot time.Duration) {
	return (w.options.Latency + w.options.LatencyMost) / 2, (w.options.Boot + w.options.BootMost) / 2
}
