package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"hale/internal/api"
	"hale/internal/fleet"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

func (c *commander) whyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "why MACHINE", Short: "Say why a machine is as it is, what was done about it, and what was not",
		Args: cobra.ExactArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			client, err := c.dial()
			if err != nil {
				return err
			}
			defer client.Close()
			w, err := client.Why(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.Out, w)
			}
			paper := screenOf(c.Out, c.Getenv).paper()
			fmt.Fprintln(c.Out, strings.Join(paper.why(w, time.Now()), "\n"))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printJSON prints for programs, but so that people can read it.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// why renders the chain from evidence to act, in now's time zone.
func (p paper) why(w api.Why, now time.Time) []string {
	m := w.Machine
	head := p.paint(strong, prose.Called(fleet.MachineName(m.Name), m.Alias)) + " is " + p.paint(verdictStyle(m.Verdict), m.Verdict)
	if !m.Since.IsZero() {
		head += fmt.Sprintf(" since %s (%s)", moment(m.Since, now), prose.Span(now.Sub(m.Since)))
	}
	lines := []string{head}
	for _, part := range []struct {
		title string
		lines []string
	}{{"Because:", w.Because}, {"Now:", w.Doing}, {"You can:", w.Person}} {
		if len(part.lines) == 0 {
			continue
		}
		lines = append(lines, "", p.paint(strong, part.title))
		for _, l := range part.lines {
			lines = append(lines, "  "+l)
		}
	}
	if len(w.Timeline) == 0 {
		return lines
	}
	title := "What happened:"
	switch {
	case w.Incident != "" && m.Incident != nil:
		title = fmt.Sprintf("What happened (incident %s, open):", w.Incident)
	case w.Incident != "":
		title = fmt.Sprintf("What happened last (incident %s):", w.Incident)
	}
	lines = append(lines, "", p.paint(strong, title))
	for _, e := range w.Timeline {
		lines = append(lines, "  "+p.paint(faint, moment(e.At, now))+"  "+e.Text)
	}
	return lines
}

// moment renders a time of today as a time of day, and any other with its date.
func moment(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return prose.Clock(t)
	}
	return t.Format(time.DateOnly) + " " + prose.Clock(t)
}
