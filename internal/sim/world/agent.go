package world

import "hale/internal/sim/guest"

// HearAgent returns what the agent inside the instance says to a question that comes by way of the provider, and
// whether the check of the name is said to fail. Unheard: the provider itself is not heard.
func (w *World) HearAgent(client, id, check string) guest.Answer {
	vm := w.vms[id]
	if vm == nil || w.hosts[vm.Host].silentTo(client) || w.mute(client, vm.Host) {
		return guest.Unheard
	}
	if !vm.AnswersAgent() || vm.guest.Heard().Fails(check) {
		return guest.Silence
	}
	return guest.Well
}

// StandsStill reports whether the processors of the instance do nothing, as its provider counts and tells the client.
// One that hangs otherwise spins.
func (w *World) StandsStill(client, id string) bool {
	vm := w.vms[id]
	return vm != nil && w.hosts[vm.Host].dark == 0 && !w.mute(client, vm.Host) && vm.StandsStill()
}

// mute reports whether no question of the client gets through to the host.
func (w *World) mute(client, host string) bool {
	if (&Client{Name: client, w: w}).down() {
		return true
	}
	for _, t := range w.trouble {
		if t.Reads && t.Fails >= 1 && t.Op == "" && t.Times == 0 && (t.Client == "" || t.Client == client) &&
			(t.Host == "" || t.Host == host) {
			return true
		}
	}
	return false
}

// tellGuests lets the world notice that the way to all agents may have changed.
func (w *World) tellGuests() {
	for _, h := range w.order {
		for _, vm := range h.guests {
			w.Watch.Guest(vm.ID)
		}
	}
}
