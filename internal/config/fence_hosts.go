package config

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// hostFences reads which methods belong to a host.
func hostFences() keys.Field[kinds.HostDraft] {
	return keys.May("fence", "How its power is cut: methods under fences, in the order in which they are tried. "+
		"Without it, nothing can prove that a host which does not answer is off.",
		keys.List[string]{Noun: "one method", Each: keys.Name()},
		func(h *kinds.HostDraft) *keys.At[[]keys.At[string]] { return &h.Fence })
}

// mostFenceDelay is the longest for which a host is left as it is before it is fenced.
const mostFenceDelay = 5 * time.Minute

// hostFenceDelay reads for how long a host is left as it is.
func hostFenceDelay() keys.Field[kinds.HostDraft] {
	return keys.Or("fence_delay", 0, "For how long hale leaves a host that does not answer as it is before it is "+
		"fenced, and then looks once more. Where two hales that know nothing of one another could turn off each "+
		"other's host, give the one that matters more the longer time, and both hales the same file: then only "+
		"one shoots.",
		keys.Duration(0, mostFenceDelay), func(h *kinds.HostDraft) *keys.At[time.Duration] { return &h.FenceDelay })
}

// fencePriority reads how much later the hosts of a fleet are fenced.
func fencePriority() keys.Field[providerDraft] {
	return keys.May("fence_priority", "By fleet, how much longer than its fence_delay a host is left as it is on "+
		"which one of the fleet's machines was seen running last, whichever hale looks after that fleet: of two "+
		"hales that turn off each other's host, the one beside what matters more is to survive. Of several fleets on "+
		"a host the longest counts, and after a start of hale, until the host was seen, the longest of all. Make it "+
		"more than twice the longest fence_delay.",
		keys.Mapping[time.Duration]{Key: "FLEET", Each: keys.Duration(0, mostFenceDelay)},
		func(p *providerDraft) *keys.At[[]keys.Named[time.Duration]] { return &p.weights }).Said("none")
}

// hostsWord is what is done with a host that does not answer.
type hostsWord string

const (
	hostsHold hostsWord = "hold"
	hostsOff  hostsWord = "off"
)

// wordWord is what a person's word about a host is worth.
type wordWord string

const (
	wordTake   wordWord = "take"
	wordRefuse wordWord = "refuse"
)

func fenceHosts() keys.Field[fenceDraft] {
	return keys.Or("hosts", hostsHold, "What to do when a host does not answer, and none of the machines that hale "+
		"knows on it does. `hold`: leave its machines alone, and tell a person. `off`: cut the host's power, by the "+
		"methods in providers.PROVIDER.hosts[].fence, and recreate the machines elsewhere. That turns "+
		"everything off on it.",
		keys.Choice(nil, hostsHold, hostsOff), func(f *fenceDraft) *keys.At[hostsWord] { return &f.hosts })
}

func fenceWord() keys.Field[fenceDraft] {
	return keys.Or("word", wordRefuse, "What a person's word is worth that a host is off (`hale fence confirm`). "+
		"`refuse`: nothing. `take`: as much as confirmed-off.",
		keys.Choice(nil, wordRefuse, wordTake), func(f *fenceDraft) *keys.At[wordWord] { return &f.word })
}

// assignFences gives the hosts of a provider their methods. One that cannot tell hosts apart belongs to one host only:
// it would cut the power of the wrong one.
func assignFences(n keys.Named[providerDraft], hosts []kinds.Host, methods []Fence, taken map[string]string,
	f *keys.Finder) {
	delays(n.Value.hosts.Value, f)
	for _, h := range n.Value.hosts.Value {
		at := slices.IndexFunc(hosts, func(k kinds.Host) bool { return string(k.Name) == h.Value.Name.Value })
		for _, m := range h.Value.Fence.Value {
			if !m.Known() || at < 0 {
				continue
			}
			if slices.Contains(hosts[at].Fence, m.Value) {
				f.Add(m.Spot, m.Value+" is named twice", "name each method once")
				continue
			}
			before := hosts[at].Fence
			hosts[at].Fence = append(hosts[at].Fence, m.Value)
			place := n.Name + "/" + h.Value.Name.Value
			i := slices.IndexFunc(methods, func(k Fence) bool { return k.Name == m.Value })
			switch {
			case i < 0:
				hint := keys.DidYouMean(m.Value, names(methods))
				if hint == "" {
					hint = "add it under fences at the top of the file"
				}
				f.Add(m.Spot, "there is no method "+m.Value, hint)
			case taken[m.Value] != "" && !methods[i].tells():
				f.Add(m.Spot, fmt.Sprintf("%s cuts the power of host %s already, and would do so for this one, too",
					m.Value, taken[m.Value]),
					"give this host a method of its own, or put "+kinds.HostWord+" into the method's address, or "+
						"into the option that names the outlet")
			case !cuts(methods, m.Value) && len(before) > 0 && cuts(methods, before[len(before)-1]):
				f.Add(m.Spot, m.Value+" proves more than "+before[len(before)-1]+", which only cuts access",
					"name it before that one")
			default:
				taken[m.Value] = place
			}
		}
	}
}

// delays judges for how long hosts are left as they are: equal delays on all hosts make neither hale quicker.
func delays(hosts []keys.At[kinds.HostDraft], f *keys.Finder) {
	var fenced, alike []keys.At[time.Duration]
	for _, h := range hosts {
		d := h.Value.FenceDelay
		if len(h.Value.Fence.Value) == 0 {
			if d.Written() {
				f.Add(d.Spot, "has nothing to delay: nothing cuts the host's power",
					"add fence: [METHOD], or take it out")
			}
			continue
		}
		fenced = append(fenced, d)
		if d.Known() && d.Value > 0 && d.Value == fenced[0].Value {
			alike = append(alike, d)
		}
	}
	if len(alike) > 1 && len(alike) == len(fenced) {
		f.Add(alike[1].Spot, keys.FormatDuration(alike[1].Value)+" is what every host has: of two hales that turn off "+
			"each other's host none would be quicker",
			"give the host that matters less no fence_delay")
	}
}

// weights returns, by fleet, how much later its hosts are fenced. One that is no longer than what tells hosts apart
// could make two hales equally quick.
func weights(d providerDraft, f *keys.Finder) map[fleet.Name]time.Duration {
	var longest time.Duration
	for _, h := range d.hosts.Value {
		longest = max(longest, h.Value.FenceDelay.Value)
	}
	out := map[fleet.Name]time.Duration{}
	for _, w := range d.weights.Value {
		if w.OK && w.Value > 0 && w.Value <= 2*longest {
			f.Add(w.Spot, fmt.Sprintf("%s is not more than twice the longest fence_delay, %s: two hales could be "+
				"equally quick", keys.FormatDuration(w.Value), keys.FormatDuration(longest)),
				"raise it, or lower fence_delay")
		}
		out[fleet.Name(w.Name)] = w.Value
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// cuts reports whether the method of the name leaves hosts their power.
func cuts(methods []Fence, name string) bool {
	return slices.ContainsFunc(methods, func(m Fence) bool { return m.Name == name && m.Cuts() })
}

// covers reports whether the cut keeps a machine from writing: to the storage, where it keeps disks, else to others
// over the network.
func covers(cut kinds.Access, keepsDisks bool) bool {
	return cut == kinds.AccessBoth || keepsDisks && cut == kinds.AccessStorage ||
		!keepsDisks && cut == kinds.AccessNetwork
}

// cutsEnough reports fence methods that leave a host's machines a way to write, in a fleet that takes access-cut for a
// proof.
func (c *fleetCompiler) cutsEnough(spec *fleet.Spec, so *Config) {
	if spec.Repair.Fence.Proof != fleet.ProofAccessCut {
		return
	}
	spot, keeps := c.draft.repair.Value.fence.Value.proof.Spot, c.keepsDisks()
	some := false
	for _, p := range so.Providers {
		for _, h := range p.Hosts {
			for _, m := range so.FencesOf(p.Name, h.Name) {
				if p.Name != spec.Provider || !m.Cuts() {
					continue
				}
				some = true
				if m.cut() != "" && !covers(m.cut(), keeps) {
					c.Add(spot, fmt.Sprintf("the fleet's machines on host %s could write on: %s cuts it from %s only",
						h.Name, m.Name, m.cut()),
						"have it cut both, or demand confirmed-off")
					return
				}
			}
		}
	}
	if !some {
		c.Add(spot, "no host of provider "+string(spec.Provider)+" has a method that cuts its access",
			"add one with cut: {…}, or demand confirmed-off")
	}
}

// fence returns the demand on proof. A person's word is never taken where two writers would spoil something that is
// kept.
func (c *fleetCompiler) fence(d fenceDraft) fleet.Fence {
	f := fleet.Fence{Proof: d.proof.Value, Hosts: d.hosts.Value == hostsOff, Word: d.word.Value == wordTake}
	c.strands(d.hosts)
	gone := d.proof.Known() && d.proof.Value == fleet.ProofDeleted
	if f.Hosts && gone {
		c.Add(d.hosts.Spot, "what is on a host that is off cannot be confirmed-deleted",
			"choose hold, or demand confirmed-off")
	}
	if f.Proof == fleet.ProofAccessCut && !f.Hosts {
		c.Add(d.proof.Spot, "nobody cuts a host's access as long as hosts is hold",
			"add hosts: off, or demand confirmed-off")
	}
	switch {
	case f.Word && gone:
		c.Add(d.word.Spot, "a person's word is less than confirmed-deleted", "choose refuse, or demand confirmed-off")
	case f.Word && c.keepsDisks():
		c.Add(d.word.Spot, "the machines have disks that are kept, and a wrong word would have two of them write "+
			"to one",
			"choose refuse")
	}
	return f
}

func names(methods []Fence) []string {
	var out []string
	for _, m := range methods {
		out = append(out, m.Name)
	}
	return out
}
