package chronicle

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose"
	"hale/internal/sim/law"
	"hale/internal/sim/script"
	"hale/internal/sim/world"
)

// History is what a run was like, for a report. A run keeps one only when it is given one (Options.History): it is
// large, and a survey of many runs needs none of it.
type History struct {
	Moments []Moment      // in order
	Outages []Outage      // by their beginning; machines that were down at the end are among them
	Acts    []Act         // the changing calls that took effect, in order
	End     time.Duration // of the run

	name     fleet.Name
	open     map[int]int   // index in Outages, by ordinal
	striking *script.Event // the event of the plan that is happening now
}

// Moment is something that happened, or that hale said.
type Moment struct {
	At      time.Duration  // since the beginning
	Machine string         // empty: about the fleet as a whole, its provider, hosts or servers
	Record  *record.Record // what hale said; nil: it is no record
	Event   *script.Event  // what the plan did; nil: it did nothing
	Over    bool           // the event is over
	said    string         // what is neither
}

// Line says the moment as a trace does, without its time.
func (m Moment) Line() string {
	switch {
	case m.Record != nil:
		return sentence(*m.Record)
	case m.Event == nil:
		return m.said
	case m.Over:
		return overLine(*m.Event)
	}
	return eventLine(*m.Event)
}

// Outage is a time during which a machine did not serve its users, by truth.
type Outage struct {
	Machine  string
	From, To time.Duration
	Open     bool          // it was not over at the end, which To is then
	Event    *script.Event // what brought it about; nil: no event of the plan did
	ByCall   bool          // a call brought it about: hale's own, in time or late
	Healable bool          // hale could and should have healed it without a person
	Unseen   bool          // the policy does not call this a failure: no check asks for what was lost
	Paged    bool          // a person was told of it, or of something that covers it
	PagedAt  time.Duration
	Late     bool // healed, later than one pass of the ladder takes
	Ended    Ending
}

// Ending is how an outage ended.
type Ending string

// The endings.
const (
	EndedByHale   Ending = "hale"   // after a call of hale's
	EndedByItself Ending = "itself" // without anybody's doing
	EndedByPerson Ending = "person" // the operator mended it
	NotEnded      Ending = ""
)

// Act is a changing call that took effect.
type Act struct {
	At      time.Duration // when it was sent
	Machine string
	Op      world.Op
	Wrong   Wrong // empty: it was not
}

// Wrong is what was wrong with an act, or nearly so.
type Wrong = law.Wrong

// Around returns the moments about the machine, or about the whole, from before the time until after it, the last most
// of them.
func (h *History) Around(machine string, at, before, after time.Duration, most int) []Moment {
	var out []Moment
	from, _ := slices.BinarySearchFunc(h.Moments, at-before, func(m Moment,
		t time.Duration) int {
		return int(m.At - t)
	})
	for _, m := range h.Moments[from:] {
		if m.At > at+after {
			break
		}
		if m.Machine == machine || m.Machine == "" {
			out = append(out, m)
		}
	}
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return out
}

// The methods below are called by the run. They do nothing for a run without a history.

// Begin starts a history of the fleet.
func (h *History) Begin(name fleet.Name) {
	if h != nil {
		*h = History{name: name, open: map[int]int{}}
	}
}

func (h *History) note(m Moment) {
	if h != nil {
		h.Moments = append(h.Moments, m)
	}
}

// Close notes when the run ended.
func (h *History) Close(end time.Duration) {
	if h != nil {
		h.End = end
	}
}

// Strike notes which event happens until the returned function is called.
func (h *History) Strike(e *script.Event) (over func()) {
	if h == nil {
		return func() {}
	}
	h.striking = e
	return func() { h.striking = nil }
}

// Down begins an outage of the machine.
func (h *History) Down(n int, from time.Duration) {
	if h == nil {
		return
	}
	h.open[n] = len(h.Outages)
	h.Outages = append(h.Outages, Outage{Machine: string(h.name.Machine(n)), From: from, Event: h.striking})
}

// Up ends the outage of the machine, or closes the book on it: it was, beyond how it began, as is says.
func (h *History) Up(n int, is Outage) {
	if h == nil {
		return
	}
	i, known := h.open[n]
	if !known {
		return
	}
	delete(h.open, n)
	began := &h.Outages[i]
	is.Machine, is.From, is.Event, is.ByCall = began.Machine, began.From, began.Event, began.ByCall
	*began = is
}

// Acted notes that a call took effect now.
func (h *History) Acted(c *world.Call, wrong Wrong) {
	if h == nil {
		return
	}
	h.Acts = append(h.Acts, Act{At: c.Sent, Machine: c.Mark.Machine, Op: c.Op, Wrong: wrong})
	n, _ := fleet.MachineName(c.Mark.Machine).Ordinal()
	if i, down := h.open[n]; down && h.Outages[i].From == c.At && h.Outages[i].Event == nil {
		h.Outages[i].ByCall = true
	}
}

// machineOf returns the event's subject where it is a machine.
func machineOf(e *script.Event) string {
	switch script.SubjectKind(e.Subject) {
	case "machine":
		return e.Subject
	case "person":
		return e.Arg
	}
	return ""
}

// sentence is a record as a trace says it.
func sentence(r record.Record) string {
	r.Took = r.Took.Round(time.Second)
	return prose.Sentence(r)
}
