package sim

import (
	"fmt"
	"io"
	"time"

	"hale/internal/fleet"
	"hale/internal/prose"
)

// trace writes a run as an operator would read it: one line for each event of the plan ("! …"), and one for each record.
type trace struct{ out io.Writer }

func newTrace(w io.Writer) *trace { return &trace{out: w} }

func (t *trace) say(at time.Duration, what string) {
	if t.out == nil {
		return
	}
	_, _ = fmt.Fprintf(t.out, "%s  %s\n", stamp(at), what) // a trace that cannot be written must not change the run
}

func (t *trace) record(at time.Duration, r fleet.Record) {
	if t.out == nil {
		return
	}
	r.Took = r.Took.Round(time.Second)
	t.say(at, prose.Sentence(r))
}

// stamp writes a time as days, hours, minutes and seconds since the beginning.
func stamp(at time.Duration) string {
	s := at.Truncate(time.Second)
	return fmt.Sprintf("%2dd %02d:%02d:%02d", int(s.Hours())/24, int(s.Hours())%24, int(s.Minutes())%60, int(s.Seconds())%60)
}

// span writes a duration as people do: 1h30m, not 1h30m0s.
func span(d time.Duration) string { return prose.Span(d) }
