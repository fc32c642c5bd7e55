package replay

import (
	"slices"
	"time"

	"hale/api"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// Nature is what was wrong with a machine, as far as its records show.
type Nature string

// The natures.
const (
	// Transient: it was not dead. A look found it alive, or it was healthy again within the patience without anybody's
	// act. To act on it would have been wrong.
	Transient Nature = "transient"
	// Failure: it was down until hale or a person did something, or for longer than the patience.
	Failure Nature = "failure"
	// Stopped: a person stopped or paused it.
	Stopped Nature = "stopped"
)

// Incident is one time at which something was wrong with a machine, as it was recorded.
type Incident struct {
	Machine  string       `json:"machine"`
	From     time.Time    `json:"from"`
	To       time.Time    `json:"to,omitzero"` // zero: not before the journal ends
	Nature   Nature       `json:"nature"`
	Cause    belief.Cause `json:"cause,omitempty"`
	Check    string       `json:"check,omitempty"`
	Result   string       `json:"result,omitempty"`
	Recorded Recorded     `json:"recorded"`
	Replayed Replayed     `json:"replayed"`
	result   fleet.ResultReason
	failed   []fleet.StepKind // steps that did not help
	cured    fleet.StepKind   // the step that did
	seen     bool             // it was unhealthy, not only suspect
	alive    time.Time        // when a look found it so
}

// Recorded is what was done about an incident.
type Recorded struct {
	Acts      []string `json:"acts"` // calls that took effect, or may have
	Healed    bool     `json:"healed"`
	Refuted   bool     `json:"refuted"` // a look found the machine alive
	Paged     bool     `json:"paged"`
	Held      []string `json:"held"`      // why nothing was done
	Suspected bool     `json:"suspected"` // it was never more than suspect
}

// over returns when the machine was well again without an act of hale; zero: it was not. A look that found it alive
// knew it before its checks did.
func (i *Incident) over() time.Time {
	switch {
	case len(i.Recorded.Acts) > 0 && i.Nature != Stopped:
		return time.Time{}
	case !i.alive.IsZero():
		return i.alive
	}
	return i.To
}

// span is a stretch of time; a zero end is open.
type span struct{ from, to time.Time }

// history is what the records of one fleet tell.
type history struct {
	incidents []*Incident
	provider  []span // the provider did not answer
	isolated  []span // hale itself was cut off
	pages     int    // about the fleet as a whole
	left      map[string]int
	open      map[string]*Incident
	suspect   map[string]*Incident
	last      map[string]*Incident // that ended
}

// tell makes out what the records of one fleet tell.
func tell(events []api.Event, patience time.Duration) *history {
	h := &history{
		left:    map[string]int{},
		open:    map[string]*Incident{},
		suspect: map[string]*Incident{},
		last:    map[string]*Incident{},
	}
	for _, e := range events {
		if e.Machine == "" {
			h.overall(e)
		} else {
			h.machine(e)
		}
	}
	// still only suspect
	h.incidents = slices.DeleteFunc(h.incidents, func(i *Incident) bool { return !i.seen && i.To.IsZero() })
	for _, i := range h.incidents {
		i.classify(patience)
	}
	slices.SortStableFunc(h.incidents, func(a, b *Incident) int { return a.From.Compare(b.From) })
	return h
}

func (h *history) overall(e api.Event) {
	reason := fleet.Reason(e.Reason)
	switch record.Kind(e.Kind) {
	case record.Paged:
		if e.Joint == "" || len(e.Domains) > 0 { // else it is about machines, or one of the domains
			h.pages++
		}
	case record.Provider:
		h.provider = stretch(h.provider, e.At, reason == fleet.ReasonDown)
	case record.Vantage:
		h.isolated = stretch(h.isolated, e.At, reason == fleet.ReasonVantageIsolated)
	default:
	}
}

// stretch begins a span, or ends the open one.
func stretch(spans []span, at time.Time, begins bool) []span {
	n := len(spans)
	isOpen := n > 0 && spans[n-1].to.IsZero()
	switch {
	case begins && !isOpen:
		return append(spans, span{from: at})
	case !begins && isOpen:
		spans[n-1].to = at
	}
	return spans
}

func (h *history) machine(e api.Event) {
	if record.Kind(e.Kind) == record.Verdict {
		h.verdict(e)
		return
	}
	i := h.open[e.Machine]
	if i == nil && record.Kind(e.Kind) == record.Verified && e.Incident != "" {
		i = h.last[e.Machine] // the verdict is told first
	}
	if i == nil {
		return // a build, a removal, or what followed an incident
	}
	r := &i.Recorded
	switch record.Kind(e.Kind) {
	case record.Look:
		if fleet.Reason(e.Reason) == fleet.ReasonRefuted && !r.Refuted {
			r.Refuted, i.alive = true, e.At
		}
	case record.Outcome:
		i.acted(e)
	case record.StepFailed:
		i.failed = append(i.failed, fleet.StepKind(e.Step))
	case record.Verified:
		r.Healed, i.cured = true, fleet.StepKind(e.Step)
	case record.Paged, record.Quarantined:
		r.Paged = true
	case record.Held:
		if !slices.Contains(r.Held, e.Reason) {
			r.Held = append(r.Held, e.Reason)
		}
	default:
	}
}

// acted notes a call that took effect, or that has an unknown outcome.
func (i *Incident) acted(e api.Event) {
	switch fleet.OutcomeKind(e.Outcome) {
	case fleet.OutcomeDone, fleet.OutcomeUnknown:
		if fleet.Op(e.Op) != fleet.OpCertify {
			i.Recorded.Acts = append(i.Recorded.Acts, e.Op)
		}
	default:
	}
}

// verdict takes in how the machine is judged: an incident lasts from the first suspicion, or the provider's word, until
// health.
func (h *history) verdict(e api.Event) {
	name := e.Machine
	switch belief.Verdict(e.Verdict) {
	case belief.VerdictSuspect:
		if h.open[name] == nil && h.suspect[name] == nil {
			h.suspect[name] = h.begin(e)
			h.suspect[name].Recorded.Suspected = true
		}
	case belief.VerdictUnhealthy:
		i := h.open[name]
		switch {
		case belief.Cause(e.Cause) == belief.CauseMissing, belief.Cause(e.Cause) == belief.CauseBuild:
			return
		case i == nil && h.suspect[name] != nil && belief.Cause(e.Cause) == belief.CauseChecks:
			i = h.suspect[name] // it began with the first failure
		case i == nil:
			i = h.begin(e)
		}
		delete(h.suspect, name)
		h.open[name] = i
		i.because(e)
	case belief.VerdictHealthy:
		for _, of := range []map[string]*Incident{h.open, h.suspect} {
			if i := of[name]; i != nil {
				i.To = e.At
				h.last[name] = i
				delete(of, name)
			}
		}
	case belief.VerdictUnknown:
		h.left["verdict unknown"]++ // unknown is not dead: there is nothing to replay
	case belief.VerdictStarting:
	}
}

func (h *history) begin(e api.Event) *Incident {
	i := &Incident{
		Machine: e.Machine, From: e.At, Check: e.Check, Result: e.Result, result: fleet.ResultReason(e.Result),
		Recorded: Recorded{Acts: []string{}, Held: []string{}},
	}
	h.incidents = append(h.incidents, i)
	return i
}

// because notes the cause. The provider's word weighs more than the checks', and the first one stands.
func (i *Incident) because(e api.Event) {
	cause := belief.Cause(e.Cause)
	i.seen, i.Recorded.Suspected = true, false
	if i.Cause == "" || i.Cause == belief.CauseChecks && cause.Stopped() && len(i.Recorded.Acts) == 0 {
		i.Cause = cause
	}
	if i.Check == "" {
		i.Check, i.Result, i.result = e.Check, e.Result, fleet.ResultReason(e.Result)
	}
}

// classify decides what it was.
func (i *Incident) classify(patience time.Duration) {
	r := i.Recorded
	switch passed := len(r.Acts) == 0 && !i.To.IsZero(); {
	case i.Cause == belief.CauseStopped || i.Cause == belief.CauseShutdown ||
		i.Cause == belief.CausePaused || i.Cause == belief.CauseRescued:
		i.Nature = Stopped
	case i.Cause.Stopped():
		i.Nature = Failure // the provider said so
	case r.Refuted && len(r.Acts) == 0, passed && !r.Paged && i.To.Sub(i.From) <= patience:
		i.Nature = Transient
	default:
		i.Nature = Failure
	}
}
