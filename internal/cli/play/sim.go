package play

import (
	"fmt"

	"hale/api"

	"github.com/spf13/cobra"
)

func (c player) simCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sim", Short: "Have a simulated machine of the running hale fail, and see it heal", Args: cobra.NoArgs,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(c.simBreakCommand())
	return cmd
}

func (c player) simBreakCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "break [MACHINE WAY]",
		Short: "Have a machine of a simulated provider fail in the way; alone it lists the ways",
		Long: "Has a machine of a provider of type simulated fail, so that you see what hale does about it: watch\n" +
			"it with 'hale status -w', and ask 'hale why MACHINE' afterwards. Machines of other providers are\n" +
			"refused. Without arguments it lists the ways to fail.",
		Example: "  hale sim break\n  hale sim break web-2 crash",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) == 2 {
				return nil
			}
			return fmt.Errorf("%d arguments", len(args))
		},
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			if len(args) == 0 {
				known, err := client.Breakages(cmd.Context())
				for _, b := range known.Breakages {
					fmt.Fprintf(c.Out, "%-10s the machine %s\n", b.Name, b.Does)
				}
				return err
			}
			done, err := client.Break(cmd.Context(), api.BreakOrder{Machine: args[0], Way: args[1]})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "%s %s; next: hale status -w, hale why %s\n", done.Machine, done.Does, done.Machine)
			return nil
		}),
	}
}
