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

// cutPower lets the caller have a host's power cut. It goes over a network of its own and not by the provider. Its machines are off then, whoever they
// belong to, and stay so until the host is back.
func (w *World) cutPower(call Call, limit time.Duration, answer func(End)) {
	h := w.hosts[call.Host]
	if h == nil || h.Fence == 0 {
		w.After(w.options.Latency, func() { answer(Permanent) })
		return
	}
	if h.dead > 0 {
		w.After(limit, func() { answer(Transient) })
		return
	}
	took := w.between(fenceLeast, fenceMost)
	w.After(took, func() {
		call.At = w.now
		call.End = AlreadyOff
		if !h.cut {
			h.cut, call.Effect, call.End = true, true, Done
			for _, vm := range slices.Clone(h.guests) {
				if vm.on() {
					w.setPower(vm, Off, StopCrash)
				}
			}
		}
		if w.Watch != nil {
			w.Watch.Acted(&call)
		}
		if h.mute == 0 && took < limit {
			answer(call.End)
		}
	})
	if h.mute > 0 || took >= limit {
		w.After(limit, func() { answer(Lost) })
	}
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
