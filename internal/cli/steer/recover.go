package steer

import (
	"errors"
	"fmt"
	"strings"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/core/fleet"

	"github.com/spf13/cobra"
)

// recoverHelp is what hale recover --help says.
const recoverHelp = "" +
	"Says of every machine that is not healthy how it is and what follows. What fails is repaired as by\n" +
	"'hale heal', without backoff and windows, as far as the budget allows at once; what is missing is\n" +
	"built. Laws stand: each repair begins with one more look, and nothing is replaced without proof\n" +
	"that it is off. What a person stopped, holds or has to look at (quarantine) is left as it is, and\n" +
	"said.\n\n" +
	"What is too many is removed only by the plan that you confirm: the command names it. --check\n" +
	"begins nothing.\n\n" +
	"--believe-the-world is for a store that is older than the world, as one that was restored from a\n" +
	"backup or lost its last writes: it says which instances would be taken for which machines and\n" +
	"which generations are raised, and names the plan by which you confirm that. Nothing is called for\n" +
	"it."

func (c giver) recoverCommand() *cobra.Command {
	var f orderFlags
	var check, believe bool
	var plan string
	cmd := &cobra.Command{
		Use: "recover FLEET… [--check] [--believe-the-world] [--confirm PLAN]",
		Short: "Bring a fleet to what is asked for now: repair what fails, build what is missing, remove what is too " +
			"many",
		Long: recoverHelp,
		Example: "  hale recover web --check\n" +
			"  hale recover web --reason \"after the power cut\"\n" +
			"  hale recover web --confirm web-1f3a9c0d2b4e\n" +
			"  hale recover web --believe-the-world",
		Args: cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			switch end := strings.LastIndexByte(plan, '-'); {
			case believe && (check || len(args) > 1):
				return command.Usage(
					errors.New("--believe-the-world is for one fleet, and says by itself what it would mean: leave " +
						"--check out"),
				)
			case check && plan != "":
				return command.Usage(errors.New("--check begins nothing, and --confirm does: write one of the two"))
			case plan != "" && (len(args) > 1 || end < 1 || plan[:end] != args[0]):
				return command.Usage(
					fmt.Errorf("--confirm %s: that is no plan of fleet %s; hale apply lists those that wait",
						plan, strings.Join(args, ", ")),
				)
			}
			if believe {
				return c.believe(cmd.Context(), args[0], plan, f)
			}
			return c.give(cmd.Context(),
				api.OrderRequest{Kind: string(fleet.OrderRecover), Subjects: args, Plan: plan, DryRun: check}, f)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().BoolVar(&check, "check", false, "only say what is found, and what would follow")
	cmd.Flags().StringVar(&plan, "confirm", "",
		"the plan that removes what is too many, or says what believing the world means")
	cmd.Flags().BoolVar(&believe, "believe-the-world", false,
		"take what the provider shows for what is, where the store is older")
	return cmd
}
