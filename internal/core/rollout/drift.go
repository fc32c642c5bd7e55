package rollout

import (
	"strconv"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Drift is what differs between a machine's instance and the template in force.
type Drift struct {
	Machine  fleet.MachineName
	Instance fleet.InstanceID
	// Edition says that it was built from another template.
	Edition bool
	// Facts are what the provider shows to be otherwise, by the template's keys.
	Facts []Fact
}

// Fact is one thing that is otherwise than the template says. Without values it is only known that it is.
type Fact struct{ Key, Is, Wanted string }

// Drifts returns which machines differ from the template in force, in their order. While an update goes those of its
// edition are left out. There may be no ledger.
func Drifts(l *belief.Ledger, machines []situation.View, spec *policy.Spec) []Drift {
	var all []Drift
	for i := range machines {
		v := &machines[i]
		n, ok := v.Machine.Name.Ordinal()
		if l == nil || !ok || !spec.Has(n) || l.Leaves(v.Machine.Name) || l.Update.Goes() &&
			v.Machine.Current.Edition == l.Update.Edition {
			continue
		}
		if d := driftOf(l, v); d.Edition || len(d.Facts) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// Differs reports whether the machine's instance differs from the template in force.
func Differs(l *belief.Ledger, v *situation.View) bool {
	d := driftOf(l, v)
	return d.Edition || len(d.Facts) > 0
}

// driftOf compares one machine. Of what was adopted nothing is known that it was built from; of what is in repair,
// nothing lasts.
func driftOf(l *belief.Ledger, v *situation.View) Drift {
	m := &v.Machine
	d := Drift{Machine: m.Name, Instance: m.Current.ID}
	if m.Current.None() || m.Current.Adopted || m.Repair != nil {
		return d
	}
	d.Edition = m.Current.Edition != l.Edition
	if s := v.Sighting(m.Current.ID); s.Known() && s.Instance.Power != fleet.PowerGone {
		d.Facts = facts(&l.Template, &s.Instance)
	}
	return d
}

// facts returns what the provider shows to be otherwise than the template says. Of texts and tags, which may be many,
// it is only said that they are.
func facts(t *policy.Template, i *fleet.Instance) []Fact {
	var all []Fact
	want, has := t.Size(), i.Size
	for _, part := range t.Drift(i) {
		if t.XML != "" && part.AtRest() {
			continue // the domain's own XML says what the instance has
		}
		f := Fact{Key: string(part)}
		switch part {
		case policy.PartMemory:
			f.Is, f.Wanted = mebibytes(has.Memory), mebibytes(want.Memory)
		case policy.PartCPUs:
			f.Is, f.Wanted = strconv.Itoa(has.CPUs), strconv.Itoa(want.CPUs)
		case policy.PartFlavor:
			f.Is, f.Wanted = has.Flavor, want.Flavor
		case policy.PartMetadata, policy.PartTags:
		}
		all = append(all, f)
	}
	return all
}

func mebibytes(bytes uint64) string { return strconv.FormatUint(bytes>>20, 10) + "MiB" }
