package change

import (
	"fmt"
	"hash/fnv"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/leaving"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Plan is the part of an edit of one fleet that would destroy something, with all that it would touch.
type Plan struct {
	// ID names exactly this plan: it is another one as soon as any machine or instance in it is.
	ID    string
	Fleet fleet.Name
	// From and To are the sizes, spares included; equal: the size stays.
	From, To int
	Remove   []Touched
	// Template says that the template is another one. Replace are the machines that would be built anew from it, or
	// changed where they are.
	Template bool
	Replace  []Touched
	// Beyond are the machines that would serve meanwhile, beyond the size, and be removed at the end.
	Beyond []fleet.MachineName
	// Blocked says why it could not be carried out even if it were confirmed; empty: it could.
	Blocked fleet.Reason
}

// Touched is a machine that a plan would remove or replace.
type Touched struct {
	Machine  fleet.MachineName
	Instance fleet.InstanceID // empty: it has none
	// Why it is this one that is removed: it fails, or has the highest number.
	Why fleet.Reason
	// InPlace says that the instance becomes as the other template says where it is, if its provider can do that.
	InPlace bool
}

// Empty reports whether nothing waits for a person's word.
func (p Plan) Empty() bool { return p.From == p.To && !p.Template }

// Pending returns what the configuration asks for beyond what is in force, as far as it would destroy something.
func Pending(wanted *policy.Spec, ledger *belief.Ledger, machines []situation.View, hosts []fleet.Host) Plan {
	p := Plan{Fleet: wanted.Name}
	if ledger == nil || wanted.Adopt.Selects() {
		return p
	}
	spec := ledger.Force(*wanted)
	staying := func(m *belief.Machine) bool { // of those that go in any case nothing is asked
		n, ok := m.Name.Ordinal()
		return ok && spec.Has(n) && !ledger.Leaves(m.Name)
	}
	stays, beside := ledger.Staying(), max(wanted.Spares.Count, ledger.Idle())
	if o := ledger.LastWord(wanted); o != nil && o.Within { // what it makes too many goes without a further word
		stays = min(stays, ledger.Kept(wanted)+beside)
	}
	if due := ledger.Due(wanted); due < stays {
		p.From, p.To = stays, due
		p.Remove = surplus(leaving.Scene{Spec: &spec, Machines: machines, Hosts: hosts, Beside: ledger.IsSpare,
			TooMany: min(beside-wanted.Spares.Count, p.From-p.To)}, p.From-p.To, ledger)
	}
	if retemplated(wanted, ledger) {
		p.Template = true
		p.Replace = kept(p.Remove, machines, func(m *belief.Machine) bool {
			return staying(m) && (!wanted.Template.Builds(ledger.Template) || m.Current.Edition != ledger.Edition)
		})
		markInPlace(p.Replace, wanted, ledger, machines)
		p.Beyond = beyond(wanted, ledger, min(wanted.Update.Surge, len(p.Replace)))
	}
	p.Blocked = blocked(p, &spec, wanted, machines)
	if u := ledger.Update; p.Template && u.Goes() && u.Undoes != nil {
		p.Blocked = fleet.ReasonUpdating // first everything is as before
	}
	if !p.Empty() {
		p.ID = id(p, wanted)
	}
	return p
}

// beyond names so many machines as the next that would be beyond the size.
func beyond(wanted *policy.Spec, l *belief.Ledger, n int) []fleet.MachineName {
	var out []fleet.MachineName
	for _, s := range l.Surged(n, belief.Surge{}, wanted.Name).Surge[len(l.Surge):] {
		out = append(out, s.Machine)
	}
	return out
}

// retemplated reports whether another template waits for a person's word than the one in force or the one on its way
// through the fleet. That one waits, too, once it was stopped.
func retemplated(wanted *policy.Spec, ledger *belief.Ledger) bool {
	if u := ledger.Update; u != nil {
		return u.Stopped != "" || !wanted.Template.Builds(u.Template)
	}
	return !wanted.Template.Builds(ledger.Template)
}

// surplus chooses which machines go. How busy they are makes no difference, since that changes with each reading: the
// plan would be another one before the person who was shown it could confirm it.
func surplus(s leaving.Scene, n int, l *belief.Ledger) []Touched {
	s.Fit = func(*belief.Machine) bool { return true }
	s.Gone = func(m *belief.Machine) bool { return l.Leaves(m.Name) }
	var out []Touched
	for _, g := range leaving.Choose(s, n) {
		out = append(out, Touched{Machine: g.Machine, Instance: g.Instance, Why: g.Why})
	}
	return out
}

// kept returns the machines that are not removed, and have instances of another template.
func kept(removed []Touched, machines []situation.View, old func(*belief.Machine) bool) []Touched {
	var out []Touched
	for i := range machines {
		m := &machines[i].Machine
		gone := slices.ContainsFunc(removed, func(t Touched) bool { return t.Machine == m.Name })
		if !gone && !m.Current.None() && old(m) {
			out = append(out, Touched{Machine: m.Name, Instance: m.Current.ID})
		}
	}
	return out
}

// markInPlace says of the machines to be replaced, which are in the order of all, which of them are changed where they
// are.
func markInPlace(touched []Touched, spec *policy.Spec, l *belief.Ledger, all []situation.View) {
	for i := range all {
		v := &all[i]
		if len(touched) == 0 {
			return
		}
		if touched[0].Machine == v.Machine.Name {
			touched[0].InPlace = InPlace(v, spec, l)
			touched = touched[1:]
		}
	}
}

// InPlace reports whether a machine with another template than the spec's becomes as that says where it is.
func InPlace(v *situation.View, spec *policy.Spec, l *belief.Ledger) bool {
	seen := v.Sighting(v.Machine.Current.ID)
	return v.Machine.Quarantine == nil && len(situation.Adjustable(&v.Machine, seen, l, spec, &spec.Template)) > 0
}

// blocked says what forbids the plan: a disk that is to be kept, or an instance that hale may not destroy, or not yet.
func blocked(p Plan, spec, wanted *policy.Spec, machines []situation.View) (being fleet.Reason) {
	_, loses := spec.Template.DiskLost()
	_, would := wanted.Template.DiskLost()
	touched := slices.Concat(p.Remove, p.Replace)
	if (loses || p.Template && would) &&
		slices.ContainsFunc(touched, func(t Touched) bool { return t.Instance != "" && !t.InPlace }) {
		return fleet.ReasonDiskKept
	}
	for i := range machines {
		m := &machines[i].Machine
		if slices.ContainsFunc(touched, func(t Touched) bool { return t.Machine == m.Name }) &&
			wanted.Protects(m.Name) {
			return fleet.ReasonProtected
		}
		named := slices.ContainsFunc(touched, func(t Touched) bool { return t.Machine == m.Name && t.Instance != "" })
		switch {
		case !named || m.Current.Replaceable():
		case m.Repair != nil && m.Repair.Kind == belief.RepairBuild:
			being = fleet.ReasonBeingBuilt // what will not pass goes before it
		default:
			return fleet.ReasonNotCertified
		}
	}
	return being
}

// Unreplaceable says why the machines may not be built anew from the template in force; empty: they may.
func Unreplaceable(all []Touched, spec *policy.Spec, machines []situation.View) fleet.Reason {
	return blocked(Plan{Replace: all, Template: true}, spec, spec, machines)
}

// Unremovable says why the machine may not be removed; empty: it may. What is being built for it is hale's own, and may
// go.
func Unremovable(m *belief.Machine, spec *policy.Spec) fleet.Reason {
	_, loses := spec.Template.DiskLost()
	switch {
	case spec.Protects(m.Name):
		return fleet.ReasonProtected
	case m.Current.None():
		return ""
	case loses:
		return fleet.ReasonDiskKept
	case m.Repair == nil && !m.Current.Replaceable():
		return fleet.ReasonNotCertified
	}
	return ""
}

// id names the plan by all that it says, and the template.
func id(p Plan, wanted *policy.Spec) string {
	template := policy.Template{}
	if p.Template {
		template = wanted.Template
	}
	return ID(string(p.Fleet), p.From, p.To, p.Remove, template, p.Replace)
}

// ID returns the id of a plan for the subject: it is another one as soon as any of the facts is.
func ID(subject string, facts ...any) string {
	h := fnv.New64a()
	for _, f := range facts {
		h.Write([]byte(fmt.Errorf("%+v;", f).Error())) // hash.Hash never fails to write
	}
	return fmt.Errorf("%s-%012x", subject, h.Sum64()&0xffffffffffff).Error()
}
