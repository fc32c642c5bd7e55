package world

import (
	"slices"
	"time"
)

// How long a power controller takes to turn its host off, and to be believed.
const (
	fenceLeast = 3 * time.Second
	fenceMost  = 8 * time.Second
)

// cutPower lets the caller have a host's power cut, or its access. It goes over a network of its own and not by the
// provider. Its machines are off then, of all fleets, and stay so until the host is back; or they run on, and neither
// write nor are heard.
func (w *World) cutPower(call *Call, limit time.Duration, answer func(End)) {
	h := w.hosts[call.Host]
	if h == nil || call.Try < 1 || call.Try > h.Fence+h.Cut {
		w.After(w.options.Latency, func() { answer(Permanent) })
		return
	}
	if call.Try <= h.Fence && h.dead > 0 || call.Try <= h.firstTries() && h.deadFirst > 0 || call.Try > h.Fence &&
		h.deaf > 0 {
		w.After(limit, func() { answer(Transient) })
		return
	}
	took := w.between(fenceLeast, fenceMost)
	w.After(took, func() {
		call.At = w.Now()
		if call.Try > h.Fence {
			call.Effect, call.End = w.takeAccess(h)
		} else {
			call.Effect, call.End = w.takePower(h)
		}
		w.Watch.Acted(call)
		if h.mute == 0 && took < limit {
			answer(call.End)
		}
	})
	if h.mute > 0 || took >= limit {
		w.After(limit, func() { answer(Lost) })
	}
}

// firstTries is how many of the tries to cut its power are the first power controller's, where it has two.
func (h *host) firstTries() int { return h.Fence / 2 }

func (w *World) takePower(h *host) (effect bool, end End) {
	if h.cut {
		return false, AlreadyOff
	}
	h.cut = true
	for _, vm := range slices.Clone(h.guests) {
		if vm.on() {
			w.setPower(vm, Off, StopUnknown)
		}
	}
	return true, Done
}

// SaidOff reports whether the host's power controller says that it is off.
func (w *World) SaidOff(name string) bool {
	h := w.hosts[name]
	return h != nil && h.Fence > 0 && h.dead+h.mute == 0 && h.cut
}

// TurnOff turns the domain's hosts off at their power controllers, as another operator does. When it is lifted they are
// on again, and what was on them stays off.
func (w *World) TurnOff(d Domain) (lift func()) {
	lift = w.Darkness(d)
	for _, h := range w.order {
		if h.in(d) {
			w.takePower(h)
		}
	}
	return lift
}

func (w *World) takeAccess(h *host) (effect bool, end End) {
	if h.apart {
		return false, AlreadyCut
	}
	w.setApart(h, true)
	return true, IsCut
}

func (w *World) setApart(h *host, apart bool) {
	h.apart = apart
	for _, vm := range slices.Clone(h.guests) {
		w.count(vm)
		w.refresh(vm)
	}
}

// CutAccess cuts the domain's hosts from storage and network, as a person does.
func (w *World) CutAccess(d Domain) (lift func()) {
	w.apart(d, true)
	return func() { w.apart(d, false) }
}

// GiveAccess gives the domain's hosts back what was cut, by whichever caller.
func (w *World) GiveAccess(d Domain) { w.apart(d, false) }

func (w *World) apart(d Domain, apart bool) {
	for _, h := range w.order {
		if h.in(d) {
			w.setApart(h, apart)
		}
	}
}

// Access says whether the host reaches anything, in the word of who can cut that; known: they answer.
func (w *World) Access(name string) (open, known bool) {
	h := w.hosts[name]
	return h != nil && !h.apart, h != nil && h.Cut > 0 && h.deaf == 0
}

// healthyOn reports whether anybody is healthy on the host.
func (w *World) healthyOn(host string) bool {
	h := w.hosts[host]
	return h != nil && slices.ContainsFunc(h.guests, w.Healthy)
}

// DeadController keeps the power controllers of the domain's hosts silent.
func (w *World) DeadController(d Domain) (lift func()) {
	return w.controllers(d, func(h *host, by int) { h.dead += by })
}

// DeadFirst keeps the first of two power controllers of each of the domain's hosts silent.
func (w *World) DeadFirst(d Domain) (lift func()) {
	return w.controllers(d, func(h *host, by int) { h.deadFirst += by })
}

// DeafCut silences the methods that cut the access of the domain's hosts.
func (w *World) DeafCut(d Domain) (lift func()) {
	return w.controllers(d, func(h *host, by int) { h.deaf += by })
}

// MuteController loses what they answer to an order, which takes effect.
func (w *World) MuteController(d Domain) (lift func()) {
	return w.controllers(d, func(h *host, by int) { h.mute += by })
}

func (w *World) controllers(d Domain, change func(h *host, by int)) (lift func()) {
	var hit []*host
	for _, h := range w.order {
		if h.in(d) {
			hit = append(hit, h)
			change(h, 1)
		}
	}
	return func() {
		for _, h := range hit {
			change(h, -1)
		}
	}
}
