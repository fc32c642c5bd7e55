package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/hooks"
	"hale/internal/core/policy"
)

// ask tells a person that the step waits for their word, and goes on by it. Without one in time it does what the step
// says.
func (x errands) ask(task *hooks.Task) onward {
	h := x.r.Hooks
	switch word := h.Said(task.ID); {
	case word == fleet.HookDone:
		x.pagesAnew()
		return x.over(task.ID, "", h.Words)
	case word == fleet.HookFail:
		x.over(task.ID, fleet.ReasonDenied, h.Words)
		return x.quarantine(fleet.ReasonDenied, h.Words)
	case h == nil || h.At != task.ID:
		x.pagesAnew() // what a person was told before is another thing
		return x.question(task)
	case h.By == 0: // hale was started anew
		return x.question(task)
	case !x.Situation.Now.Due(h.By):
		return x.wait(fleet.ReasonApproval)
	}
	x.pagesAnew()
	x.over(task.ID, fleet.ReasonUnapproved, "")
	if belief.CurrentStep(x.Situation.Spec, *x.r).Approve.Otherwise == policy.UnapprovedGoOn {
		return again
	}
	return x.quarantine(fleet.ReasonUnapproved, "")
}

// question asks for the whole of the time.
func (x errands) question(task *hooks.Task) onward {
	x.await(task)
	x.Page(fleet.ReasonApproval)
	return x.wait(fleet.ReasonApproval)
}

// pagesAnew notes that what a person was told is over: whatever the machine needs of one next is a page of its own.
func (x errands) pagesAnew() {
	if x.M.Incident != nil {
		x.M.Incident.Paged = false
	}
}
