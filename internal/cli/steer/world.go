package steer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hale/api"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"

	"github.com/spf13/cobra"
)

// believe says what believing the world would mean for a fleet, or, with the plan that names just that, has it
// believed.
func (c giver) believe(ctx context.Context, name, plan string, f orderFlags) error {
	if plan != "" {
		return c.give(ctx,
			api.OrderRequest{Kind: string(fleet.OrderRecover), Subjects: []string{name}, Believe: true, Plan: plan}, f)
	}
	client, err := c.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	w, err := client.World(ctx, name)
	switch {
	case err != nil:
		return err
	case f.json:
		return paper.JSON(c.Out, w)
	}
	lines := []string{"fleet " + name + ": hale would believe what the provider shows, and go on from there:"}
	lines = append(lines, worldLines(w)...)
	lines = append(lines,
		"Make sure that no other hale runs on a copy of this store, or on the one that it is a copy of.",
		"Nothing was done. To do it: hale recover "+name+" --believe-the-world --confirm "+w.Plan)
	fmt.Fprintln(c.Out, strings.Join(lines, "\n"))
	return nil
}

// worldLines tell machine by machine what would be believed.
func worldLines(w api.World) []string {
	var lines []string
	for _, m := range w.Machines {
		lines = append(lines, "  "+m.Text)
	}
	for _, s := range w.Starts {
		lines = append(lines, "  start "+s+" of hale, which is noted at the provider's, is known from then on; the "+
			"hale that noted it must have ended")
	}
	if len(w.Machines) == 0 && len(w.Starts) == 0 {
		lines = append(lines, "  its machines stay what they are; what held the fleet is not shown any more")
	}
	if len(w.Silent) > 0 {
		lines = append(lines, "  what is on "+strings.Join(w.Silent, ", ")+" is not known: it does not answer")
	}
	return lines
}

func (c giver) takeOverCommand() *cobra.Command {
	var q api.TakeOverRequest
	var asJSON, confirm bool
	cmd := &cobra.Command{
		Use:   "take-over INSTALLATION",
		Short: "Let this hale be another one that is gone for good; without --confirm, say what that would mean",
		Long: "For a hale with an empty store that finds the machines of an earlier one after the loss of its\n" +
			"store: this hale becomes that installation. It looks after its machines as they are, with their\n" +
			"generations, their kept disks and what was put aside. It touches none of them. Without --confirm\n" +
			"it only says which they are.\n\n" +
			"The other hale must be gone for good: two with one installation heal each other's machines. A\n" +
			"store with machines of its own takes nothing over.",
		Example: "  hale take-over 5b0c6f0e-3f2f-4f2e-9a53-1f0d6f6e7c11\n" +
			"  hale take-over 5b0c6f0e-3f2f-4f2e-9a53-1f0d6f6e7c11 --confirm --reason \"its disk died\"",
		Args: cobra.ExactArgs(1),
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			q.Installation, q.Wait, q.DryRun = args[0], api.Duration(patience), !confirm
			out, err := client.TakeOver(cmd.Context(), q)
			switch {
			case err != nil:
				return err
			case asJSON:
				err = paper.JSON(c.Out, out)
			case out.Done:
				fmt.Fprintln(c.Out, "this hale is installation "+out.Installation+" from now on")
				c.printOrders(api.Orders{Orders: out.Orders})
			default:
				fmt.Fprintln(c.Out, strings.Join(takeOverLines(out), "\n"))
			}
			return errors.Join(err, verdictOn(api.Orders{Orders: out.Orders}))
		}),
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "do it")
	cmd.Flags().StringVarP(&q.Reason, "reason", "r", "", "why, for the journal")
	cmd.Flags().StringVar(&q.As, "as", c.Getenv("SUDO_USER"), "the person you speak for, noted beside your user name")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func takeOverLines(t api.TakeOver) []string {
	lines := []string{"this hale would be installation " + t.Installation + " from now on:"}
	for _, w := range t.Fleets {
		lines = append(lines, "fleet "+w.Fleet+":")
		lines = append(lines, worldLines(w)...)
	}
	return append(lines,
		"The other hale must be gone for good. If it runs, or is started again, two of them repair the same machines.",
		"Nothing was done. To do it: hale take-over "+t.Installation+" --confirm")
}
