package engine

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/engine/fellows"
	"hale/internal/probe"
)

// While a machine is silent, who else is heard near it matters: machines of other fleets, and the host's own address,
// which is asked for as long as that.

// hostMachine stands for a host where a target names a machine; no machine has such a name.
const hostMachine = fleet.MachineName("host")

// A host is asked often and believed quickly: what depends on it waits, and a look follows in any case.
const (
	hostEvery   = time.Second
	hostTimeout = 900 * time.Millisecond
	hostDown    = 2
)

// witnesses are what one owner asks beside its machines.
type witnesses struct {
	next    fleet.Instant // when to look again
	open    bool          // a machine was open when it was looked last
	epoch   uint64
	asked   map[fleet.HostName]netip.Addr
	answers map[fleet.HostName]bool
}

// lookBeside learns what there is to learn near the machines that are silent.
func (t *term) lookBeside(ctx context.Context, now fleet.Now) {
	open := len(t.own.Open()) > 0 || len(t.own.State().Whole.Parents) > 0
	if now.Mono < t.beside.next && (t.beside.open || !open) {
		return
	}
	t.beside.next, t.beside.open = now.Mono.Add(fellows.Every), open
	if open { // before anything is decided about a machine that fails first
		t.own.SetLots(t.fellows.Lots(t.spec.Provider, t.spec.Name))
	}
	silenced := t.own.Silenced()
	t.own.SetOthers(t.fellows.Hear(t.spec.Provider, t.spec.Name, silenced))
	t.askHosts(silenced)
	t.readMeters(ctx, now)
}

// askHosts has the hosts asked on which a machine is silent, and no others.
func (t *term) askHosts(silenced []fleet.Neighbourhood) {
	w := &t.beside
	wanted := map[fleet.HostName]netip.Addr{}
	on := make(map[fleet.HostName]bool, len(silenced))
	for _, n := range silenced {
		on[n.Host] = true
	}
	for _, h := range t.own.State().Hosts {
		if h.Address.IsValid() && on[h.Name] {
			wanted[h.Name] = h.Address
		}
	}
	for h, a := range w.asked {
		if wanted[h] != a {
			t.probes.Remove(hostID(h))
			delete(w.asked, h)
			delete(w.answers, h)
		}
	}
	for h, a := range wanted {
		if _, already := w.asked[h]; already {
			continue
		}
		if w.asked == nil {
			w.asked, w.answers = map[fleet.HostName]netip.Addr{}, map[fleet.HostName]bool{}
		}
		w.epoch++
		w.asked[h] = a
		t.probes.Set(probe.Target{ID: hostID(h), Address: a, Epoch: w.epoch, Spec: &policy.Check{
			Name: hostID(h).Check, Kind: policy.CheckPing, Every: hostEvery, Timeout: hostTimeout,
			DownAfter: hostDown, UpAfter: 1,
		}})
	}
	t.tellAnswers()
}

func hostID(h fleet.HostName) probe.ID {
	return probe.ID{Machine: hostMachine, Check: fleet.CheckName(h)}
}

// hearHost takes in what a host says.
func (t *term) hearHost(e probe.Edge) {
	host := fleet.HostName(e.Check)
	if _, asked := t.beside.asked[host]; !asked || t.own.Deaf() {
		return
	}
	t.beside.answers[host] = e.Standing == fleet.StandingUp
	t.tellAnswers()
}

func (t *term) tellAnswers() {
	var up []fleet.HostName
	for h, answers := range t.beside.answers {
		if answers {
			up = append(up, h)
		}
	}
	slices.Sort(up)
	t.own.SetAnswers(up)
}
