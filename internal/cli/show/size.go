package show

import (
	"fmt"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/prose"
)

func (c reader) printSize(s api.FleetSize, asJSON bool) error {
	if asJSON {
		return paper.JSON(c.Out, s)
	}
	fmt.Fprintln(c.Out, strings.Join(c.sheet().size(s, time.Now()), "\n"))
	return nil
}

// size renders how a fleet's size stands: what is asked for, what each opinion says by which numbers, and who goes.
func (p sheet) size(s api.FleetSize, now time.Time) []string {
	lines := []string{p.Paint(paper.Strong, "fleet "+s.Fleet) + fmt.Sprintf(" has %d of %s, %d healthy", s.Actual,
		prose.Machines(s.Size), s.Healthy)}
	if s.Spares > 0 {
		lines[0] += ", and " + prose.SparesOf(s.Spares)
	}
	opinions, metrics := make([]string, 0, len(s.Opinions)), make([]string, 0, len(s.Metrics))
	for _, o := range s.Opinions {
		said := o.Text
		if o.Counts {
			said += " (this one counts)"
		}
		opinions = append(opinions, said)
	}
	for _, m := range s.Metrics {
		said := m.Text
		if m.Trouble.Detail != "" {
			said += " (" + m.Trouble.Detail + ")"
		}
		metrics = append(metrics, said)
	}
	var history []string
	if s.Forecast != nil {
		history = []string{s.Forecast.Text}
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"Asked for:", s.Said}, {"Opinions:", opinions}, {"Metrics:", metrics}, {"Moves:", moves(s, now)},
		{"Going:", goers(s)}, {"Forecast, by which nothing goes:", history}, {"You can:", s.Person}} {
		if len(part.lines) == 0 {
			continue
		}
		lines = append(lines, "", p.Paint(paper.Strong, part.title))
		for _, l := range part.lines {
			lines = append(lines, "  "+l)
		}
	}
	return lines
}

// sizeLine says briefly what is asked for, where that is no plain number of the file.
func sizeLine(f api.Fleet) string {
	said := ""
	if f.Ordered != nil {
		said = f.Ordered.Text
	}
	if b := f.Bounds; b != nil {
		if said == "" {
			said = prose.Machines(f.Size)
		}
		said += fmt.Sprintf("; at least %d, at most %d", b.Min, b.Max)
		if b.Mode == string(policy.ModeObserve) {
			said += ", and only watched"
		}
	}
	return said
}

// moves says how fast the size moves, and when again.
func moves(s api.FleetSize, now time.Time) []string {
	var out []string
	for _, d := range []struct {
		word string
		pace *api.SizePace
	}{{"up", s.Up}, {"down", s.Down}} {
		if d.pace == nil {
			continue
		}
		said := fmt.Sprintf("%s: %s at most in one move", d.word, prose.Machines(d.pace.Most))
		if at := d.pace.Moved; !at.IsZero() {
			said += fmt.Sprintf("; last %s ago", prose.Span(max(0, now.Sub(at))))
		}
		if at := d.pace.Rests; at.After(now) {
			said += fmt.Sprintf("; rests until %s, %s more", paper.Moment(at.Round(time.Second), now),
				prose.Span(at.Sub(now)))
		}
		out = append(out, said)
	}
	return out
}

// goers are the machines that go, and the one that would go next.
func goers(s api.FleetSize) []string {
	var out []string
	for _, l := range s.Leaving {
		out = append(out, prose.Leaver(fleet.MachineName(l.Machine), fleet.Reason(l.Why.Code)))
	}
	if n := s.Next; n != nil {
		out = append(out, "next would be "+prose.Leaver(fleet.MachineName(n.Machine), fleet.Reason(n.Why.Code)))
	}
	return out
}
