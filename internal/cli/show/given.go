package show

import (
	"errors"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"

	"github.com/spf13/cobra"
)

func (c reader) ordersCommand() *cobra.Command {
	var asJSON bool
	q := api.GivenQuery{}
	cmd := &cobra.Command{
		Use: "orders [FLEET]", Short: "List the orders that people gave, and what became of them",
		Long: "Lists the orders that the journal still knows, those that wait, and those that were refused: when,\n" +
			"who, what, why, and what became of them, the last ones last. Confirmed plans are orders, too.",
		Example: "  hale orders\n  hale orders web --refused --last 5",
		Args:    cobra.MaximumNArgs(1),
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			if q.Last < 0 {
				return command.Usage(errors.New("--last wants a number from 0; 0 is all of them"))
			}
			if len(args) > 0 {
				q.Fleet = args[0]
			}
			given, err := client.Given(cmd.Context(), q)
			return c.Print(err, command.Answer{What: given, JSON: asJSON, Lines: func() []string {
				return c.sheet().given(given, q.Open, time.Now())
			}})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&q.Last, "last", 20, "only so many; 0: all that are known")
	cmd.Flags().BoolVar(&q.Open, "open", false, "only those that wait, are under way or count, with their ids")
	cmd.Flags().BoolVar(&q.Refused, "refused", false, "only those that were refused")
	return cmd
}

// given renders a table of orders, where ids are wanted with those, in now's time zone.
func (p sheet) given(given api.Given, ids bool, now time.Time) []string {
	if len(given.Orders) == 0 {
		return []string{"no order is known"}
	}
	columns := []paper.Column{
		{
			Title: "WHEN",
			Keep:  paper.KeepAlways,
		},
		{Title: "ABOUT", Keep: paper.KeepAlways},
		{Title: "ORDER", Keep: paper.KeepAlways},
		{Title: "BY", Keep: 8},
		{Title: "REASON", Keep: 6, Narrowest: 12},
		{Title: "WHAT BECAME OF IT", Keep: paper.KeepAlways, Narrowest: 20},
	}
	for _, g := range given.Orders {
		about, what, style := g.Fleet, g.Kind, paper.Plain
		switch {
		case g.Machine != "":
			about = g.Machine
		case g.Host != "":
			about += ", host " + g.Host
		}
		if what == "" {
			what = "?"
		}
		if g.State != api.OrderTaken {
			style = paper.Yellow
		}
		for i, x := range []paper.Cell{
			{Text: paper.Moment(g.At, now)},
			{Text: about},
			{Text: what},
			{Text: g.By},
			{Text: g.Reason},
			{Text: g.Text, Style: style},
		} {
			columns[i].Cells = append(columns[i].Cells, x)
		}
	}
	if ids {
		columns = append(columns, paper.Column{Title: "ID", Keep: paper.KeepAlways})
		for _, g := range given.Orders {
			columns[6].Cells = append(columns[6].Cells, paper.Cell{Text: g.ID})
		}
	}
	return p.Table(columns)
}
