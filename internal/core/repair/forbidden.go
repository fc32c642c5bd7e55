package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Forbidden says why a wanted change of the kind may not take the machine's instance away, as the configuration stands
// now; empty: it may.
func Forbidden(m *belief.Machine, spec *policy.Spec, kind belief.RepairKind) fleet.Reason {
	return against(m, spec, m.Current, kind == belief.RepairUndo)
}

// against says what the configuration has against taking the instance away: the machine is protected, the instance was
// adopted and may not be replaced, or a disk that is to be kept would go with it, unless it is put aside.
func against(m *belief.Machine, spec *policy.Spec, i belief.Incarnation, aside bool) fleet.Reason {
	_, lost := spec.Template.DiskLost()
	switch {
	case spec.Protects(m.Name):
		return fleet.ReasonProtected
	case i.Irreplaceable:
		return fleet.ReasonIrreplaceable
	case lost && !aside && !i.None():
		return fleet.ReasonDiskKept
	}
	return ""
}

// forbidden says why the work may not go on towards taking its target away. The configuration may have been edited
// since it began, and what it forbids by now is not done: neither begun, nor finished. Of what is gone nothing is left
// to spare, and what never was whole has nothing to keep.
func (w *Work) forbidden(r *belief.Repair) fleet.Reason {
	takes := r.Wanted() || r.Kind == belief.RepairHeal && r.Step.Builds()
	before := r.Phase == belief.PhaseLook || r.Phase == belief.PhaseAct
	if !takes || r.Intent != nil || r.Removed || r.Proof == fleet.ProofDeleted || !before {
		return ""
	}
	return against(w.M, &w.Situation.Spec, r.Target, w.keeps(r) || !r.Wanted() && r.Target.Expired)
}
