package beside

import (
	"net/netip"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

// hostMachine stands for a host where a target names a machine; no machine has such a name.
const hostMachine = fleet.MachineName("host")

// A host is asked often and believed quickly: what depends on it waits, and a look follows in any case.
const (
	hostEvery   = time.Second
	hostTimeout = 900 * time.Millisecond
	hostDown    = 2
)

// Hosts are those on which a machine is silent, asked at their own address for as long as that. The zero value asks
// none.
type Hosts struct {
	epoch   uint64
	asked   map[fleet.HostName]netip.Addr
	answers map[fleet.HostName]bool
}

// Ask has these hosts asked, and no others.
func (h *Hosts) Ask(probes probe.Engine, wanted map[fleet.HostName]netip.Addr) {
	for name, a := range h.asked {
		if wanted[name] != a {
			probes.Remove(hostID(name))
			delete(h.asked, name)
			delete(h.answers, name)
		}
	}
	for name, a := range wanted {
		if _, already := h.asked[name]; already {
			continue
		}
		if h.asked == nil {
			h.asked, h.answers = map[fleet.HostName]netip.Addr{}, map[fleet.HostName]bool{}
		}
		h.epoch++
		h.asked[name] = a
		probes.Set(probe.Target{ID: hostID(name), Address: a, Epoch: h.epoch, Spec: &policy.Check{
			Name: hostID(name).Check, Kind: policy.CheckPing, Every: hostEvery, Timeout: hostTimeout,
			DownAfter: hostDown, UpAfter: 1,
		}})
	}
}

func hostID(h fleet.HostName) probe.ID {
	return probe.ID{Machine: hostMachine, Check: fleet.CheckName(h)}
}

// Hear takes in what a host says, and reports whether it was asked.
func (h *Hosts) Hear(e probe.Edge) bool {
	host := fleet.HostName(e.Check)
	if _, asked := h.asked[host]; !asked {
		return false
	}
	h.answers[host] = e.Standing == fleet.StandingUp
	return true
}

// Forget lets go what they said.
func (h *Hosts) Forget() { clear(h.answers) }

// Answering are those that answer.
func (h *Hosts) Answering() []fleet.HostName {
	var up []fleet.HostName
	for name, answers := range h.answers {
		if answers {
			up = append(up, name)
		}
	}
	slices.Sort(up)
	return up
}
