package play

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/prose"
	"hale/internal/trial/replay"

	"github.com/spf13/cobra"
)

// rematch is what hale replay is asked for.
type rematch struct {
	policy   string
	fleet    string
	patience time.Duration
	seed     uint64
	json     bool
}

func (c player) replayCommand() *cobra.Command {
	var r rematch
	cmd := &cobra.Command{
		Use:   "replay JOURNAL --policy FILE|DIR",
		Short: "Say what another policy would have done about what a journal tells of",
		Long: "Reads what hale events --json wrote (- reads standard input), plays what was wrong with each\n" +
			"machine under another policy in a simulated world, and compares. A journal tells what hale saw\n" +
			"change, not what would have been after another act; the rules by which that is decided are printed\n" +
			"with the outcome.",
		Args: cobra.ExactArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			order, err := c.rematch(r, args[0], cmd.InOrStdin())
			if err != nil {
				return command.Usage(err)
			}
			out, err := replay.Compare(order)
			if err != nil {
				return command.Usage(err)
			}
			if r.json {
				return paper.JSON(c.Out, out)
			}
			_, err = io.WriteString(c.Out, strings.Join(c.sheet().comparison(out), "\n")+"\n")
			return err
		}),
	}
	f := cmd.Flags()
	f.StringVar(&r.policy, "policy", "", "the configuration with the policy to compare (needed)")
	f.StringVar(&r.fleet, "fleet", "", "this fleet of the journal only")
	f.DurationVar(&r.patience, "patience", 15*time.Minute,
		"a machine that was healthy again so soon, untouched, was not dead")
	f.Uint64Var(&r.seed, "seed", 1, "what boots and calls take their time from")
	f.BoolVar(&r.json, "json", false, "print one JSON object")
	return cmd
}

// rematch makes of the flags what is to be compared. Its error is a mistake of the caller's.
func (c player) rematch(r rematch, path string, in io.Reader) (replay.Options, error) {
	if r.policy == "" {
		return replay.Options{}, errors.New("name the policy to compare with --policy FILE")
	}
	if r.patience < 0 {
		return replay.Options{}, fmt.Errorf("--patience %s: write a duration, as 15m", r.patience)
	}
	loaded, err := c.Sound(r.policy)
	if err != nil {
		return replay.Options{}, err
	}
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return replay.Options{}, err
		}
		defer file.Close()
		in = file
	}
	journal, err := replay.Read(in)
	if err != nil {
		return replay.Options{}, fmt.Errorf("%s: %w", path, err)
	}
	return replay.Options{
		Journal: journal, Policy: loaded, Fleet: fleet.Name(r.fleet), Patience: r.patience, Seed: r.seed,
	}, nil
}

// comparison renders what another policy would have done.
func (p sheet) comparison(c replay.Comparison) []string {
	t := c.Replayed
	lines := []string{
		fmt.Sprintf("%s, of %s: %s", c.Journal.String(), paper.Count(len(c.Fleets), "fleet"),
			strings.Join(c.Fleets, ", ")),
		"",
		p.Paint(paper.Strong,
			fmt.Sprintf("this policy would have healed %s in %s, %d of them wrongly; it would have missed %d, told a "+
				"person of %d, and rightly left alone %d",
				paper.Count(t.Healed, "machine"), prose.Span(c.Journal.To.Sub(c.Journal.From)), t.Wrongly, t.Missed,
				t.Paged, t.LeftAlone)),
		fmt.Sprintf("what was recorded: %d healed, %d missed, a person told of %d, %d left alone", c.Recorded.Healed,
			c.Recorded.Missed, c.Recorded.Paged,
			c.Recorded.LeftAlone),
	}
	if t.Elsewhere > 0 {
		lines = append(lines,
			p.Paint(paper.Red,
				fmt.Sprintf("and it would have acted %s on machines that were well", paper.Count(t.Elsewhere, "time"))))
	}
	lines = append(lines, "")
	lines = append(lines, p.incidents(c.Incidents)...)
	lines = append(lines, "", "what the journal does not say:")
	for _, n := range c.NotReplayed {
		lines = append(lines, "  "+p.Paint(paper.Yellow, "not replayed")+"  "+n)
	}
	for _, g := range c.Journal.Gaps {
		lines = append(lines,
			fmt.Sprintf("  %s  %d records of fleet %s are missing, from %s to %s", p.Paint(paper.Yellow, "gap"), g.Lost,
				g.Fleet,
				g.After.Format(time.DateTime), g.Until.Format(time.DateTime)))
	}
	if n := c.Journal.Thinned; n > 0 {
		lines = append(lines, fmt.Sprintf("  %s  hale let %d old records of machines that flap go",
			p.Paint(paper.Faint, "thinned"), n))
	}
	for _, u := range c.Journal.Unknown {
		lines = append(lines, fmt.Sprintf("  %s  %s of kind %q", p.Paint(paper.Yellow, "unknown"),
			paper.Count(u.Times, "record"), u.Kind))
	}
	for _, b := range c.Journal.Broken {
		lines = append(lines, fmt.Sprintf("  %s  line %d: %s", p.Paint(paper.Yellow, "no record"), b.Line, b.Why))
	}
	for _, a := range c.Assumptions {
		lines = append(lines, "  "+p.Paint(paper.Faint, "assumed: "+a))
	}
	return lines
}

// incidents renders a line for each.
func (p sheet) incidents(all []*replay.Incident) []string {
	titles := []string{"WHEN", "MACHINE", "WHAT", "FOR", "RECORDED", "THIS POLICY"}
	columns := make([]paper.Column, len(titles))
	for i, t := range titles {
		columns[i] = paper.Column{Title: t, Keep: paper.KeepAlways}
	}
	for _, i := range all {
		lasted := "to the end"
		if !i.To.IsZero() {
			lasted = prose.Span(i.To.Sub(i.From))
		}
		style := paper.Plain
		switch i.Replayed.Became {
		case replay.Wrongly, replay.Missed:
			style = paper.Red
		case replay.Healed:
			style = paper.Green
		case replay.Paged, replay.LeftAlone, replay.NoPlace, replay.Covered:
		}
		for n, x := range []paper.Cell{
			{Text: i.From.Format(time.DateTime)}, {Text: i.Machine}, {Text: what(i)}, {Text: lasted},
			{Text: then(i.Recorded)}, {Text: instead(i.Replayed), Style: style},
		} {
			columns[n].Cells = append(columns[n].Cells, x)
		}
	}
	return p.Table(columns)
}

// what says what was wrong with the machine.
func what(i *replay.Incident) string {
	why := ""
	switch {
	case i.Cause != "" && i.Cause != belief.CauseChecks:
		why = string(i.Cause)
	case i.Check != "":
		why = i.Check + " " + i.Result
	}
	return strings.TrimSpace(string(i.Nature) + ": " + why)
}

// then says what was done.
func then(r replay.Recorded) string {
	var said []string
	if len(r.Acts) > 0 {
		said = append(said, strings.Join(r.Acts, ", "))
	}
	for _, x := range []struct {
		is   bool
		said string
	}{
		{r.Healed, "healed"}, {r.Refuted, "a look found it alive"}, {r.Paged, "paged"}, {r.Suspected, "only suspected"},
	} {
		if x.is {
			said = append(said, x.said)
		}
	}
	if len(said) == 0 && len(r.Held) > 0 {
		said = append(said, "held: "+strings.Join(r.Held, ", "))
	}
	return strings.Join(said, "; ")
}

// instead says what this policy would have done.
func instead(r replay.Replayed) string {
	said := string(r.Became)
	if len(r.Acts) > 0 {
		said += ": " + strings.Join(r.Acts, ", ")
	}
	switch {
	case r.Became == replay.Healed:
		said += " (after " + prose.Span(time.Duration(r.Seconds)*time.Second) + ")"
	case r.Unseen:
		said += " (no check asks for what was lost)"
	case len(r.Held) > 0 && len(r.Acts) == 0:
		said += " (held: " + strings.Join(r.Held, ", ") + ")"
	}
	return said
}
