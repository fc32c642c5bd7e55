package steer

import (
	"errors"
	"fmt"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"

	"github.com/spf13/cobra"
)

func (c giver) rolloutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rollout", Short: "See, hold, take back or begin the way of a template through a fleet",
		Long: "Another template begins its way with 'hale apply --confirm PLAN': some machines try it first, and the\n" +
			"others follow as the fleet's policy says (update:).",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	order := func(use, short, long string, kind fleet.OrderKind) *cobra.Command {
		var f orderFlags
		sub := &cobra.Command{Use: use + " FLEET", Short: short, Long: long, Args: cobra.ExactArgs(1),
			ValidArgsFunction: c.CompleteSubjects,
			RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
				return c.give(cmd.Context(), api.OrderRequest{Kind: string(kind), Subjects: args}, f)
			})}
		f.add(sub, c)
		return sub
	}
	cmd.AddCommand(c.rolloutStatus(), c.rolloutStart(),
		order("pause", "Begin no further machine until it is resumed",
			"What is being changed is finished, and a failure still stops the rollout, or takes it back.",
			fleet.OrderRolloutPause),
		order("resume", "Have a rollout go on that was paused", "", fleet.OrderRolloutResume),
		order("undo", "Take back what was changed",
			"The machines that were changed are built from the template again that the others have, in batches,\n"+
				"without a pause. A rollout that stopped can be taken back, too. One that is over cannot: write the\n"+
				"former template, and confirm the plan.", fleet.OrderRolloutUndo))
	return cmd
}

func (c giver) rolloutStart() *cobra.Command {
	var f orderFlags
	var drifted bool
	cmd := &cobra.Command{
		Use: "start FLEET --drifted", Short: "Build those machines anew that differ from the template in force",
		Long: "'hale rollout status FLEET' says which these are, and in what they differ. They go as in any other\n" +
			"rollout, in batches and with as many in service as the policy says; the template is in force, so\n" +
			"that none of them has to try it first.",
		Args: cobra.ExactArgs(1), ValidArgsFunction: c.CompleteSubjects,
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			if !drifted {
				return command.Usage(errors.New("say --drifted: another template begins with hale apply --confirm PLAN"))
			}
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderRolloutMend), Subjects: args}, f)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().BoolVar(&drifted, "drifted", false, "what differs from the template in force")
	return cmd
}

func (c giver) rolloutStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status FLEET", Short: "Say how another template goes through a fleet, and what differs from its template",
		Args: cobra.ExactArgs(1), ValidArgsFunction: c.CompleteSubjects,
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			r, err := client.FleetRollout(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return paper.JSON(c.Out, r)
			}
			c.printRollout(r)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c giver) printRollout(r api.Rollout) {
	p := c.sheet()
	fmt.Fprintln(c.Out, p.Paint(paper.Strong, "fleet "+r.Fleet)+": "+r.State)
	for _, said := range r.Said {
		fmt.Fprintln(c.Out, "  "+said)
	}
	if len(r.Person) > 0 {
		fmt.Fprintln(c.Out, "\n"+p.Paint(paper.Strong, "You can:"))
	}
	for _, can := range r.Person {
		fmt.Fprintln(c.Out, "  "+can)
	}
}
