package steer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

// patience is how long a command waits for its order to be taken up.
const patience = 10 * time.Second

// subjects is the help on what an order can be about.
const subjects = `A SUBJECT is a fleet (web), a machine (web-2), or a host (host:h1; host:lab/h1 where several
providers have an h1).`

// orderFlags are what all orders share.
type orderFlags struct {
	reason, as string
	json       bool
}

func (f *orderFlags) add(cmd *cobra.Command, c giver) {
	cmd.Flags().StringVarP(&f.reason, "reason", "r", "", "why, for the journal")
	cmd.Flags().StringVar(&f.as, "as", c.Getenv("SUDO_USER"), "the person you speak for, noted beside your user name")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// give gives an order and prints what became of it.
func (c giver) give(ctx context.Context, q api.OrderRequest, f orderFlags) error {
	client, err := c.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	q.Reason, q.As, q.Wait = f.reason, f.as, api.Duration(patience)
	out, err := client.Order(ctx, q)
	if err != nil {
		return err
	}
	if len(q.Subjects) == 0 {
		return c.printed(out, relevant(out), f)
	}
	return c.printed(out, out, f)
}

// printed prints what became of orders, and judges those that matter.
func (c giver) printed(out, matter api.Orders, f orderFlags) error {
	if f.json {
		if err := paper.JSON(c.Out, out); err != nil {
			return err
		}
	} else {
		c.printOrders(out)
	}
	return verdictOn(matter)
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
func (c giver) printOrders(out api.Orders) {
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
	var pending []string
	for _, o := range out.Orders {
		switch o.State {
		case api.OrderRefused:
			refused = append(refused, refusalOf(o))
		case api.OrderPending:
			pending = append(pending, "fleet "+o.Fleet)
		}
	}
	if len(refused) > 0 {
		return errors.Join(refused...)
	}
	if len(pending) > 0 {
		return command.Pending(pending)
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
	if left := time.Until(o.Until); left > 0 {
		said += fmt.Sprintf("; it works again at %s, in %s", paper.Moment(o.Until.Round(time.Second), time.Now()),
			prose.Span(left))
	}
	if o.Refused.Advice != "" {
		said += "; " + o.Refused.Advice
	}
	return errors.New(said)
}

func (c giver) holdCommand() *cobra.Command {
	var f orderFlags
	var lasts time.Duration
	var name, only string
	cmd := &cobra.Command{
		Use:   "hold SUBJECT… --for DURATION --reason TEXT",
		Short: "Leave a machine, a host's machines or a fleet alone for a while",
		Long: "Holds: nothing disruptive begins on what is held until the time is over. Watching and recording go\n" +
			"on, a step under way finishes, and what is down meanwhile counts as no failure. Afterwards\n" +
			"everything is judged afresh, at once.\n\n" +
			"With --only scale-in, what is held is merely not chosen when there are to be fewer machines; it is\n" +
			"repaired as any other.\n\n" +
			subjects,
		Example: "  hale hold web-2 --for 2h --reason \"kernel upgrade\"\n" +
			"  hale hold host:h1 --for 4h --reason \"new power supply\"\n" +
			"  hale hold web-2 --only scale-in --for 3h --reason \"long job\"",
		Args: cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			switch {
			case lasts <= 0:
				return command.Usage(errors.New("say for how long, as --for 2h: every hold ends by itself"))
			case lasts > fleet.LongestHold:
				return command.Usage(fmt.Errorf("--for %s is too long: the longest hold is %s", lasts,
					fleet.LongestHold))
			case f.reason == "":
				return command.Usage(
					errors.New("say why, as --reason \"kernel upgrade\": others will find the hold and wonder"),
				)
			}
			if only != "" && only != string(fleet.HoldScaleIn) {
				return command.Usage(fmt.Errorf("--only %s is not known: there is %s", only, fleet.HoldScaleIn))
			}
			if name != "" {
				return c.holdByName(cmd.Context(), name, args, api.HoldWish{For: lasts.String(), Only: only}, f)
			}
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderHold), Subjects: args,
				For: api.Duration(lasts), Only: only}, f)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().Var((*span)(&lasts), "for", "how long, as 30m, 2h or 3d; needed")
	cmd.Flags().StringVar(&name, "name", "", "a name for the hold: another one with it takes its place")
	cmd.Flags().StringVar(&only, "only", "", "what alone it forbids: scale-in; without it, everything disruptive")
	return cmd
}

// holdByName has the hold of a name be so.
func (c giver) holdByName(ctx context.Context, name string, subjects []string, wish api.HoldWish, f orderFlags) error {
	if len(subjects) != 1 {
		return command.Usage(errors.New("a hold with a name is of one subject"))
	}
	client, err := c.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	wish.Subject, wish.Reason = subjects[0], f.reason
	h, err := client.PutHold(ctx, name, wish, api.HoldChange{Wait: patience})
	return c.printNamed(h, err, f.json)
}

func (c giver) releaseByName(ctx context.Context, name string, f orderFlags) error {
	client, err := c.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	h, err := client.DeleteHold(ctx, name, api.HoldChange{Wait: patience})
	return c.printNamed(h, err, f.json)
}

// printNamed prints how a named hold stands in each of its fleets.
func (c giver) printNamed(h api.NamedHold, err error, asJSON bool) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return paper.JSON(c.Out, h)
	}
	for _, p := range h.Parts {
		about := p.Fleet
		if p.Machine != "" {
			about = p.Machine
		} else if p.Host != "" {
			about = "host " + p.Host + " in fleet " + p.Fleet
		}
		said := about + ": hold " + h.Name + " " + map[string]string{
			api.HoldPending: "waits for the fleet's owner", api.HoldEnded: "is over",
			api.HoldHeld: "is in force until " + paper.Moment(p.Until, time.Now()),
		}[p.State]
		if p.Refused.Text != "" {
			said = about + ": hold " + h.Name + " is refused: " + p.Refused.Text
		}
		fmt.Fprintln(c.Out, said)
	}
	return nil
}

func (c giver) releaseCommand() *cobra.Command {
	var f orderFlags
	var all bool
	var name string
	cmd := &cobra.Command{
		Use: "release SUBJECT… | --name NAME", Short: "End your hold; what was held is judged afresh at once",
		Long: "Ends the holds that you placed on exactly this subject, or everybody's with --all; or the hold with the\n" +
			"name, wherever it is.\n\n" + subjects,
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			switch {
			case (name == "") == (len(args) == 0):
				return command.Usage(errors.New("say what is to be released: subjects, or --name"))
			case name != "":
				return c.releaseByName(cmd.Context(), name, f)
			}
			return c.give(cmd.Context(),
				api.OrderRequest{Kind: string(fleet.OrderRelease), Subjects: args, All: all}, f)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().BoolVar(&all, "all", false, "the holds of others, too")
	cmd.Flags().StringVar(&name, "name", "", "the hold with this name")
	return cmd
}

func (c giver) retryCommand() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "retry MACHINE…", Short: "Take a machine out of quarantine: hale tries again from the beginning",
		Args: cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderRetry), Subjects: args}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}

func (c giver) healCommand() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "heal MACHINE…", Short: "Repair a machine now, although the policy would wait or leave it alone",
		Long: "Begins the repair of a machine that is not healthy at once: without its backoff, its window and\n" +
			"its attempts, and also when a person stopped it. Laws and budgets stand: there is one more look,\n" +
			"and if that says nothing certain the order stands for it; a machine that answers is left alone,\n" +
			"and nothing is replaced without proof that it is off. A hold or the brake must be ended first.",
		Args: cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderHeal), Subjects: args}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}

func (c giver) undoCommand() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "undo MACHINE…", Short: "Bring the old instance back that a recreate kept (keep_old)",
		Long: "Powers the machine's present instance off, puts it aside, and starts the one that was replaced\n" +
			"last; kept disks go along. The present one is kept in turn, so that a second undo brings it back.\n" +
			"Nothing is started before the other one is proven off. If the old instance does not become\n" +
			"healthy, the machine is left to a person. What made hale replace it may do so again: hold the\n" +
			"machine, or mend the check or the policy first, and release it for the undo.",
		Args: cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderUndo), Subjects: args}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}

func (c giver) brakeCommand() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "brake on|off [FLEET…]", Short: "Stop all repairs, or let them go on",
		Long: "On: no repair and no further step begins, in the fleets named or in all of them; a step under way\n" +
			"finishes. Off: it is released, also when it engaged by itself; what fails now is excused, and one\n" +
			"failure more engages it again.",
		Example:   "  hale brake on --reason \"network maintenance\"\n  hale brake off web",
		ValidArgs: []string{"on", "off"},
		Args:      cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			kind, ok := map[string]fleet.OrderKind{"on": fleet.OrderBrakeOn, "off": fleet.OrderBrakeOff}[args[0]]
			if !ok {
				return command.Usage(
					fmt.Errorf("brake %s: write hale brake on, or hale brake off, and then the fleets", args[0]),
				)
			}
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(kind), Subjects: args[1:]}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}
