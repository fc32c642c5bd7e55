package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// revert fences the target and gives it the disks of the copy that a person wants back.
func (x exchange) revert() onward {
	switch {
	case !x.r.Proof.Meets(fleet.StepRevert.Needs(x.Situation.Spec.Repair.Fence)):
		return x.fence()
	case x.r.Proof.Meets(fleet.ProofDeleted):
		return x.giveUpChange(fleet.ReasonNoInstance, "") // it went meanwhile
	case !x.M.IsWhole(x.r.Copy, x.r.Target.Host):
		return x.giveUpChange(fleet.ReasonNoCopy, "")
	}
	return x.call(x.r, fleet.OpRevert, x.r.Target)
}

// reverting is the operation of the step revert. The disks are what they were when the copy was made, and nothing is
// provisioned anew.
type reverting struct{ ofTheOld }

func (reverting) done(w *Work, _ *belief.Repair) onward { return w.verifyFrom() }

func (reverting) notFound(w *Work, _ *belief.Repair, _ belief.Intent) onward {
	return w.giveUpChange(fleet.ReasonNoInstance, "")
}

func (reverting) failed(w *Work, _ *belief.Repair, o fleet.Outcome) onward {
	return w.giveUpChange(o.Failure(), o.Detail)
}

func (reverting) took(i fleet.Instance) bool { return i.Power == fleet.PowerRunning }
