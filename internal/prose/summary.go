package prose

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// summary says how much hale healed since the target was told last.
func summary(r record.Record) string {
	s := r.Summary
	if s == nil {
		s = &belief.Summary{Since: r.At.Add(-r.Took)}
	}
	said := fmt.Sprintf("fleet %s: since %s UTC hale healed ", r.Fleet, s.Since.UTC().Format("2006-01-02 15:04"))
	if s.Count == 0 {
		return said + "nothing"
	}
	steps := make([]string, 0, len(s.Steps))
	for _, c := range s.Steps {
		steps = append(steps, fmt.Sprintf("%s %d", c.Step, c.N))
	}
	return Aside(said+times(s.Count), fmt.Sprintf("%s; %s down in all", strings.Join(steps, ", "), Span(s.Down)))
}

// healedLines are the repairs that a summary names.
func healedLines(s *belief.Summary) []string {
	if s == nil {
		return nil
	}
	var lines []string
	for _, n := range s.First {
		lines = append(lines, fmt.Sprintf("%s  %s by %s, after %s", n.At.UTC().Format(time.DateTime),
			Called(n.Machine, n.Alias), n.Step, Span(n.Took)))
	}
	if more := s.Count - len(s.First); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

// healedBy says that hale healed a machine.
func healedBy(r record.Record) string {
	said := "healed " + Called(r.Machine, r.Alias)
	if r.Step != "" {
		said += " by " + string(r.Step)
	}
	return Aside(said+after(r), words.Cause(r.Cause))
}
