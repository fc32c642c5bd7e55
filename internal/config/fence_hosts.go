package config

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/config/fleets"
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

// cutting are the methods that cut the access of the provider's hosts.
func (c *Config) cutting(p Provider) []fleets.Cut {
	var out []fleets.Cut
	for _, h := range p.Hosts {
		for _, m := range c.FencesOf(p.Name, h.Name) {
			if m.Cuts() {
				out = append(out, fleets.Cut{Host: h.Name, Method: m.Name, From: m.cut()})
			}
		}
	}
	return out
}

// cuts reports whether the method of the name leaves hosts their power.
func cuts(methods []Fence, name string) bool {
	return slices.ContainsFunc(methods, func(m Fence) bool { return m.Name == name && m.Cuts() })
}

func names(methods []Fence) []string {
	var out []string
	for _, m := range methods {
		out = append(out, m.Name)
	}
	return out
}
