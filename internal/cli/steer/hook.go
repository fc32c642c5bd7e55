package steer

import (
	"errors"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/core/fleet"

	"github.com/spf13/cobra"
)

func (c giver) hookCommand() *cobra.Command {
	var f orderFlags
	var hook string
	cmd := &cobra.Command{
		Use: "hook done|more|fail MACHINE", Short: "Give the word that a hook of the machine waits for",
		Long: "A hook of the kind wait holds a repair, an update or a removal until it is told that it may go on.\n" +
			"done: go on. more: what is done there takes longer, and the hook waits on. fail: it failed, and the\n" +
			"hook's on_failure says what follows. A word that is not waited for, comes again or comes too late is\n" +
			"refused.",
		Args: cobra.ExactArgs(2),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			if !fleet.HookWord(args[0]).Known() {
				return command.Usage(errors.New("say done, more or fail, and then the machine"))
			}
			return c.give(cmd.Context(), api.OrderRequest{Kind: string(fleet.OrderHook), Subjects: args[1:],
				Word: args[0], Hook: hook}, f)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().StringVar(&hook, "hook", "", "the hook that is meant, by its name; else whichever waits")
	return cmd
}
