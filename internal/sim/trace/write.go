package trace

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Write writes a trace as CSV that [Read] gives back unchanged, with times in seconds. A trace that does not pass
// [Trace.Check] is refused, and nothing is written.
func Write(w io.Writer, t Trace) error {
	if err := t.Check(); err != nil {
		return fmt.Errorf("writing a trace: %w", err)
	}
	out := csv.NewWriter(w)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = string(c)
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for _, o := range t {
		end := ""
		if o.End != 0 {
			end = inSeconds(o.End)
		}
		if err := out.Write([]string{inSeconds(o.Start), end, o.Node, o.Rack, o.Room, o.Cause}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// inSeconds renders a time exactly, without needless zeros.
func inSeconds(d time.Duration) string {
	text := strconv.FormatInt(int64(d/time.Second), 10)
	if rest := d % time.Second; rest != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%09d", int64(rest)), "0")
	}
	return text
}
