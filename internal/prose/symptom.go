package prose

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// symptom says what is wrong, as a person sees it: never which step of the ladder comes to tell them.
func symptom(r record.Record, story []record.Record) string {
	switch {
	case r.Machine != "":
		return machineSymptom(r, story)
	case r.Joint != "":
		return jointSymptom(r)
	case r.Reason == fleet.ReasonDown && r.Provider != "":
		return "provider " + string(r.Provider) + " does not answer"
	}
	return Because(subjectOfPage(r), whyPaged(r))
}

func machineSymptom(r record.Record, story []record.Record) string {
	sick := sickening(r, story)
	if sick.Cause == belief.CauseBuild {
		return Because(about(r)+" could not be built", buildFailed(r, sick))
	}
	state, why := stateOf(sick)
	if state == "" && ladder[r.Reason] {
		return about(r) + " is not healthy"
	}
	if state == "" {
		return Because(about(r), Aside(whyPaged(r), r.Detail))
	}
	said := about(r) + " is " + state
	if d := r.At.Sub(sick.At); d >= time.Second {
		said = about(r) + " has been " + state + " for " + Span(d.Round(time.Second))
	}
	if hides[r.Reason] {
		return Because(said, why)
	}
	return Because(said, Aside(words.Reason(r.Reason), r.Detail))
}

// buildFailed says by what a build failed.
func buildFailed(r, sick record.Record) string {
	if !hides[r.Reason] {
		return Aside(words.Reason(r.Reason), r.Detail)
	}
	return Finding(sick.Check, sick.Result, sick.Detail)
}

// sickening is the record from which on the machine was as it is: the last verdict that changed what is wrong with it.
func sickening(r record.Record, story []record.Record) record.Record {
	var found record.Record
	for _, s := range story {
		switch {
		case s.Machine != r.Machine || s.Kind != record.Verdict && s.Kind != record.IncidentOpen:
		case s.Kind == record.Verdict && s.Verdict != belief.VerdictUnhealthy && s.Verdict != belief.VerdictUnknown:
		case s.Cause != "" && s.Cause != found.Cause:
			found = s
		case s.Cause != "" && found.Check == "":
			found.Check, found.Result, found.Detail = s.Check, s.Result, s.Detail
		}
	}
	return found
}

// hides are the reasons for a page that say nothing of what is wrong, but only how hale comes to tell it.
var hides = map[fleet.Reason]bool{
	fleet.ReasonHoldExpired: true, fleet.ReasonStepPage: true, fleet.ReasonStepLeave: true, fleet.ReasonExhausted: true,
	fleet.ReasonAttempts: true, fleet.ReasonBlind: true, fleet.ReasonNotVerified: true, fleet.ReasonIOError: true,
	fleet.ReasonNoStep: true, fleet.ReasonRunFailed: true, fleet.ReasonApproval: true, fleet.ReasonDenied: true,
	fleet.ReasonUnapproved: true,
}

// ladder are those of them that name a step of the ladder, or the whole of it.
var ladder = map[fleet.Reason]bool{
	fleet.ReasonStepPage: true, fleet.ReasonStepLeave: true, fleet.ReasonExhausted: true, fleet.ReasonNoStep: true,
}

// stateOf says how a machine is, as in "it has been …", and why; empty: nothing is known of that.
func stateOf(r record.Record) (state, why string) {
	switch r.Cause {
	case belief.CauseOff:
		return "off", "the provider does not say what turned it off"
	case belief.CauseStopped:
		return "off", "it was stopped from outside"
	case belief.CauseShutdown:
		return "off", "it shut down in order"
	case belief.CauseParked:
		return "off", "a person had hale turn it off"
	case belief.CauseSpareOff:
		return "off", "it stands by as a spare"
	case belief.CauseGone:
		return "gone", "the provider says its instance does not exist"
	case belief.CauseCrashed, belief.CausePanic:
		return "down", "it crashed"
	case belief.CausePaused:
		return "paused", "it was paused from outside"
	case belief.CauseError:
		return "down", "the provider says it is broken"
	case belief.CauseSuspended:
		return "suspended", "it suspended itself"
	case belief.CauseRescued:
		return "in rescue", "another system runs in its place"
	case belief.CauseIOError:
		return "paused", "a write to its disk failed"
	case belief.CauseChecks:
		why = Finding(r.Check, r.Result, r.Detail)
		if why == "" {
			why = "its checks fail"
		}
		return "down", why
	case belief.CauseMissing:
		return "missing", "no instance of it was built yet"
	case belief.CauseBlind:
		return "out of sight", "nothing certain is known of it, neither by its checks nor by its provider"
	case belief.CauseDisabled:
		return "on a disabled host", ""
	case belief.CauseMarked:
		return "down", "a word from outside says that it fails"
	case belief.CauseNone, belief.CauseOrdered, belief.CauseBuild:
	}
	return "", ""
}
