package steer

import (
	"errors"
	"fmt"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/core/fleet"

	"github.com/spf13/cobra"
)

func (c giver) markCommand() *cobra.Command {
	var f orderFlags
	var lasts time.Duration
	cmd := &cobra.Command{
		Use:   "mark MACHINE unhealthy --because TEXT | mark MACHINE clear",
		Short: "Say that a machine fails, whatever its checks say, or take that back",
		Long: "A mark is evidence from outside: the machine is unhealthy, with a cause of its own, and healed by " +
			"its\n" +
			"ladder. All that holds a repair holds this one: the brake, which counts it, budgets, holds, windows\n" +
			"and protection. Each step looks once more, and asks the provider alone: your word stands against\n" +
			"what the checks say.\n\n" +
			"The mark is over when hale's first call has changed the machine, which must then be healthy by its\n" +
			"checks; when you take it back; and after an hour, or as long as --for says. Until a repair begins,\n" +
			"nothing but the mark is lost when it ends.",
		Example: "  hale mark web-2 unhealthy --because \"wrong answers to customers\"\n  hale mark web-2 clear",
		Args:    cobra.ExactArgs(2),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			q := api.OrderRequest{Kind: string(fleet.OrderMark), Subjects: args[:1], For: api.Duration(lasts)}
			switch {
			case args[1] == "clear":
				q.Kind, q.For = string(fleet.OrderUnmark), 0
			case args[1] != "unhealthy":
				return command.Usage(fmt.Errorf("mark %s: write unhealthy, or clear", args[1]))
			case f.reason == "":
				return command.Usage(errors.New("say why, as --because \"wrong answers to customers\""))
			case lasts < 0 || lasts > fleet.LongestMark:
				return command.Usage(fmt.Errorf("--for %s is too long: a mark lasts at most %s", lasts,
					fleet.LongestMark))
			}
			return c.give(cmd.Context(), q, f)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().StringVar(&f.reason, "because", "", "why, for the journal; needed")
	cmd.Flags().Var((*span)(&lasts), "for", "how long it counts at most, as 30m; without it, an hour")
	return cmd
}

func (c giver) cancelCommand() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "cancel ORDER", Short: "Take an order back, as far as it has not begun or can end in order",
		Long: "Takes the order with the id back that 'hale orders --open' lists. What waits is taken back at once: " +
			"a\n" +
			"repair by order, a replacement, a stop, an undo, a removal or a plan that has made no call, and a " +
			"mark,\n" +
			"a hold or the pause of an update. A replacement that has only turned the old instance off ends, and " +
			"the\n" +
			"machine is started again as any other; an update stops, and what it has replaced stays. What has gone\n" +
			"further is refused, with the reason.",
		Example: "  hale orders --open\n  hale cancel 019ab2c4-5d6e-7f80-9a1b-2c3d4e5f6071",
		Args:    cobra.ExactArgs(1),
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			out, err := client.Cancel(cmd.Context(), args[0],
				api.Cancellation{Reason: f.reason, As: f.as, Wait: api.Duration(patience)})
			if err != nil {
				return err
			}
			return c.printed(out, out, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}
