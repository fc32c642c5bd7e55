package picture

import (
	"net/netip"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Aim is where one machine is probed. Whenever its instance, its address or the machine's epoch changes, its checks
// begin anew under a new probe epoch, and what was heard before is forgotten. Epoch 0: not probed at all.
type Aim struct {
	Instance fleet.InstanceID
	Host     fleet.HostName // where the instance is; empty, too, where no check needs to know
	Address  netip.Addr     // invalid: none is known, which the checks call unknown
	// Rival is another running instance of the provider that has the address, too: an answer from there proves
	// nothing of either.
	Rival    fleet.InstanceID
	Metadata fleet.Metadata // what it bears; none, too, where no check needs to know
	Epoch    uint64         // the probe epoch, not the machine's
}

type aim struct {
	Aim
	machine uint64 // the machine's epoch
	stale   bool   // the next one is a new one in any case
}

// Aim returns where the machine is probed.
func (p *Picture) Aim(i int) Aim { return p.aims[i].Aim }

// aim points the machine's checks at where it is now, if anything about that changed.
func (p *Picture) aim(index int) {
	v, a := &p.views[index], &p.aims[index]
	if v.Machine.Current.None() {
		if a.Epoch != 0 {
			*a = aim{}
			p.tellAim(index)
		}
		return
	}
	want := aim{
		Aim: Aim{
			Instance: v.Machine.Current.ID, Host: p.hostOf(index), Address: p.addressOf(index),
			Metadata: p.metadataOf(index), Epoch: a.Epoch,
		},
		machine: v.Machine.Epoch,
	}
	want.Rival = p.rivalAt(want.Address, want.Instance)
	if *a == want && a.Epoch != 0 {
		return
	}
	p.epoch++
	want.Epoch = p.epoch
	*a = want
	v.Epoch = v.Machine.Epoch
	p.due(index)
	forget(v, fleet.ResultNone)
	p.tellAim(index)
}

func (p *Picture) tellAim(index int) {
	if p.aimed != nil {
		p.aimed(index, p.aims[index].Aim)
	}
}

// addressOf returns where the machine is probed: the provider's word, or else its last one, unless that address is
// another instance's by now.
func (p *Picture) addressOf(index int) netip.Addr {
	m := &p.views[index].Machine
	s := p.views[index].Sighting(m.Current.ID)
	if s.Asked > m.Acted && s.Instance.Address.IsValid() {
		return s.Instance.Address
	}
	if p.catalogue != nil && p.catalogue.taken(m.Address, m.Current.ID) {
		return netip.Addr{}
	}
	return m.Address
}

// rivalAt returns another running instance that has the address; empty: none, or no address.
func (p *Picture) rivalAt(a netip.Addr, owner fleet.InstanceID) fleet.InstanceID {
	if p.catalogue == nil || !a.IsValid() {
		return ""
	}
	return p.catalogue.rival(a, owner)
}

// reaim aims every machine anew while addresses are shared, or were just now: the listing of another instance changed.
func (p *Picture) reaim() {
	if !p.shared && len(p.catalogue.shared) == 0 {
		return
	}
	p.shared = len(p.catalogue.shared) > 0
	for i := range p.views {
		p.aim(i)
	}
}

// needs are what the fleet's checks must be told beside an address. What none of them is told is none of their
// business when it changes.
type needs struct{ host, metadata bool }

func needsOf(checks []*policy.Check) needs {
	var n needs
	for _, c := range checks {
		n.host = n.host || c.Kind == policy.CheckAgent || c.Exec.Asks("{host}")
		n.metadata = n.metadata || c.Exec.AsksMetadata()
	}
	return n
}

// metadataOf returns what the machine's instance bears, by the provider's last word on it.
func (p *Picture) metadataOf(index int) fleet.Metadata {
	if !p.needs.metadata {
		return ""
	}
	return p.views[index].Sighting(p.views[index].Machine.Current.ID).Instance.Metadata
}

// hostOf returns where the machine's instance is, by the provider's word.
func (p *Picture) hostOf(index int) fleet.HostName {
	if !p.needs.host {
		return ""
	}
	m := &p.views[index].Machine
	if s := p.views[index].Sighting(m.Current.ID); s.Known() && s.Instance.Power != fleet.PowerGone {
		return s.Instance.Host
	}
	return m.Current.Host
}
