package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

// fleetHold is a hold with the fleet that it is in, as hale holds --json prints it.
type fleetHold struct {
	Fleet string `json:"fleet"`
	api.Hold
}

func heldIn(s api.Status) []fleetHold {
	out := []fleetHold{}
	for _, f := range s.Fleets {
		for _, h := range f.Holds {
			out = append(out, fleetHold{f.Name, h})
		}
	}
	return out
}

// subject is what is held, as one writes it in a command.
func (h fleetHold) subject() string {
	switch {
	case h.Machine != "":
		return h.Machine
	case h.Host != "":
		return "host:" + h.Host
	}
	return h.Fleet
}

// holds renders a table of holds, as of now and in now's time zone.
func (p sheet) holds(held []fleetHold, now time.Time) []string {
	if len(held) == 0 {
		return []string{"nothing is held"}
	}
	columns := []paper.Column{
		{Title: "HELD", Keep: paper.KeepAlways}, {Title: "ONLY", Keep: 4}, {Title: "FLEET", Keep: 3},
		{Title: "UNTIL", Keep: paper.KeepAlways},
		{Title: "LEFT", Keep: 6}, {Title: "NAME", Keep: 5}, {Title: "BY", Keep: 8},
		{Title: "REASON", Keep: 7, Narrowest: 12},
	}
	for _, h := range held {
		row := []string{h.subject(), h.Only, h.Fleet, paper.Moment(h.Until, now), left(h.Hold, now), h.Name, h.By,
			h.Reason}
		for i, text := range row {
			columns[i].Cells = append(columns[i].Cells, paper.Cell{Text: text})
		}
	}
	columns = slices.DeleteFunc(columns, func(c paper.Column) bool {
		said := func(cell paper.Cell) bool { return cell.Text != "" }
		return (c.Title == "NAME" || c.Title == "ONLY") && !slices.ContainsFunc(c.Cells, said)
	})
	return p.Table(columns)
}

func left(h api.Hold, now time.Time) string {
	if d := h.Until.Sub(now); d > 0 {
		return prose.Span(d)
	}
	return "a moment"
}

// holdLine tells of a hold under its fleet in status.
func holdLine(name string, h api.Hold, now time.Time) string {
	what := "the fleet"
	if h.Machine != "" || h.Host != "" {
		what = fleetHold{name, h}.subject()
	}
	return fmt.Sprintf("%s is %s by %s until %s: %s", what, prose.Held(fleet.HoldScope(h.Only)), h.By,
		paper.Moment(h.Until, now), h.Reason)
}

func (c reader) holdsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "holds", Short: "List what people hold, why, and until when", Args: cobra.NoArgs,
		RunE: c.Asks(func(cmd *cobra.Command, _ []string, client *api.Client) error {
			s, err := client.Status(cmd.Context())
			if err != nil {
				return err
			}
			held := heldIn(s)
			if asJSON {
				return paper.JSON(c.Out, held)
			}
			p := c.sheet()
			fmt.Fprintln(c.Out, strings.Join(p.holds(held, time.Now()), "\n"))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
