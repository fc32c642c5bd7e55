package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"hale/internal/api"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

// lastEvents is how much of the past events --follow shows.
const lastEvents = 10

func (c *commander) eventsCommand() *cobra.Command {
	var q api.EventsQuery
	var asJSON bool
	cmd := &cobra.Command{
		Use: "events", Short: "Print the journal: what happened, what was decided and done, and why",
		Args: cobra.NoArgs,
		RunE: c.command(func(cmd *cobra.Command, _ []string) error {
			if q.Follow && !cmd.Flags().Changed("last") {
				q.Last = lastEvents
			}
			client, err := c.dial()
			if err != nil {
				return err
			}
			defer client.Close()
			lines := json.NewEncoder(c.Out)
			lines.SetEscapeHTML(false)
			paper := screenOf(c.Out, c.Getenv).paper()
			for e, err := range client.Events(cmd.Context(), q) {
				switch {
				case err != nil:
					return err
				case asJSON:
					if err := lines.Encode(e); err != nil {
						return err
					}
				default:
					fmt.Fprintln(c.Out, paper.event(e, time.Local))
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVarP(&q.Follow, "follow", "f", false, "print what comes, too, until interrupted")
	cmd.Flags().StringVar(&q.Fleet, "fleet", "", "of this fleet only")
	cmd.Flags().IntVarP(&q.Last, "last", "n", 0, "only the last N (default all; 10 with --follow)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// event renders one line, with its date: a journal is long.
func (p paper) event(e api.Event, zone *time.Location) string {
	at := e.At.In(zone)
	return p.paint(faint, at.Format(time.DateOnly)+" "+prose.Clock(at)) + "  " + e.Text
}
