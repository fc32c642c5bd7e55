package orders

import (
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

const (
	// underMaintenance is the reason of a hold that the provider places.
	underMaintenance = "maintenance"
	// inUseAfter is for how long the provider must have a host in use, without interruption, before its hold ends. A
	// provider that says now this and now that would else have hale act on the host time and again.
	inUseAfter = time.Minute
)

// maintain holds the hosts of the fleet's machines that the provider's people want to be empty, where the policy says
// so, and ends such a hold when they want that no more. One that was released, or has lasted for as long as it may, is
// not placed anew before the host was in use again.
func (r *Orders) maintain() {
	holds := r.S.Spec.Repair.OnHostDisabled == policy.HostDisabledHold
	if !holds && len(r.Sit.Whole.Maintenance) == 0 {
		return
	}
	r.Sit.Whole.Maintenance = slices.Clone(r.Sit.Whole.Maintenance)
	for i := range r.S.Hosts {
		h := &r.S.Hosts[i]
		all := r.Sit.Whole.Maintenance
		at := slices.IndexFunc(all, func(m belief.Maintenance) bool { return m.Host == h.Name })
		switch {
		case at < 0 && holds && h.Disabled && len(r.Sit.Whole.Holds) < mostHolds && r.lieOn(h.Name):
			r.holdHost(h.Name)
		case at < 0:
		case !holds || r.inUse(h, &all[at]):
			r.Sit.Whole.Maintenance = slices.Delete(all, at, at+1)
			r.endHolds(fleet.ReasonInUse, nil, func(held *belief.Hold) bool { return held.ByProvider(h.Name) })
		}
	}
}

// inUse reports whether the host is in use again, and has been for long enough. While the provider is not heard,
// nothing is known of that.
func (r *Orders) inUse(h *fleet.Host, m *belief.Maintenance) bool {
	switch {
	case h.Disabled, r.S.Provider.Standing != fleet.ProviderUp:
		m.InUse = 0
		return false
	case m.InUse == 0:
		m.InUse = r.S.Now.Mono
	}
	return r.S.Now.Due(m.InUse.Add(inUseAfter))
}

// lieOn reports whether a machine of the fleet lies on the host.
func (r *Orders) lieOn(host fleet.HostName) bool {
	return slices.ContainsFunc(r.S.Machines, func(v situation.View) bool { return v.Machine.Lies().Host == host })
}

func (r *Orders) holdHost(name fleet.HostName) {
	whole, lasts := &r.Sit.Whole, r.S.Spec.Repair.DisabledHold
	whole.Maintenance = append(whole.Maintenance, belief.Maintenance{Host: name})
	h := belief.HoldByProvider(name, underMaintenance, lasts, r.S.Now)
	whole.Holds = append(whole.Holds, h)
	r.S.Now.Await(h.Ends)
	r.Record(record.Record{Kind: record.HoldBegun, Host: name, By: h.By, Detail: h.Reason, Took: lasts})
}
