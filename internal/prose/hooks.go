package prose

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// Hook names a hook in a sentence.
func Hook(id fleet.HookID) string {
	switch {
	case id.Moment() == fleet.MomentPool:
		return "pool " + string(id.Name())
	case id.Name() == "": // a person named it, without its moment
		return "hook " + string(id)
	}
	return fmt.Sprintf("hook %s (%s)", id.Name(), words.Moment(id.Moment()))
}

func hookBegun(r record.Record) string {
	if r.Hook.Moment() == fleet.MomentApprove {
		return fmt.Sprintf("%s: hale asks whether it may %s, for %s", about(r), approved(r.Hook), Span(r.Took))
	}
	return fmt.Sprintf("%s: hale waits for a word on %s, for %s", about(r), Hook(r.Hook), Span(r.Took))
}

// approved is the step that a person is asked about, as in "hale may …".
func approved(id fleet.HookID) string { return words.Step(fleet.StepKind(id.Name())) }

func approvalOver(r record.Record) string {
	switch r.Reason {
	case fleet.ReasonDenied:
		return Aside(fmt.Sprintf("%s: hale may not %s%s", about(r), approved(r.Hook), after(r)), r.Detail)
	case fleet.ReasonUnapproved:
		return fmt.Sprintf("%s: no word came on whether hale may %s%s", about(r), approved(r.Hook), after(r))
	default:
		return Aside(fmt.Sprintf("%s: hale may %s%s", about(r), approved(r.Hook), after(r)), r.Detail)
	}
}

func hookOver(r record.Record) string {
	if r.Hook.Moment() == fleet.MomentApprove {
		return approvalOver(r)
	}
	if r.Reason == "" {
		return fmt.Sprintf("%s: %s is done%s", about(r), Hook(r.Hook), after(r))
	}
	return Because(fmt.Sprintf("%s: %s is not done%s", about(r), Hook(r.Hook), after(r)),
		Aside(words.Reason(r.Reason), r.Detail))
}

func hookOutcome(r record.Record) string {
	ended, then := words.Outcome(r.Outcome), ""
	switch r.Outcome {
	case fleet.OutcomeUnknown:
		ended = "it is unknown how far it came"
	case fleet.OutcomeRetry, fleet.OutcomeNotSent:
		ended, then = "it could not be run now", "; it is tried again"
	case fleet.OutcomeFailed, fleet.OutcomeRefused, fleet.OutcomeUnsupported, fleet.OutcomeNotFound,
		fleet.OutcomeConflict, fleet.OutcomeLocked:
		ended = "it failed"
	case fleet.OutcomeDone, fleet.OutcomeNoSecret:
	}
	return Aside(fmt.Sprintf("%s: %s: %s%s%s", about(r), Hook(r.Hook), ended, after(r), then), r.Detail)
}

// approvalWord says what a person wants of the step that hale asks about.
func approvalWord(r record.Record) string {
	said := fmt.Sprintf("%s: %s approves the next step", about(r), r.By)
	if r.Word == fleet.HookFail {
		said = fmt.Sprintf("%s: %s denies the next step", about(r), r.By)
	}
	if r.Reason != "" {
		return Because(said+", which is refused", words.Reason(r.Reason))
	}
	return Aside(said, r.Detail)
}

func hookWord(r record.Record) string {
	if r.Hook.Moment() == fleet.MomentApprove {
		return approvalWord(r)
	}
	which := "the hook"
	if r.Hook != "" {
		which = Hook(r.Hook)
	}
	said := fmt.Sprintf("%s: %s says that %s %s", about(r), r.By, which, words.HookWord(r.Word))
	if r.Reason != "" {
		return Because(said+", which is refused", words.Reason(r.Reason))
	}
	return Aside(said, r.Detail)
}

func poolLeft(r record.Record) string {
	return Because(fmt.Sprintf("%s: %s is left%s", about(r), Hook(r.Hook), after(r)), words.Reason(r.Reason))
}
