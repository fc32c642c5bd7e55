package tracing

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

const (
	// RootWithin is how long the root span of an incident is waited for. Of one that stays open longer, the root ends
	// then, and says that the incident is open; what happens later are spans beneath it.
	RootWithin  = 24 * time.Hour
	mostEvents  = 128
	mostLinks   = 16
	longestText = 1 << 10
)

// Weaver makes spans of the records of all fleets, each fleet's in their order. A record that it has seen makes none.
type Weaver struct {
	installation fleet.Installation
	seen         map[fleet.Name]uint64
	open         map[string]*incident
}

// New makes a weaver for the installation's journal.
func New(installation fleet.Installation) *Weaver {
	return &Weaver{installation: installation, seen: map[fleet.Name]uint64{}, open: map[string]*incident{}}
}

// incident is what is known of one that is open.
type incident struct {
	id      string
	trace   TraceID
	root    SpanID
	facts   facts
	began   time.Time // the root's start
	parent  bool      // it is of several machines
	rooted  bool      // the root is woven
	events  []Event
	dropped uint32
	links   []Link
	repair  *part
	step    *part
	call    *call
}

// part is a span that has begun: a repair, or a step of it.
type part struct {
	id    SpanID
	name  string
	start time.Time
	facts facts
}

// call is one that was not answered yet.
type call struct {
	id    string
	start time.Time
	facts facts
	op    fleet.Op
}

// Weave returns the spans that ended with the record.
func (w *Weaver) Weave(r *record.Record) []Span {
	if r.Seq <= w.seen[r.Fleet] && w.seen[r.Fleet] != 0 {
		return nil
	}
	w.seen[r.Fleet] = r.Seq
	id := subject(r)
	if id == "" {
		return nil
	}
	i := w.open[id]
	if i == nil && !opens(r.Kind) {
		return nil
	}
	if i == nil {
		i = w.begin(id, r)
	}
	out := w.take(i, r)
	for k := range out {
		if s := &out[k]; s.End.Before(s.Start) { // the clock was put back
			s.End = s.Start
		}
	}
	return out
}

// opens reports whether a record of the kind shows that its incident is open, or was until now. Others come when it is
// over, too, as the word that a message was taken.
func opens(k record.Kind) bool {
	switch k {
	case record.IncidentOpen, record.IncidentClosed, record.ParentOpen, record.ParentClosed,
		record.RepairStarted, record.RepairEnded, record.StepChosen, record.StepFailed,
		record.Look, record.Intent, record.Outcome, record.Verified, record.Quarantined:
		return true
	default:
		return false
	}
}

// begin notes an incident of which this is the first record: it opens, or what came before is gone.
func (w *Weaver) begin(id string, r *record.Record) *incident {
	i := &incident{id: id, trace: traceOf(w.installation, id), parent: r.Machine == "", began: r.At}
	i.root = i.trace.Root()
	opened := r.Kind == record.IncidentOpen || r.Kind == record.ParentOpen
	i.since(r)
	i.facts.text("hale.fleet", string(r.Fleet))
	i.facts.text("hale.machine", string(r.Machine))
	i.facts.text("hale.machine.alias", r.Alias)
	i.facts.text("hale.incident", id)
	i.facts.text("hale.provider", string(r.Provider))
	if opened {
		i.facts.text("hale.cause", string(r.Cause))
		i.facts.text("hale.check", string(r.Check))
		i.facts.text("hale.check.result", string(r.Result))
		i.facts.text("hale.instance", string(r.Instance))
		i.facts.text("hale.domain", domain(r.Domain))
	}
	w.open[id] = i
	return i
}

// since takes in what the record says of when the incident began.
func (i *incident) since(r *record.Record) {
	closed := r.Kind == record.IncidentClosed || r.Kind == record.ParentClosed
	switch opened := r.At.Add(-r.Took); {
	case !r.Began.IsZero():
		i.began = r.Began
	case closed && opened.Before(i.began):
		i.began = opened
	}
}

func domain(d fleet.Domain) string {
	if d == (fleet.Domain{}) {
		return ""
	}
	return string(d.Kind) + "/" + d.Name
}

// take returns the spans of the incident that end with its record.
func (w *Weaver) take(i *incident, r *record.Record) []Span {
	switch r.Kind {
	case record.IncidentOpen:
		if r.Began.IsZero() {
			return nil
		}
		return []Span{i.span("detect", i.root, i.trace.span("detect"), r.Began, r)}
	case record.IncidentClosed, record.ParentClosed:
		delete(w.open, i.id)
		return i.close(r)
	case record.RepairStarted:
		i.repair, i.step = &part{id: i.trace.span("repair", r.Repair), name: "repair", start: r.At}, nil
		i.repair.facts.about(r)
		return nil
	case record.RepairEnded:
		return i.endRepair(r)
	case record.StepChosen:
		out := i.endStep(r, StateUnset, "")
		i.step = &part{id: i.trace.span("step", Identity(r)), name: "step " + string(r.Step), start: r.At}
		i.step.facts.about(r)
		return out
	case record.StepFailed:
		i.note(r)
		return i.endStep(r, StateFailed, string(r.Reason))
	case record.Look, record.Verified:
		return []Span{i.timed(r)}
	case record.Evidence:
		if r.Took > 0 {
			return []Span{i.timed(r)}
		}
	case record.Intent:
		out := i.endCall(r, "")
		i.call = &call{id: r.Call, start: r.At, op: r.Op}
		i.call.facts.about(r)
		return out
	case record.Outcome:
		if i.answers(r) {
			return i.endCall(r, r.Outcome)
		}
	case record.ChildJoined:
		i.link(w.installation, r.Parent)
	default: // it happened at one moment
	}
	i.note(r)
	return nil
}

// answers reports whether the outcome is the first word on the call under way, or on one with an intent that is gone.
func (i *incident) answers(r *record.Record) bool {
	if i.call != nil {
		return i.call.id == r.Call
	}
	if r.Took <= 0 {
		return false
	}
	i.call = &call{id: r.Call, start: r.At.Add(-r.Took), op: r.Op}
	i.call.facts.about(r)
	return true
}

// endCall weaves the call under way, if there is one: it ends with the record, and with the outcome if that is known.
func (i *incident) endCall(r *record.Record, o fleet.OutcomeKind) []Span {
	c := i.call
	if c == nil {
		return nil
	}
	i.call = nil
	s := Span{Trace: i.trace, ID: i.trace.span("call", cmp.Or(c.id, Identity(r))), Parent: i.under(),
		Name: "call " + string(c.op), Calls: true, Start: c.start, End: r.At}
	c.facts.text("hale.outcome", string(o))
	switch o {
	case fleet.OutcomeDone:
		s.State = StateOK
	case "", fleet.OutcomeUnknown: // it may have had its effect
	default:
		s.State, s.Why = StateFailed, cmp.Or(r.Detail, string(o))
	}
	if o != "" {
		c.facts.text("hale.detail", r.Detail)
		c.facts.text("hale.proof", string(r.Proof))
	}
	s.Attributes = c.facts
	return []Span{s}
}

// endStep weaves the step under way, if there is one, and its call before.
func (i *incident) endStep(r *record.Record, state State, why string) []Span {
	out := i.endCall(r, "")
	if p := i.step; p != nil {
		i.step = nil
		out = append(out, Span{Trace: i.trace, ID: p.id, Parent: i.aloft(), Name: p.name, Start: p.start, End: r.At,
			State: state, Why: why, Attributes: p.facts})
	}
	return out
}

func (i *incident) endRepair(r *record.Record) []Span {
	state, why := StateFailed, string(r.Reason)
	if mended(r.Reason) {
		state, why = StateOK, ""
	}
	out := i.endStep(r, state, why)
	p := i.repair
	if p == nil {
		p = &part{id: i.trace.span("repair", r.Repair), name: "repair", start: r.At.Add(-r.Took)}
		p.facts.about(r)
	}
	i.repair = nil
	p.facts.text("hale.end", string(r.Reason))
	return append(out, Span{Trace: i.trace, ID: p.id, Parent: i.root, Name: p.name, Start: p.start, End: r.At,
		State: state, Why: why, Attributes: p.facts})
}

// mended reports whether a repair with the end did what it was for, or had nothing to do.
func mended(end fleet.Reason) bool {
	switch end {
	case fleet.ReasonHealed, fleet.ReasonBuilt, fleet.ReasonUpdated, fleet.ReasonInForce,
		fleet.ReasonUndone, fleet.ReasonRemoved,
		fleet.ReasonRefuted, fleet.ReasonVanished:
		return true
	default:
		return false
	}
}

// close weaves what is left of the incident, and its root.
func (i *incident) close(r *record.Record) []Span {
	out := i.endStep(r, StateUnset, "")
	if p := i.repair; p != nil {
		out = append(out, Span{Trace: i.trace, ID: p.id, Parent: i.root, Name: p.name, Start: p.start, End: r.At,
			Attributes: p.facts})
	}
	i.since(r)
	if i.rooted || r.At.Sub(i.began) > RootWithin {
		if !i.rooted {
			out = append(out, i.rootOpen())
		}
		s := i.span("close", i.root, i.trace.span("close", Identity(r)), r.At, r)
		s.State, s.Events, s.Dropped = StateOK, i.events, i.dropped
		return append(out, s)
	}
	s := i.rootSpan(r.At)
	s.State = StateOK
	f := facts(s.Attributes)
	f.text("hale.end", string(r.Reason))
	f.text("hale.instance.last", string(r.Instance))
	s.Attributes = f
	return append(out, s)
}

func (i *incident) rootSpan(end time.Time) Span {
	name := "incident"
	if i.parent {
		name = "parent incident"
	}
	return Span{Trace: i.trace, ID: i.root, Name: name, Start: i.began, End: end, Attributes: slices.Clone(i.facts),
		Events: i.events, Dropped: i.dropped, Links: i.links}
}

// rootOpen is the root of an incident that stayed open for too long.
func (i *incident) rootOpen() Span {
	s := i.rootSpan(i.began.Add(RootWithin))
	s.Attributes = append(s.Attributes, Attribute{"hale.open", true})
	later := slices.IndexFunc(i.events, func(e Event) bool { return e.At.After(s.End) })
	if later < 0 {
		later = len(i.events)
	}
	s.Events = slices.Clone(i.events[:later])
	i.rooted, i.events = true, slices.Clone(i.events[later:])
	return s
}

// Overdue returns the roots of the incidents that have been open for too long by now, once each.
func (w *Weaver) Overdue(now time.Time) []Span {
	var out []Span
	for _, i := range w.open {
		if !i.rooted && now.Sub(i.began) > RootWithin {
			out = append(out, i.rootOpen())
		}
	}
	slices.SortFunc(out, func(a, b Span) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return out
}

// timed is what took the record's time.
func (i *incident) timed(r *record.Record) Span {
	name := map[record.Kind]string{
		record.Look: "look", record.Verified: "verify", record.Evidence: "evidence",
	}[r.Kind]
	s := i.span(name, i.under(), i.trace.span(name, Identity(r)), r.At.Add(-r.Took), r)
	if r.Kind == record.Verified {
		s.State = StateOK
	}
	return s
}

// span is one that ends with the record, which says what it is about.
func (i *incident) span(name string, parent, id SpanID, start time.Time, r *record.Record) Span {
	var f facts
	f.about(r)
	return Span{Trace: i.trace, ID: id, Parent: parent, Name: name, Start: start, End: r.At, Attributes: f}
}

// under is the span that what is done now lies beneath.
func (i *incident) under() SpanID {
	if i.step != nil {
		return i.step.id
	}
	return i.aloft()
}

// aloft is the span that a step lies beneath.
func (i *incident) aloft() SpanID {
	if i.repair != nil {
		return i.repair.id
	}
	return i.root
}

// note makes an event of the record.
func (i *incident) note(r *record.Record) {
	if len(i.events) == mostEvents {
		i.dropped++
		return
	}
	var f facts
	f.about(r)
	i.events = append(i.events, Event{At: r.At, Name: string(r.Kind), Attributes: f})
}

func (i *incident) link(installation fleet.Installation, parent string) {
	t := traceOf(installation, parent)
	to := Link{Trace: t, Span: t.Root()}
	if parent != "" && len(i.links) < mostLinks && !slices.Contains(i.links, to) {
		i.links = append(i.links, to)
	}
}

// about says what the record says. What a command printed is left out: it is long, and lies in the journal.
func (f *facts) about(r *record.Record) {
	f.number("hale.record", int64(r.Seq)) //nolint:gosec // a journal has fewer records
	f.text("hale.reason", string(r.Reason))
	f.text("hale.repair", r.Repair)
	f.text("hale.step", string(r.Step))
	f.text("hale.op", string(r.Op))
	f.text("hale.call", r.Call)
	f.text("hale.verdict", string(r.Verdict))
	f.text("hale.cause", string(r.Cause))
	f.text("hale.check", string(r.Check))
	f.text("hale.check.result", string(r.Result))
	f.text("hale.instance", string(r.Instance))
	f.number("hale.generation", int64(r.Generation)) //nolint:gosec // it counts instances of one machine
	f.text("hale.host", string(r.Host))
	f.text("hale.provider", string(r.Provider))
	f.text("hale.proof", string(r.Proof))
	f.text("hale.order", string(r.Order))
	f.text("hale.by", r.By)
	f.text("hale.target", string(r.Target))
	f.text("hale.parent", r.Parent)
	if r.Kind != record.Output && r.Kind != record.Outcome {
		f.text("hale.detail", r.Detail)
	}
}
