package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hale/internal/api"

	"github.com/spf13/cobra"
)

func (c *commander) ordersCommand() *cobra.Command {
	var asJSON bool
	q := api.GivenQuery{}
	cmd := &cobra.Command{
		Use: "orders [FLEET]", Short: "List the orders that people gave, and what became of them",
		Long: "Lists the orders that the journal still knows, those that wait, and those that were refused: when,\n" +
			"who, what, why, and what became of them, the last ones last. Confirmed plans are orders, too.",
		Example: "  hale orders\n  hale orders web --refused --last 5",
		Args:    cobra.MaximumNArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			if q.Last < 0 {
				return usageError{errors.New("--last wants a number from 0; 0 is all of them")}
			}
			if len(args) > 0 {
				q.Fleet = args[0]
			}
			client, err := c.dial()
			if err != nil {
				return err
			}
			defer client.Close()
			given, err := client.Given(cmd.Context(), q)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(c.Out, given)
			}
			fmt.Fprintln(c.Out, strings.Join(screenOf(c.Out, c.Getenv).paper().given(given, time.Now()), "\n"))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&q.Last, "last", 20, "only so many; 0: all that are known")
	cmd.Flags().BoolVar(&q.Refused, "refused", false, "only those that were refused")
	return cmd
}

// given renders a table of orders, in now's time zone.
func (p paper) given(given api.Given, now time.Time) []string {
	if len(given.Orders) == 0 {
		return []string{"no order is known"}
	}
	columns := []column{
		{title: "WHEN", keep: keepAlways}, {title: "ABOUT", keep: keepAlways}, {title: "ORDER", keep: keepAlways},
		{title: "BY", keep: 8}, {title: "REASON", keep: 6, narrowest: 12},
		{title: "WHAT BECAME OF IT", keep: keepAlways, narrowest: 20},
	}
	for _, g := range given.Orders {
		about, what, style := g.Fleet, g.Kind, plain
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
			style = yellow
		}
		for i, x := range []cell{
			{moment(g.At, now), plain},
			{about, plain},
			{what, plain},
			{g.By, plain},
			{g.Reason, plain},
			{g.Text, style},
		} {
			columns[i].cells = append(columns[i].cells, x)
		}
	}
	return p.table(columns)
}
