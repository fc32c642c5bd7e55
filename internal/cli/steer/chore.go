package steer

import (
	"hale/api"
	"hale/internal/core/fleet"

	"github.com/spf13/cobra"
)

// choreCommands are those by which a person has hale do something with one machine, be it well or not.
func (c giver) choreCommands() []*cobra.Command {
	const rules = "\n\nIt counts in the same budgets as repairs do, and is refused at once where something else is " +
		"under way\non the machine, or waits for it ('hale cancel' takes that back), while the machine is held, in " +
		"a fleet\n" +
		"that is only watched, and where the provider cannot."
	return []*cobra.Command{
		c.choreCommand(fleet.OrderReplace, "Put a new instance in the place of a machine's, be it well or not",
			"The present instance is powered off, proven off and deleted, or kept aside where the ladder says so\n"+
				"(keep_old), and a new one is built from the template in force and must become healthy: all as when\n"+
				"a repair recreates it, with kept disks attached again. A machine in quarantine comes out of it.\n"+
				"If no new instance can be built, the machine is healed as any other.\n\n"+
				"It is refused for a machine that is protected, or was adopted and is not replaceable, when a disk\n"+
				"that is to be kept would be lost, and while the brake is on."+rules,
			"  hale replace web-2 --reason \"slow disk\""),
		c.choreCommand(fleet.OrderStart, "Turn a machine on that is off, or let one go on that is paused",
			"The machine has the time to become healthy that the ladder's step has. If it does not, you are\n"+
				"paged, and it is healed as any other."+rules, "  hale start web-2"),
		c.choreCommand(fleet.OrderStop, "Turn a machine off, and leave it off",
			"The machine is powered off, as by its switch: shut it down from inside first where that matters.\n"+
				"It stays off, whatever on_external_stop says, and is no failure, until 'hale start', 'hale heal' or\n"+
				"somebody at the provider turns it on again.\n\n"+
				"It is refused for a machine that is protected, and while the brake is on."+rules,
			"  hale stop web-2 --reason \"to look at its disk\""),
		c.choreCommand(fleet.OrderReboot, "Restart a machine, be it well or not",
			"It is done as by the ladder's first step reboot, softly or hard, and hard where there is none. If\n"+
				"the machine does not become healthy in time, you are paged, and it is healed as any other.\n\n"+
				"It is refused for a machine that does not run or is protected, and while the brake is on."+rules,
			"  hale reboot web-2"),
		c.choreCommand(fleet.OrderMigrate, "Move a machine that runs to another host",
			"The provider chooses the host. It is refused for a machine that does not run or is protected, and\n"+
				"while the brake is on."+rules, "  hale migrate web-2"),
		c.revertCommand(rules),
	}
}

func (c giver) choreCommand(kind fleet.OrderKind, short, long, example string) *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: string(kind) + " MACHINE…", Short: short, Long: long, Example: example, Args: cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(kind), Subjects: args}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}

func (c giver) revertCommand(rules string) *cobra.Command {
	var f orderFlags
	var which string
	cmd := &cobra.Command{
		Use: "revert MACHINE", Short: "Put a copy of a machine's disks back", Args: cobra.ExactArgs(1),
		Long: "The machine is powered off, proven off, gets the disks of a copy that the step snapshot made, and is\n" +
			"started; what it had on them is lost. Its kept disks and the copy stay as they are. The youngest copy\n" +
			"is meant, or the one that --copy names; 'hale evidence MACHINE' lists them. If the machine does not\n" +
			"become healthy in time, you are paged, and it is healed as any other.\n\n" +
			"It is refused where there is no whole copy on the host of the machine, for a machine that is\n" +
			"protected, or was adopted and is not replaceable, and while the brake is on." + rules,
		Example: "  hale revert web-2 --copy r1-mjuojcbt",
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			order := api.OrderRequest{Kind: string(fleet.OrderRevert), Subjects: args, Copy: which}
			return c.give(cmd.Context(), order, f)
		}),
	}
	cmd.Flags().StringVar(&which, "copy", "", "which one (default: the youngest)")
	f.add(cmd, c)
	return cmd
}
