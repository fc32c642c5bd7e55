package steer

import (
	"hale/api"
	"hale/internal/core/fleet"

	"github.com/spf13/cobra"
)

func (c giver) approveCommand() *cobra.Command {
	return c.approvalCommand("approve", fleet.HookDone, "Let hale do the step of a repair that it asks about",
		"A step of the ladder with the key approve is not done before a person agrees, who is paged. hale looks at\n"+
			"the machine once more then: one that is healthy again is left alone. 'hale why MACHINE' says which\n"+
			"step it is, until when hale waits, and what follows without a word.\n\n"+
			"A word is refused where none is waited for, and the second one on the same step.")
}

func (c giver) denyCommand() *cobra.Command {
	return c.approvalCommand("deny", fleet.HookFail, "Forbid the step of a repair that hale asks about",
		"The repair ends, and the machine is left to you, in quarantine. It comes out of it when it is healthy,\n"+
			"and by 'hale retry', which begins a repair anew and asks again.")
}

func (c giver) approvalCommand(verb string, word fleet.HookWord, short, long string) *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: verb + " MACHINE…", Short: short, Long: long, Args: cobra.MinimumNArgs(1),
		Example: "  hale " + verb + " web-2",
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderHook), Subjects: args,
				Word: string(word), Hook: string(fleet.Approval)}, f)
		}),
	}
	f.add(cmd, c)
	return cmd
}
