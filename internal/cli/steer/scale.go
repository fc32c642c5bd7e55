package steer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"
	"hale/internal/core/record"

	"github.com/spf13/cobra"
)

func (c giver) scaleCommand() *cobra.Command {
	var f orderFlags
	var plan string
	cmd := &cobra.Command{
		Use: "scale FLEET SIZE [--confirm PLAN]", Short: "Have more or fewer machines than the file says",
		Long: "Orders a size. It holds, whatever else is edited and whichever server owns the fleet, until the\n" +
			"file itself asks for another size than it does now: then the file has the last word. To go back to\n" +
			"the file's size, order that.\n\n" +
			"More machines are built at once. Fewer ones are a plan that waits for your word, as when the file\n" +
			"is edited: the command says which machines would go, and why these; confirm it with 'hale apply\n" +
			"--confirm PLAN', or by giving this command once more with --confirm PLAN.",
		Example: "  hale scale web 5 --reason \"sale on Friday\"\n" +
			"  hale scale web 3\n" +
			"  hale scale web 3 --confirm web-1f3a9c0d2b4e",
		Args: cobra.ExactArgs(2),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			size, err := strconv.Atoi(args[1])
			if err != nil || size < 1 || size > fleet.LargestSize {
				return command.Usage(fmt.Errorf("%s is no size: write a number from 1 to %d", args[1],
					fleet.LargestSize))
			}
			if end := strings.LastIndexByte(plan, '-'); plan != "" && (end < 1 || plan[:end] != args[0]) {
				return command.Usage(
					fmt.Errorf("--confirm %s: that is no plan of fleet %s; hale apply lists those that wait",
						plan, args[0]),
				)
			}
			return c.scale(cmd.Context(), args[0], size, plan, f)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().StringVar(&plan, "confirm", "", "the plan to be carried out")
	return cmd
}

// scaled is what became of the order of a size, as hale scale --json prints it.
type scaled struct {
	api.Orders
	Plans []api.Waiting `json:"plans"` // of the fleet, that wait for a person's word
}

// scale orders the size, and says what of it waits for a person's word, or takes that word.
func (c giver) scale(ctx context.Context, name string, size int, plan string, f orderFlags) error {
	client, err := c.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	q := api.OrderRequest{
		Kind: string(fleet.OrderScale), Subjects: []string{name}, Size: size, Reason: f.reason, As: f.as,
		Wait: api.Duration(patience),
	}
	out, err := client.Order(ctx, q)
	if err != nil {
		return err
	}
	if plan != "" && verdictOn(out) == nil {
		q.Kind, q.Plan, q.Size = string(fleet.OrderConfirm), plan, 0
		word, err := client.Order(ctx, q)
		if err != nil {
			return err
		}
		out.Orders = append(out.Orders, word.Orders...)
	}
	waiting, err := waits(ctx, client)
	// its owner stores the plan first, and shows it then
	for wait := 0; err == nil && plan == "" && !shows(waiting, out) && wait < 40; wait++ {
		<-time.After(50 * time.Millisecond)
		waiting, err = waits(ctx, client)
	}
	if err != nil {
		return err
	}
	waiting.Plans = slices.DeleteFunc(waiting.Plans, func(w api.Waiting) bool { return w.Subject != "fleet "+name })
	if f.json {
		err = paper.JSON(c.Out, scaled{out, waiting.Plans})
	} else {
		c.printOrders(out)
		if len(waiting.Plans) > 0 {
			fmt.Fprintln(c.Out, strings.Join(c.sheet().changes(waiting, "", true), "\n"))
		}
	}
	return errors.Join(err, verdictOn(out))
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
