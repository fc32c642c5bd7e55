package show

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

func (c reader) whyCommand() *cobra.Command {
	var asJSON, size bool
	cmd := &cobra.Command{
		Use:   "why MACHINE|FLEET [--size]",
		Short: "Say why a machine is as it is, what was done about it, and what was not; or what holds a fleet",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: c.CompleteSubjects,
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			if size {
				s, err := client.FleetSize(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.printSize(s, asJSON)
			}
			w, err := client.Why(cmd.Context(), args[0])
			var unknown api.Problem
			if errors.As(err, &unknown) && unknown.Code == api.CodeUnknownMachine {
				f, none := client.WhyFleet(cmd.Context(), args[0])
				if none == nil {
					return c.printFleetWhy(f, asJSON)
				}
			}
			return c.Print(err, command.Answer{What: w, JSON: asJSON, Lines: func() []string {
				return c.sheet().why(w, time.Now())
			}})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&size, "size", false,
		"of a fleet: how many machines are wanted, by which numbers, and who would go")
	return cmd
}

// why renders the chain from evidence to act, in now's time zone.
func (p sheet) why(w api.Why, now time.Time) []string {
	m := w.Machine
	head := p.Paint(paper.Strong, prose.Called(fleet.MachineName(m.Name), m.Alias)) + " is " +
		p.Paint(VerdictStyle(m.Verdict), m.Verdict)
	if !m.Since.IsZero() {
		head += fmt.Sprintf(" since %s (%s)", paper.Moment(m.Since, now), prose.Span(now.Sub(m.Since)))
	}
	lines := []string{head}
	for _, part := range []struct {
		title string
		lines []string
	}{{"Because:", w.Because}, {"Now:", w.Doing}, {"You can:", w.Person}} {
		if len(part.lines) == 0 {
			continue
		}
		lines = append(lines, "", p.Paint(paper.Strong, part.title))
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
	lines = append(lines, "", p.Paint(paper.Strong, title))
	for _, e := range w.Timeline {
		lines = append(lines, "  "+p.Paint(paper.Faint, paper.Moment(e.At, now))+"  "+e.Text)
	}
	return lines
}

func (c reader) printFleetWhy(w api.FleetWhy, asJSON bool) error {
	if asJSON {
		return paper.JSON(c.Out, w)
	}
	fmt.Fprintln(c.Out, strings.Join(c.sheet().whyFleet(w, time.Now()), "\n"))
	return nil
}

// whyFleet renders what holds a fleet, and a line for each machine that is not healthy.
func (p sheet) whyFleet(w api.FleetWhy, now time.Time) []string {
	lines := []string{p.headline("fleet "+w.Fleet.Name, headParts(w.Fleet, now))}
	holding := w.Holding
	if len(holding) == 0 {
		holding = []string{"nothing holds it"}
	}
	var sick []string
	for _, m := range w.Fleet.Machines {
		if ill(m) {
			sick = append(sick, sickness(m, now))
		}
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"Holding it:", holding}, {"Not healthy:", sick}, {"You can:", w.Person}} {
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

// sickness says in a line how a machine is, and what is done about it.
func sickness(m api.Machine, now time.Time) string {
	said := prose.Called(fleet.MachineName(m.Name), m.Alias) + " is " + m.Verdict
	if !m.Since.IsZero() {
		said += " for " + prose.Span(max(0, now.Sub(m.Since)))
	}
	if m.Text != "" {
		said += ": " + m.Text
	}
	switch {
	case m.Quarantine != nil:
		said += "; in quarantine: " + m.Quarantine.Reason.Text
	case m.Repair != nil:
		said += "; " + m.Repair.Text
	case m.Waiting.Code != "":
		said += "; held: " + m.Waiting.Text
		if m.Waiting.Detail != "" {
			said += " (" + m.Waiting.Detail + ")"
		}
	}
	return said
}
