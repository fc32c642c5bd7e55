package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/api"
	"hale/internal/core/fleet"

	"github.com/spf13/cobra"
)

// patience is how long a command waits for its order to be taken up.
const patience = 10 * time.Second

// subjects is the help on what an order can be about.
const subjects = `A SUBJECT is a fleet (web), a machine (web-2), or a host (host:h1; host:lab/h1 where several
providers have an h1).`

// pendingError says that an order is stored and not taken up yet.
type pendingError struct{ about []string }

func (p pendingError) Error() string {
	return "accepted, and not taken up yet: no hale looks after " + strings.Join(p.about, ", ") +
		" now; it takes effect when one does"
}

// orderFlags are what all orders share.
type orderFlags struct {
	reason, as string
	json       bool
}

func (f *orderFlags) add(cmd *cobra.Command, c *commander) {
	cmd.Flags().StringVarP(&f.reason, "reason", "r", "", "why, for the journal")
	cmd.Flags().StringVar(&f.as, "as", c.Getenv("SUDO_USER"), "the person you speak for, noted beside your user name")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// give gives an order and prints what became of it.
func (c *commander) give(ctx context.Context, q api.OrderRequest, f orderFlags) error {
	client, err := c.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	q.Reason, q.As, q.WaitNS = f.reason, f.as, int64(patience)
	out, err := client.Order(ctx, q)
	if err != nil {
		return err
	}
	if f.json {
		if err := printJSON(c.Out, out); err != nil {
			return err
		}
	} else {
		c.printOrders(out)
	}
	if len(q.Subjects) == 0 {
		out = relevant(out)
	}
	return verdictOn(out)
}

// relevant leaves out what an order to every fleet has nothing to do with: where one fleet's brake was on, it does not
// matter that those of others were not.
func relevant(out api.Orders) api.Orders {
	isOff := func(o api.Ordered) bool { return o.Refused.Code == string(fleet.ReasonNotBraked) }
	some := slices.DeleteFunc(slices.Clone(out.Orders), isOff)
	if len(some) == 0 {
		return out
	}
	return api.Orders{Orders: some}
}

// printOrders prints what followed from the orders that were taken up.
func (c *commander) printOrders(out api.Orders) {
	for _, o := range out.Orders {
		if o.State != api.OrderTaken {
			continue
		}
		for _, e := range o.Events {
			fmt.Fprintln(c.Out, e.Text)
		}
	}
}

// verdictOn is the command's error: a refusal weighs more than what is pending.
func verdictOn(out api.Orders) error {
	var refused []error
	var pending pendingError
	for _, o := range out.Orders {
		switch o.State {
		case api.OrderRefused:
			refused = append(refused, refusalOf(o))
		case api.OrderPending:
			pending.about = append(pending.about, "fleet "+o.Fleet)
		}
	}
	if len(refused) > 0 {
		return errors.Join(refused...)
	}
	if len(pending.about) > 0 {
		return pending
	}
	return nil
}

func refusalOf(o api.Ordered) error {
	about := o.Fleet
	switch {
	case o.Machine != "":
		about = o.Machine
	case o.Host != "":
		about = "host " + o.Host + " in fleet " + o.Fleet
	}
	said := about + ": " + o.Kind + " is refused: " + o.Refused.Text
	if o.Refused.Advice != "" {
		said += "; " + o.Refused.Advice
	}
	return errors.New(said)
}

func (c *commander) holdCommand() *cobra.Command {
	var f orderFlags
	var lasts time.Duration
	cmd := &cobra.Command{
		Use:   "hold SUBJECT… --for DURATION --reason TEXT",
		Short: "Leave a machine, a host's machines or a fleet alone for a while",
		Long: "Holds: nothing disruptive begins on what is held until the time is over. Watching and recording go\n" +
			"on, a step under way finishes, and what is down meanwhile counts as no failure. Afterwards\n" +
			"everything is judged afresh, at once.\n\n" +
			subjects,
		Example: "  hale hold web-2 --for 2h --reason \"kernel upgrade\"\n" +
			"  hale hold host:h1 --for 4h --reason \"new power supply\"",
		Args: cobra.MinimumNArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			switch {
			case lasts <= 0:
				return usageError{errors.New("say for how long, as --for 2h: every hold ends by itself")}
			case lasts > fleet.LongestHold:
				return usageError{fmt.Errorf("--for %s is too long: the longest hold is %s", lasts, fleet.LongestHold)}
			case f.reason == "":
				return usageError{
					errors.New("say why, as --reason \"kernel upgrade\": others will find the hold and wonder"),
				}
			}
			return c.give(cmd.Context(),
				api.OrderRequest{Kind: string(fleet.OrderHold), Subjects: args, ForNS: int64(lasts)}, f)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().Var((*span)(&lasts), "for", "how long, as 30m, 2h or 3d; needed")
	return cmd
}

func (c *commander) releaseCommand() *cobra.Command {
	var f orderFlags
	var all bool
	cmd := &cobra.Command{
		Use: "release SUBJECT…", Short: "End your hold; what was held is judged afresh at once",
		Long: "Ends the holds that you placed on exactly this subject, or everybody's with --all.\n\n" + subjects,
		Args: cobra.MinimumNArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			return c.give(cmd.Context(),
				api.OrderRequest{Kind: string(fleet.OrderRelease), Subjects: args, All: all}, f)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().BoolVar(&all, "all", false, "the holds of others, too")
	return cmd
}

func (c *commander) retryCommand() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "retry MACHINE…", Short: "Take a machine out of quarantine: hale tries again from the beginning",
		Args: cobra.MinimumNArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderRetry), Subjects: args}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}

func (c *commander) healCommand() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "heal MACHINE…", Short: "Repair a machine now, although the policy would wait or leave it alone",
		Long: "Begins the repair of a machine that is not healthy at once: without its backoff, its window and\n" +
			"its attempts, and also when a person stopped it. Laws and budgets stand: there is one more look,\n" +
			"and if that says nothing certain the order stands for it; a machine that answers is left alone,\n" +
			"and nothing is replaced without proof that it is off. A hold or the brake must be ended first.",
		Args: cobra.MinimumNArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderHeal), Subjects: args}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}

func (c *commander) undoCommand() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "undo MACHINE…", Short: "Bring the old instance back that a recreate kept (keep_old)",
		Long: "Powers the machine's present instance off, puts it aside, and starts the one that was replaced\n" +
			"last; kept disks go along. The present one is kept in turn, so that a second undo brings it back.\n" +
			"Nothing is started before the other one is proven off. If the old instance does not become\n" +
			"healthy, the machine is left to a person. What made hale replace it may do so again: hold the\n" +
			"machine, or mend the check or the policy first, and release it for the undo.",
		Args: cobra.MinimumNArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderUndo), Subjects: args}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}

func (c *commander) brakeCommand() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "brake on|off [FLEET…]", Short: "Stop all repairs, or let them go on",
		Long: "On: no repair and no further step begins, in the fleets named or in all of them; a step under way\n" +
			"finishes. Off: it is released, also when it engaged by itself; what fails now is excused, and one\n" +
			"failure more engages it again.",
		Example:   "  hale brake on --reason \"network maintenance\"\n  hale brake off web",
		ValidArgs: []string{"on", "off"},
		Args:      cobra.MinimumNArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			kind, ok := map[string]fleet.OrderKind{"on": fleet.OrderBrakeOn, "off": fleet.OrderBrakeOff}[args[0]]
			if !ok {
				return usageError{
					fmt.Errorf("brake %s: write hale brake on, or hale brake off, and then the fleets", args[0]),
				}
			}
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(kind), Subjects: args[1:]}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}

func (c *commander) holdsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "holds", Short: "List what people hold, why, and until when", Args: cobra.NoArgs,
		RunE: c.command(func(cmd *cobra.Command, _ []string) error {
			client, err := c.dial()
			if err != nil {
				return err
			}
			defer client.Close()
			s, err := client.Status(cmd.Context())
			if err != nil {
				return err
			}
			held := heldIn(s)
			if asJSON {
				return printJSON(c.Out, held)
			}
			paper := screenOf(c.Out, c.Getenv).paper()
			fmt.Fprintln(c.Out, strings.Join(paper.holds(held, time.Now()), "\n"))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
