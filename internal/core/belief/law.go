package belief

import (
	"fmt"

	"hale/internal/core/fleet"
)

// Check verifies the laws that one machine's belief can break by itself. It is run before and after each decision,
// by the simulation after each step, and by the fuzzers; a nil error means that the belief is sound.
func (m *Machine) Check() error {
	if m.Name.Fleet() == "" {
		return fmt.Errorf("machine name %q is malformed", m.Name)
	}
	if m.Current.Generation > m.Generation {
		return fmt.Errorf("%s: current generation %d was never allotted (highest is %d)", m.Name, m.Current.Generation,
			m.Generation)
	}
	if m.Current.Candidate() && m.Repair != nil {
		return fmt.Errorf("%s: L2: a repair of %s, which is not adopted yet", m.Name, m.Current.ID)
	}
	if m.Incident == nil && m.Quarantine != nil {
		return fmt.Errorf("%s: L8: in quarantine without an incident", m.Name)
	}
	if m.Quarantine != nil && m.Repair != nil {
		return fmt.Errorf("%s: L8: repaired while in quarantine", m.Name)
	}
	if !m.Current.None() && m.KeptAt(m.Current.ID) >= 0 {
		return fmt.Errorf("%s: L1: its instance %s was put aside", m.Name, m.Current.ID)
	}
	if m.Repair == nil {
		return nil
	}
	return m.checkRepair(*m.Repair)
}

func (m *Machine) checkRepair(r Repair) error {
	switch {
	case r.Kind == RepairHeal && (m.Incident == nil || m.Incident.Blind()):
		return fmt.Errorf("%s: L8: repair %s without a fault to heal", m.Name, r.ID)
	case r.Wanted() != r.Kind.Ordered():
		return fmt.Errorf("%s: L3: %s is a %s, by order %q", m.Name, r.ID, r.Kind, r.Order)
	case r.Kind == RepairUndo && !r.Back.None() && r.Back.ID == r.Target.ID:
		return fmt.Errorf("%s: L1: %s is brought back and put aside at once", m.Name, r.Back.ID)
	case (r.Kind == RepairRemove || r.Kind == RepairOperate) && !r.Next.None():
		return fmt.Errorf("%s: L13: a machine is built by a %s", m.Name, r.Kind)
	}
	if err := m.checkInPlace(r); err != nil {
		return err
	}
	if err := m.checkNext(r); err != nil || r.Intent == nil {
		return err
	}
	return m.checkIntent(r, *r.Intent)
}

// checkInPlace verifies that what is to be changed where it is stays there, and that nothing else is adjusted.
func (m *Machine) checkInPlace(r Repair) error {
	in, stays := r.Intent, r.InPlace != nil
	switch {
	case stays && (r.Kind != RepairUpdate || !r.Next.None() || r.Removed):
		return fmt.Errorf("%s: L2: %s of an instance that is to be changed where it is", m.Name, r.Kind)
	case in == nil:
	case in.Op == fleet.OpAdjust && (!stays || in.Instance != m.Current.ID),
		stays && in.Op.Parts():
		return fmt.Errorf("%s: L2: %s of %s, in place: %t", m.Name, in.Op, in.Instance, stays)
	}
	return nil
}

// checkNext verifies that the instance that is being built may be.
func (m *Machine) checkNext(r Repair) error {
	switch {
	case r.Next.None():
	case r.Next.Generation != m.Generation:
		return fmt.Errorf("%s: next generation %d is not the one allotted last (%d)", m.Name, r.Next.Generation,
			m.Generation)
	case r.Next.ID == m.Current.ID:
		return fmt.Errorf("%s: L1: the next instance %s is the current one", m.Name, r.Next.ID)
	case r.Target.None():
	case !r.Proof.Off() && !m.leftCut(r):
		return fmt.Errorf("%s: L1: a replacement without proof that %s is off", m.Name, r.Target.ID)
	case m.Volumes != nil && !r.Removed:
		return fmt.Errorf("%s: L1: a replacement with the kept disks that %s still has", m.Name, r.Target.ID)
	}
	return nil
}

// leftCut reports whether the target was left behind where it cannot write. What was ordered then may still be under
// way when that is so no more.
func (m *Machine) leftCut(r Repair) bool {
	at := m.LeftAt(r.Target.ID)
	return r.Proof == fleet.ProofAccessCut && at >= 0 && m.Left[at].Proof == fleet.ProofAccessCut
}

func (m *Machine) checkIntent(r Repair, in Intent) error {
	touches := in.Op.Disruptive() || in.Op == fleet.OpRun
	switch {
	case in.Instance == "":
		return fmt.Errorf("%s: L2: call %s names no instance", m.Name, in.ID)
	case in.Limit <= 0:
		return fmt.Errorf("%s: L7: call %s has no time limit", m.Name, in.ID)
	case touches && !r.Confirmed && !r.Wanted():
		return fmt.Errorf("%s: L3: %s without a look that confirmed the failure", m.Name, in.Op)
	case touches && in.Instance != r.Target.ID:
		return fmt.Errorf("%s: L2: %s of %s, which is not the rung's target %s", m.Name, in.Op, in.Instance,
			r.Target.ID)
	case in.Op == fleet.OpHook:
		return m.checkHook(r, in)
	case in.Op == fleet.OpCertify && m.Current.Raw:
		return fmt.Errorf("%s: L2: %s of %s, which was not provisioned", m.Name, in.Op, in.Instance)
	case in.Op == fleet.OpSnapshot || in.Op == fleet.OpDropSnapshot:
		return m.checkCopy(r, in)
	case in.Op == fleet.OpKeep || in.Op == fleet.OpRestore:
		return m.checkSwap(r, in)
	case !m.mayRevert(r, in):
		return fmt.Errorf("%s: L12: %s to %q, which is no whole copy of its disks", m.Name, in.Op, in.Snapshot)
	case in.Op == fleet.OpCreate && in.Instance != r.Next.ID:
		return fmt.Errorf("%s: create of %s, which is not the next instance %s", m.Name, in.Instance, r.Next.ID)
	case in.Op.Destroys():
		return m.checkDestruction(r, in)
	}
	return nil
}

func (m *Machine) checkDestruction(r Repair, in Intent) error {
	switch {
	case in.Op == fleet.OpPowerOff && r.Kind == RepairOperate: // it stays where it is
		return nil
	case in.Op == fleet.OpFence && (in.Host == "" || in.Host != r.Target.Host || in.Try < 1):
		return fmt.Errorf("%s: L2: %s of host %q, which is not the target's, %q", m.Name, in.Op, in.Host, r.Target.Host)
	case r.Target.Irreplaceable && !in.Unknown: // what was sent while it was allowed is seen to first
		return fmt.Errorf("%s: L2: %s of %s, which was adopted and is not replaceable", m.Name, in.Op, in.Instance)
	case !r.Target.Irreplaceable && !r.Target.Replaceable():
		return fmt.Errorf("%s: L2: %s of %s, which is neither certified nor an expired build", m.Name, in.Op,
			in.Instance)
	case in.Op == fleet.OpEvacuate && !r.Proof.OfHost():
		return fmt.Errorf("%s: L1: %s of %s before its host is known to be off", m.Name, in.Op, in.Instance)
	case in.Op != fleet.OpPowerOff && in.Op != fleet.OpFence && in.Op != fleet.OpEvacuate &&
		!r.Proof.Meets(fleet.ProofConfirmedOff):
		return fmt.Errorf("%s: L1: %s of %s before it is known to be off", m.Name, in.Op, in.Instance)
	}
	return nil
}

func (m *Machine) checkSwap(r Repair, in Intent) error {
	switch {
	case in.Op == fleet.OpKeep && (in.Instance != r.Target.ID || r.Target.Irreplaceable || !r.Target.Replaceable()):
		return fmt.Errorf("%s: L2: %s of %s, which may not be replaced", m.Name, in.Op, in.Instance)
	case in.Op == fleet.OpKeep && !r.Proof.Meets(fleet.ProofConfirmedOff):
		return fmt.Errorf("%s: L1: %s of %s before it is known to be off", m.Name, in.Op, in.Instance)
	case in.Op == fleet.OpRestore && (in.Instance != r.Back.ID || !r.Target.None() && !r.Removed):
		return fmt.Errorf("%s: L1: %s of %s in the place of one that is not put aside", m.Name, in.Op, in.Instance)
	}
	return nil
}

func (m Machine) checkCopy(r Repair, in Intent) error {
	at := m.SnapshotAt(in.Snapshot)
	switch {
	case at < 0:
		return fmt.Errorf("%s: L12: %s of a copy %q that is not written down", m.Name, in.Op, in.Snapshot)
	case in.Op == fleet.OpSnapshot && in.Instance != r.Target.ID:
		return fmt.Errorf("%s: %s of %s, which is not the rung's target %s", m.Name, in.Op, in.Instance, r.Target.ID)
	case in.Op == fleet.OpDropSnapshot && r.Kind != RepairTidy:
		return fmt.Errorf("%s: L2: %s in a %s", m.Name, in.Op, r.Kind)
	}
	return nil
}

// mayRevert reports whether the call puts no copy back, or the one that a person wants, and that is whole.
func (m Machine) mayRevert(r Repair, in Intent) bool {
	return in.Op != fleet.OpRevert || r.Copy != "" && in.Snapshot == r.Copy && m.IsWhole(in.Snapshot, in.Host)
}

// checkHook verifies that a hook is run at its moment, on behalf of the instance that the rung is about, or has built;
// and once.
func (m Machine) checkHook(r Repair, in Intent) error {
	phase, of := map[fleet.Moment]Phase{fleet.MomentBefore: PhaseLeave, fleet.MomentLeave: PhaseLeave,
		fleet.MomentProvision: PhaseProvision, fleet.MomentAfter: PhaseAfter}[in.Hook.Moment()], m.Current.ID
	if phase == PhaseLeave {
		of = r.Target.ID
	}
	_, over := r.Hooks.Ended(in.Hook)
	switch {
	case phase == "" || phase != r.Phase:
		return fmt.Errorf("%s: hook %q in phase %q", m.Name, in.Hook, r.Phase)
	case phase == PhaseLeave && !r.Confirmed && !r.Wanted():
		return fmt.Errorf("%s: L3: hook %s without a look that confirmed the failure", m.Name, in.Hook)
	case in.Instance != of:
		return fmt.Errorf("%s: L2: hook %s of %s, and not of %s", m.Name, in.Hook, in.Instance, of)
	case over:
		return fmt.Errorf("%s: L12: hook %s, which has ended", m.Name, in.Hook)
	}
	return nil
}
