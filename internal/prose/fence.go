package prose

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// hostProof is about what people know of a host that does not answer.
func hostProof(r record.Record) string {
	said := "a person says that " + hostOf(r) + " is off"
	if r.Proof == fleet.ProofHostOff {
		said = "a power controller says that " + hostOf(r) + " is off, asked by a person"
	}
	said = Aside(about(r)+": "+said, r.By)
	if r.Reason != "" {
		return Because(said+", and that counts no more", words.Reason(r.Reason))
	}
	return Because(said+", and that counts"+during(r), r.Detail)
}

// hostCut tells how it ended that a person had a host's power cut.
func hostCut(r record.Record) string {
	said := "the power of " + hostOf(r) + " was to be cut, and nothing proved it off"
	if r.Proof == fleet.ProofHostOff {
		said = "its power controller says that " + hostOf(r) + " is off; a later repair asks it again"
	}
	return Because(Aside(about(r)+": "+said, r.By), r.Detail)
}

// hostUncut tells how it ended that a person had a host given its access back.
func hostUncut(r record.Record) string {
	said := hostOf(r) + " has its access to storage and network back"
	if r.Proof == fleet.ProofAccessCut {
		said = hostOf(r) + " was to have its access to storage and network back, and nothing says that it has"
	}
	return Because(Aside(about(r)+": "+said, r.By), r.Detail)
}

// fenceOutcomes are how a try to cut a host's power ends. The others are said as of any call.
var fenceOutcomes = map[fleet.OutcomeKind]string{
	fleet.OutcomeDone:        "it is off, its power controller says",
	fleet.OutcomeUnknown:     "it is unknown whether it took effect, so the power controller is asked again",
	fleet.OutcomeRetry:       "its power controller did not answer",
	fleet.OutcomeFailed:      "its power controller does not say that it is off",
	fleet.OutcomeNotSent:     "it was not sent",
	fleet.OutcomeConflict:    "its power controller refused",
	fleet.OutcomeNotFound:    "there is no such power controller",
	fleet.OutcomeRefused:     "its power controller refused",
	fleet.OutcomeUnsupported: "its power controller cannot",
}

// cutOf says what is cut.
func cutOf(r record.Record) string {
	if r.Proof == fleet.ProofAccessCut {
		return "access to storage or network"
	}
	return "power"
}

// fenceOutcome tells how a try to fence a host ended.
func fenceOutcome(r record.Record) string {
	ended := words.Of(fenceOutcomes, r.Outcome)
	if r.Outcome == fleet.OutcomeDone && r.Proof == fleet.ProofAccessCut {
		ended = "it is cut, and may run on"
	}
	return Aside(fmt.Sprintf("%s: cut the %s of the host of %s: %s", atStep(r), cutOf(r), instance(r), ended)+after(r),
		r.Detail)
}

func hostOf(r record.Record) string {
	if r.Host == "" {
		return "the host"
	}
	return "host " + string(r.Host)
}

func during(r record.Record) string {
	if r.Took <= 0 {
		return ""
	}
	return " for " + Span(r.Took)
}

// leftBehind is about an instance that stays on a host which is off.
func leftBehind(r record.Record) string {
	return fmt.Sprintf("%s: the old %s stays where it is, and is removed when the host is back", atStep(r), instance(r))
}
