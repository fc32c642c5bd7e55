package steer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"
	"hale/internal/core/record"

	"github.com/spf13/cobra"
)

// scaleFlags say how a size is ordered.
type scaleFlags struct {
	orderFlags
	plan        string
	atLeast     int
	lasts       time.Duration
	signal, dry bool
}

func (c giver) scaleCommand() *cobra.Command {
	var f scaleFlags
	cmd := &cobra.Command{
		Use: "scale FLEET SIZE|+N|-N|+P%|-P% [--confirm PLAN]", Short: "Have more or fewer machines",
		Long: "Orders a size, or a change of the one that is asked for: by so many machines, or by so many percent.\n" +
			"It holds, whatever else is edited and whichever server owns the fleet, until the file itself asks\n" +
			"for another size than it does now: then the file has the last word. To go back to the file's\n" +
			"size, order that.\n\n" +
			"More machines are built at once. Fewer ones are a plan that waits for your word, as when the file\n" +
			"is edited: the command says which machines would go, and why these; confirm it with 'hale apply\n" +
			"--confirm PLAN', or by giving this command once more with --confirm PLAN.\n\n" +
			"Where the file gives the size bounds (size: {min: 2, max: 6}), fewer machines need no plan: within\n" +
			"them, those go at once that the file's rules choose. Beyond them the order goes as far as they\n" +
			"let it, or is refused (strict). What opinions want later moves the size again, unless you pin it\n" +
			"with --for. A program gives its word with --signal: cooldowns and pins hold that back, and the\n" +
			"refusal says until when.",
		Example: "  hale scale web 5 --reason \"sale on Friday\"\n" +
			"  hale scale web +50% --at-least 2 --for 2h\n" +
			"  hale scale web -1 --signal\n" +
			"  hale scale web 3 --confirm web-1f3a9c0d2b4e",
		Args: cobra.ExactArgs(2),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			q, err := f.request(args)
			if err != nil {
				return command.Usage(err)
			}
			return c.scale(cmd.Context(), q, f)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().StringVar(&f.plan, "confirm", "", "the plan to be carried out")
	cmd.Flags().IntVar(&f.atLeast, "at-least", 0, "a percentage changes the size by so many machines at least")
	cmd.Flags().Var((*span)(&f.lasts), "for", "pin the size: for so long no opinion and no signal moves it")
	cmd.Flags().BoolVar(&f.signal, "signal", false, "a program gives it: cooldowns and pins hold it back")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "only say what would become of it")
	return cmd
}

// request makes what is asked of the API; an error says what is wrong with the words.
func (f *scaleFlags) request(args []string) (api.OrderRequest, error) {
	change, err := fleet.ParseSizeChange(args[1])
	if err == nil {
		change.AtLeast = f.atLeast
		err = change.Check()
	}
	if err != nil {
		return api.OrderRequest{}, fmt.Errorf("%w; write a size as 6, or a change as +2, -1, +50%%", err)
	}
	end := strings.LastIndexByte(f.plan, '-')
	switch {
	case f.plan != "" && (end < 1 || f.plan[:end] != args[0]):
		return api.OrderRequest{},
			fmt.Errorf("--confirm %s: that is no plan of fleet %s; hale apply lists those that wait",
				f.plan, args[0])
	case f.plan != "" && (f.signal || f.dry || f.lasts != 0):
		return api.OrderRequest{}, errors.New("--confirm carries a plan out: leave --signal, --for and --dry-run out")
	case f.signal && f.lasts != 0:
		return api.OrderRequest{}, errors.New("--for pins the size, and a signal pins nothing: leave one of them out")
	case f.lasts < 0 || f.lasts > fleet.LongestHold:
		return api.OrderRequest{}, fmt.Errorf("--for: a size is pinned for at most %s",
			fleet.WriteSpan(fleet.LongestHold))
	}
	return api.OrderRequest{
		Kind: string(fleet.OrderScale), Subjects: args[:1], Size: change.Exact, Change: change.By,
		Percent: change.Percent, AtLeast: change.AtLeast, Signal: f.signal, For: api.Duration(f.lasts),
		Reason: f.reason, As: f.as, DryRun: f.dry, Wait: api.Duration(patience),
	}, nil
}

// scaled is what became of the order of a size, as hale scale --json prints it.
type scaled struct {
	api.Orders
	Plans []api.Waiting `json:"plans"` // of the fleet, that wait for a person's word
}

// scale orders the size, and says what of it waits for a person's word, or takes that word.
func (c giver) scale(ctx context.Context, q api.OrderRequest, f scaleFlags) error {
	client, err := c.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	out, err := client.Order(ctx, q)
	if err != nil {
		return err
	}
	if f.plan != "" && verdictOn(out) == nil {
		word, err := client.Order(ctx, api.OrderRequest{Kind: string(fleet.OrderConfirm), Subjects: q.Subjects,
			Plan: f.plan, Reason: q.Reason, As: q.As, Wait: q.Wait})
		if err != nil {
			return err
		}
		out.Orders = append(out.Orders, word.Orders...)
	}
	waiting, err := c.plansOf(ctx, client, q.Subjects[0], out, f.plan == "" && !f.dry)
	if err != nil {
		return err
	}
	switch {
	case f.json:
		err = paper.JSON(c.Out, scaled{out, waiting.Plans})
	case f.dry:
		c.printTried(out)
	default:
		c.printOrders(out)
		if len(waiting.Plans) > 0 {
			fmt.Fprintln(c.Out, strings.Join(c.sheet().changes(waiting, "", true), "\n"))
		}
	}
	return errors.Join(err, verdictOn(out))
}

// plansOf returns what of the fleet waits for a person's word. Its owner stores a plan first, and shows it then: where
// one follows from the orders it is waited for.
func (c giver) plansOf(ctx context.Context, client *api.Client, name string, out api.Orders, follows bool) (api.Changes,
	error) {
	waiting, err := waits(ctx, client)
	for wait := 0; err == nil && follows && !shows(waiting, out) && wait < 40; wait++ {
		<-time.After(50 * time.Millisecond)
		waiting, err = waits(ctx, client)
	}
	waiting.Plans = slices.DeleteFunc(waiting.Plans, func(w api.Waiting) bool { return w.Subject != "fleet "+name })
	return waiting, err
}

// printTried prints what would follow from orders that were only tried.
func (c giver) printTried(out api.Orders) {
	for _, o := range out.Orders {
		switch o.State {
		case api.OrderTaken:
			fmt.Fprintln(c.Out, "Nothing is changed. With the order:")
			for _, e := range o.Events {
				fmt.Fprintln(c.Out, "  "+e.Text)
			}
		case api.OrderUntried:
			fmt.Fprintf(c.Out, "Nothing is changed. Another server owns fleet %s, and would say what becomes of it.\n",
				o.Fleet)
		}
	}
}

// ChangeLast moves what looks like a flag and is a change of a size to the end of a call of scale, behind a line that
// says that no flags follow: -1 is a number there.
func ChangeLast(args []string) []string {
	at := slices.Index(args, "scale")
	if at < 0 || slices.Contains(args, "--") {
		return args
	}
	var changes []string
	rest := slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		_, err := fleet.ParseSizeChange(a)
		less := err == nil && strings.HasPrefix(a, "-")
		if less {
			changes = append(changes, a)
		}
		return less
	})
	if len(changes) == 0 {
		return args
	}
	return append(append(rest, "--"), changes...)
}

// shows reports whether all plans are there that the orders' events speak of.
func shows(waiting api.Changes, out api.Orders) bool {
	for _, o := range out.Orders {
		for _, e := range o.Events {
			if e.Kind == string(record.Change) && e.Reason == string(fleet.ReasonAwaitsWord) &&
				!slices.ContainsFunc(waiting.Plans, func(w api.Waiting) bool { return w.ID == e.Detail }) {
				return false
			}
		}
	}
	return true
}

func (c giver) deleteCommand() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "delete MACHINE…", Short: "Remove exactly this machine, and have one less; an adopted one is let go",
		Long: "The machine that you name is powered off, proven off and deleted, whichever instance it has; a\n" +
			"repair under way ends first, or gives way. The fleet has one machine less from then on, as after\n" +
			"'hale scale': nothing builds it again, until the file itself asks for another size. None of it\n" +
			"looks like a failure. If it cannot be deleted, you are paged, and the machine is healed as before.\n\n" +
			"Its kept disks stay at the provider with what is on them, and a floating address of its own is\n" +
			"given back; an old instance that is kept (keep_old) stays for the rest of its time, and is removed\n" +
			"then. A machine that hale adopted is never destroyed: it is let go as it is, and not taken up\n" +
			"again until the file selects otherwise.\n\n" +
			"It is refused for a machine that is protected or held, while the brake is on, and when a disk that\n" +
			"is to be kept would be lost.",
		Example: "  hale delete web-4 --reason \"bad host\"",
		Args:    cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderDelete), Subjects: args}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}
