package show

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"
	"hale/internal/prose"
	"hale/internal/prose/words"

	"github.com/spf13/cobra"
)

// lastEvents is how much of the past events --follow shows.
const lastEvents = 10

func (c reader) eventsCommand() *cobra.Command {
	var q api.EventsQuery
	var asJSON bool
	var from string
	cmd := &cobra.Command{
		Use: "events [FLEET|MACHINE]", Short: "Print the journal: what happened, what was decided and done, and why",
		Example: "  hale events web-2 --since 2h\n  hale events --kind paged --kind quarantined --since 2026-11-01\n" +
			"  hale events web --follow",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: c.CompleteSubjects,
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			if err := about(&q, args); err != nil {
				return err
			}
			if q.Follow && !cmd.Flags().Changed("last") {
				q.Last = lastEvents
			}
			for _, k := range q.Kinds {
				if !slices.Contains(api.EventKinds(), k) {
					return command.Usage(fmt.Errorf("--kind: %w", words.UnknownKind(k, api.EventKinds())))
				}
			}
			var err error
			if q.Since, err = beginning(from, time.Now()); err != nil {
				return command.Usage(err)
			}
			q.Begins = func(at time.Time) { fmt.Fprintln(c.Err, begins(q, at.In(time.Local))) }
			return c.printEvents(client.Events(cmd.Context(), q), asJSON)
		}),
	}
	cmd.Flags().BoolVarP(&q.Follow, "follow", "f", false, "print what comes, too, until interrupted")
	cmd.Flags().StringVar(&q.Fleet, "fleet", "", "of this fleet only")
	cmd.Flags().StringVar(&q.Machine, "machine", "", "of this machine only, by its name or what its provider calls it")
	cmd.Flags().StringVar(&from, "since", "",
		"not older than this (30m, 2h, 3d), or from this time on (14:05, 2026-11-23, \"2026-11-23 14:05\")")
	cmd.Flags().StringSliceVar(&q.Kinds, "kind", nil, "of these kinds only, as paged or step-failed")
	cmd.Flags().IntVarP(&q.Last, "last", "n", 0, "only the last N (default all; 10 with --follow)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	command.Complete(cmd, "fleet", c.CompleteFleets)
	command.Complete(cmd, "machine", c.CompleteMachines)
	command.Complete(cmd, "kind", cobra.FixedCompletions(api.EventKinds(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// About has the query ask for the fleet or machine that is named without a flag.
func about(q *api.EventsQuery, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if q.Fleet+q.Machine != "" {
		return command.Usage(errors.New("name the fleet or machine once: as hale events " + args[0]))
	}
	if _, numbered := fleet.MachineName(args[0]).Ordinal(); numbered {
		q.Machine = args[0]
	} else {
		q.Fleet = args[0]
	}
	return nil
}

func (c reader) printEvents(events iter.Seq2[api.Event, error], asJSON bool) error {
	lines := json.NewEncoder(c.Out)
	lines.SetEscapeHTML(false)
	p := c.sheet()
	for e, err := range events {
		switch {
		case err != nil:
			return err
		case asJSON:
			if err := lines.Encode(e); err != nil {
				return err
			}
		default:
			fmt.Fprintln(c.Out, Event(p.Sheet, e, time.Local))
		}
	}
	return nil
}

// begins says that older events than were asked for are gone.
func begins(q api.EventsQuery, at time.Time) string {
	said := "older events than " + at.Format("2006-01-02 15:04:05 MST") + " are gone"
	if q.Fleet+q.Machine == "" {
		said += " in at least one fleet"
	}
	return said + ": the journal keeps them for the time that the fleet's history says, as long as there is room"
}

// clocks are the ways in which a time is written, in the zone of the terminal unless it names one.
var clocks = []string{
	time.RFC3339, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly,
}

// beginning is the time that a person means: so long ago, a time of the last day, or a date. Nothing: from the
// beginning.
func beginning(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := fleet.ParseSpan(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range clocks {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		day := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
		if day.After(now) {
			day = day.AddDate(0, 0, -1) // it was yesterday
		}
		return day, nil
	}
	return time.Time{}, fmt.Errorf("--since %s: write how long ago (30m, 2h, 3d) or a time (14:05, 2026-11-23, "+
		"\"2026-11-23 14:05\")", text)
}

// Event renders one line, with its date: a journal is long.
func Event(p paper.Sheet, e api.Event, zone *time.Location) string {
	at := e.At.In(zone)
	return p.Paint(paper.Faint, at.Format(time.DateOnly)+" "+prose.Clock(at)) + "  " + e.Text
}
