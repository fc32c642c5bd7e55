package guard

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Forbidden says why a wanted change of the kind may not take the machine's instance away, as the configuration stands
// now; empty: it may.
func Forbidden(m *belief.Machine, spec *policy.Spec, kind belief.RepairKind) fleet.Reason {
	if kind == belief.RepairUndo { // it is put aside
		return AgainstAside(m, spec, m.Current)
	}
	return Against(m, spec, m.Current)
}

// Against says what the configuration has against taking the instance away for ever: a disk that is to be kept would go
// with it, or what AgainstAside says.
func Against(m *belief.Machine, spec *policy.Spec, i belief.Incarnation) fleet.Reason {
	if why := AgainstAside(m, spec, i); why != "" {
		return why
	}
	if _, lost := spec.Template.DiskLost(); lost && !i.None() {
		return fleet.ReasonDiskKept
	}
	return ""
}

// AgainstAside says what the configuration has against putting the instance aside: the machine is protected, or the
// instance was adopted and may not be replaced.
func AgainstAside(m *belief.Machine, spec *policy.Spec, i belief.Incarnation) fleet.Reason {
	switch {
	case spec.Protects(m.Name):
		return fleet.ReasonProtected
	case i.Irreplaceable:
		return fleet.ReasonIrreplaceable
	}
	return ""
}
