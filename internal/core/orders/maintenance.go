package orders

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// underMaintenance is the reason of a hold that the provider places.
const underMaintenance = "maintenance"

// maintain holds the hosts of the fleet's machines that the provider's people want to be empty, where the policy says
// so, and ends such a hold when they want that no more. One that was released, or has lasted for as long as it may, is
// not placed anew before the host was in use again.
func (r *Orders) maintain() {
	whole := &r.Sit.Whole
	holds := r.S.Spec.Repair.OnHostDisabled == policy.HostDisabledHold
	if !holds && len(whole.Maintained) == 0 {
		return
	}
	for i := range r.S.Hosts {
		h := &r.S.Hosts[i]
		switch known := slices.Contains(whole.Maintained, h.Name); {
		case h.Disabled && holds && !known && len(whole.Holds) < mostHolds && r.lieOn(h.Name):
			r.holdHost(h.Name)
		case known && (!h.Disabled || !holds):
			whole.Maintained = slices.DeleteFunc(slices.Clone(whole.Maintained), func(name fleet.HostName) bool {
				return name == h.Name
			})
			r.endHolds(fleet.ReasonInUse, nil, func(held *belief.Hold) bool {
				return held.Host == h.Name && held.ByProvider()
			})
		}
	}
}

// lieOn reports whether a machine of the fleet lies on the host.
func (r *Orders) lieOn(host fleet.HostName) bool {
	return slices.ContainsFunc(r.S.Machines, func(v situation.View) bool { return v.Machine.Lies().Host == host })
}

func (r *Orders) holdHost(name fleet.HostName) {
	whole, lasts := &r.Sit.Whole, r.S.Spec.Repair.DisabledHold
	whole.Maintained = append(slices.Clone(whole.Maintained), name)
	h := belief.HoldByProvider(name, underMaintenance, lasts, r.S.Now)
	whole.Holds = append(whole.Holds, h)
	r.S.Now.Await(h.Ends)
	r.Record(record.Record{Kind: record.HoldBegun, Host: name, By: h.By, Detail: h.Reason, Took: lasts})
}
