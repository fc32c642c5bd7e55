package sim

import (
	"fmt"
	"io"
	"time"

	"hale/internal/fleet"
	"hale/internal/prose"
)

// trace writes a run as an operator would read it: one line for each event of the plan ("! …"), and one for each record.
// The same goes into the history, where one is kept.
type trace struct {
	out     io.Writer
	history *History
}

// say tells what is neither an event nor a record, about a machine or, if it is empty, about the whole.
func (t *trace) say(at time.Duration, machine, what string) {
	t.history.note(Moment{At: at, Machine: machine, said: what})
	t.write(at, what)
}

func (t *trace) record(at time.Duration, r fleet.Record) {
	if t.history != nil {
		kept := r // only here, so that nothing is allocated for a run without a history
		t.history.note(Moment{At: at, Machine: string(r.Machine), Record: &kept})
	}
	if t.out != nil {
		t.write(at, sentence(r))
	}
}

func (t *trace) event(at time.Duration, e *Event) {
	t.history.note(Moment{At: at, Machine: machineOf(e), Event: e})
	t.write(at, eventLine(*e))
}

func (t *trace) over(at time.Duration, e *Event) {
	t.history.note(Moment{At: at, Machine: machineOf(e), Event: e, Over: true})
	t.write(at, overLine(*e))
}

func (t *trace) write(at time.Duration, what string) {
	if t.out == nil {
		return
	}
	_, _ = fmt.Fprintf(t.out, "%s  %s\n", stamp(at), what) // a trace that cannot be written must not change the run
}

func eventLine(e Event) string { return "! " + e.String() }

func overLine(e Event) string { return "! over: " + e.Subject + " " + string(e.Verb) }

// stamp writes a time as days, hours, minutes and seconds since the beginning.
func stamp(at time.Duration) string {
	s := at.Truncate(time.Second)
	return fmt.Sprintf("%2dd %02d:%02d:%02d", int(s.Hours())/24, int(s.Hours())%24, int(s.Minutes())%60, int(s.Seconds())%60)
}

// span writes a duration as people do: 1h30m, not 1h30m0s.
func span(d time.Duration) string { return prose.Span(d) }
