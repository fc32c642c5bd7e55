package metrics

import (
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/owner/published"
)

// What fleets have in common: their providers, and the budgets that they share.

var (
	providerUp    = gauge("provider_up", "Whether the provider answers, and is believed.", "provider")
	providerHosts = gauge("provider_hosts", "Hosts of the provider, by whether they answer.", "provider", "answers")
)

// standings say how the fleets' providers stand. One fleet that saw its provider fail is enough.
func standings(all []published.Fleet, out say) {
	up := map[fleet.ProviderName]bool{}
	hosts := map[fleet.ProviderName][]fleet.Host{}
	for i := range all {
		f := &all[i]
		was, seen := up[f.Spec.Provider]
		up[f.Spec.Provider] = f.Provider.Standing == fleet.ProviderUp && (was || !seen)
		if len(f.Hosts) > len(hosts[f.Spec.Provider]) {
			hosts[f.Spec.Provider] = f.Hosts
		}
	}
	for name, is := range up {
		out.whether(providerUp, truth(is), string(name))
		answer := 0
		for _, h := range hosts[name] {
			if h.Up {
				answer++
			}
		}
		out.value(providerHosts, number(answer), string(name), "yes")
		out.value(providerHosts, number(len(hosts[name])-answer), string(name), "no")
	}
}

var (
	sharedBudget   = gauge("repair_budget", "How many machines of all fleets together may be in repair at once.")
	sharedUsed     = gauge("repair_budget_used", "How many are, as that budget counts.")
	providerBudget = gauge("provider_repair_budget", "How many machines of the provider may be in repair at once.",
		"provider")
	providerUsed = gauge("provider_repair_budget_used", "How many are, as that budget counts.", "provider")
)

// shared say how much of the budgets is used that fleets share. Owners see the book of them one after the other: the
// one that looked last counts.
func shared(all []published.Fleet, out say) {
	var last *published.Fleet
	ofAll, ofProvider := 0, map[fleet.ProviderName]int{}
	for i := range all {
		f := &all[i]
		if last == nil || f.Now.Mono > last.Now.Mono {
			last = f
		}
		for _, l := range f.Spec.Limits.Shared {
			switch l.Scope {
			case policy.ScopeInstallation:
				ofAll = l.InRepair
			case policy.ScopeProvider:
				ofProvider[f.Spec.Provider] = l.InRepair
			default: // of those there may be as many as hosts
			}
		}
	}
	if last == nil {
		return
	}
	taken, used := 0, map[fleet.ProviderName]int{}
	for i := range last.Slots {
		if s := &last.Slots[i]; !s.Start {
			taken++
			used[s.Provider]++
		}
	}
	if ofAll > 0 {
		out.value(sharedBudget, number(ofAll))
		out.value(sharedUsed, number(taken))
	}
	for name, most := range ofProvider {
		out.value(providerBudget, number(most), string(name))
		out.value(providerUsed, number(used[name]), string(name))
	}
}
