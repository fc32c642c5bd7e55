package chronicle

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/sim/script"
)

// Trace writes a run as an operator would read it: one line for each event of the plan ("! …"), and one for each
// record. The same goes into the history, where one is kept.
type Trace struct {
	out     io.Writer
	history *History
	names   map[fleet.InstanceID]fleet.InstanceID
}

// NewTrace returns a trace that is written to w and kept in the history; both may be nil.
func NewTrace(w io.Writer, h *History) *Trace {
	return &Trace{out: w, history: h, names: map[fleet.InstanceID]fleet.InstanceID{}}
}

// Say tells what is neither an event nor a record, about a machine or, if it is empty, about the whole.
func (t *Trace) Say(at time.Duration, machine, what string) {
	t.history.note(Moment{At: at, Machine: machine, said: what})
	t.write(at, what)
}

// Record tells what hale said.
func (t *Trace) Record(at time.Duration, r record.Record) {
	if r.Kind == record.Evidence {
		return // it changes nothing that the reader of a scenario wants to know
	}
	if r.Instance != "" {
		r.Instance = t.Name(r.Instance)
	}
	if r.Reason == fleet.ReasonAwaitsWord || r.Reason == fleet.ReasonTakenBack ||
		r.Reason == fleet.ReasonConfirmedPlan {
		r.Detail = "" // a plan's name depends on where the template's files lie
	}
	if t.history != nil {
		kept := r // only here, so that nothing is allocated for a run without a history
		t.history.note(Moment{At: at, Machine: string(r.Machine), Record: &kept})
	}
	if t.out != nil {
		t.write(at, sentence(r))
	}
}

// Event tells what the plan does now.
func (t *Trace) Event(at time.Duration, e *script.Event) {
	t.history.note(Moment{At: at, Machine: machineOf(e), Event: e})
	t.write(at, eventLine(*e))
}

// Over tells that an event of the plan is over.
func (t *Trace) Over(at time.Duration, e *script.Event) {
	t.history.note(Moment{At: at, Machine: machineOf(e), Event: e, Over: true})
	t.write(at, overLine(*e))
}

func (t *Trace) write(at time.Duration, what string) {
	if t.out == nil {
		return
	}
	_, _ = fmt.Fprintf(t.out, "%s  %s\n", Stamp(at), what) // a trace that cannot be written must not change the run
}

func eventLine(e script.Event) string { return "! " + e.String() }

func overLine(e script.Event) string {
	e.For = 0
	return "! over: " + e.String()
}

// Name returns what the reader knows an instance by: vm-1, vm-2 and so on, in the order in which they are heard of.
// Real ids are long, and prose cuts them where these would not differ.
func (t *Trace) Name(id fleet.InstanceID) fleet.InstanceID {
	known, ok := t.names[id]
	if !ok {
		known = fleet.InstanceID("vm-" + strconv.Itoa(len(t.names)+1))
		t.names[id] = known
	}
	return known
}

// Stamp renders a time of a run as days, hours, minutes and seconds since the beginning.
func Stamp(at time.Duration) string {
	s := at.Truncate(time.Second)
	return fmt.Sprintf("%2dd %02d:%02d:%02d", int(s.Hours())/24, int(s.Hours())%24, int(s.Minutes())%60,
		int(s.Seconds())%60)
}
