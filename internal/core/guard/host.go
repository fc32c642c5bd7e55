package guard

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Struck returns the indices of the hosts that do not answer, or are cut from their access: hardly any, never nil.
func Struck(hosts []fleet.Host) []int {
	struck := []int{}
	for i := range hosts {
		if !hosts[i].Up || hosts[i].Fence.Access == fleet.AccessCut {
			struck = append(struck, i)
		}
	}
	return struck
}

// struckHost returns the host if it is known and struck; nil: it is not.
func struckHost(name fleet.HostName, s *Situation) *fleet.Host {
	struck := s.Struck
	if struck == nil {
		struck = Struck(s.Hosts)
	}
	for _, i := range struck {
		if h := &s.Hosts[i]; h.Name == name {
			return h
		}
	}
	return nil
}

// DeadHost returns the host if it is known and does not answer.
func DeadHost(name fleet.HostName, s *Situation) (fleet.Host, bool) {
	if h := struckHost(name, s); h != nil && !h.Up {
		return *h, true
	}
	return fleet.Host{}, false
}

// Leaves reports whether the policy is to leave the host that the instance is seen on, since that is disabled.
func Leaves(seen fleet.Sighting, s *Situation) bool {
	if s.Spec.Repair.OnHostDisabled != policy.HostDisabledHeal || !seen.Known() {
		return false
	}
	for i := range s.Hosts {
		if h := &s.Hosts[i]; h.Disabled && h.Name == seen.Instance.Host {
			return h.Up
		}
	}
	return false
}

// Fenceable reports whether what lies on a host that does not answer may be built anew elsewhere: the host is known to
// be off, in a word that the policy takes, or may be turned off to know it. Turning a host off turns everything off on
// it: as long as a machine is known to answer there, or anybody of this fleet is not known to fail, it is not done.
func Fenceable(h fleet.Host, s *Situation) bool {
	policy := s.Spec.Repair.Fence
	if policy.Enough(s.Whole.ProofOf(h.Name, s.Now)) {
		return true
	}
	return MayFence(h, s)
}

// MayFence reports whether hale may turn the host off by itself, or cut its access where that is all that is demanded.
func MayFence(h fleet.Host, s *Situation) bool {
	policy := s.Spec.Repair.Fence
	return policy.Hosts && h.Fence.Enough(policy) > 0 && agreed(h, s) && !h.Serves &&
		!slices.Contains(s.Answering, h.Name)
}

// agreed reports whether anything but hale's own sight says that the host is dead (L4): the control plane of its
// cloud, which hale reaches, or its power controller; or the policy, that silence is enough.
func agreed(h fleet.Host, s *Situation) bool {
	said := !h.Independent && len(s.Hosts) > 1
	return said || h.Fence.SaidOff(s.Now) || s.Spec.Repair.Silence == policy.SilenceActs
}

// OffHost says why the step is not for a machine on a host that does not answer: only one elsewhere can be built, and
// only what the host's loss does not take along for ever.
func OffHost(m *belief.Machine, s *Situation, step policy.Step) fleet.Reason {
	if m.Current.None() {
		return ""
	}
	h, dead := DeadHost(m.Current.Host, s)
	if !dead || !Fenceable(h, s) {
		return "" // where nothing is done anyway
	}
	switch step.Kind {
	case fleet.StepPage, fleet.StepQuarantine:
		return ""
	case fleet.StepEvacuate:
		if h.Fence.Tries == 0 && !s.Whole.ProofOf(h.Name, s.Now).OfHost() {
			return fleet.ReasonHostDown // it could be cut off, and would run on
		}
		return lostWithHost(s)
	case fleet.StepRecreate:
		if h.Closed {
			// Name and address are the instance's as long as there is one, on whichever host.
			return fleet.ReasonHostDown
		}
		return lostWithHost(s)
	default:
		return fleet.ReasonHostDown
	}
}

// lostWithHost says why the machine cannot do without what only its host has.
func lostWithHost(s *Situation) fleet.Reason {
	if _, lost := s.Spec.Template.DiskLost(); lost {
		return fleet.ReasonDiskKept // it could not even be kept aside
	}
	return ""
}
