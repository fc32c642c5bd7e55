package steer

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/cli/show"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

func (c giver) notifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "notify", Short: "Test the notifiers, and see which messages they did not take",
		Args: cobra.NoArgs,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(c.notifyTestCommand(), c.notifyDeadCommand())
	return cmd
}

func (c giver) notifyTestCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "test TARGET", Short: "Send a test message, and say what the target answered",
		Long: "The running controller sends it, with its own configuration, secrets and network. It is tried\n" +
			"once; what is in the outbox is not touched.",
		Args: cobra.ExactArgs(1),
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			a, err := client.Test(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case asJSON:
				return paper.JSON(c.Out, a)
			}
			fmt.Fprintf(c.Out, "%s took the message in %s and answered: %s\n",
				a.Target, prose.Span(time.Duration(a.Took)), cmp.Or(a.Answer, "(nothing)"))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c giver) notifyDeadCommand() *cobra.Command {
	var asJSON bool
	var retry string
	cmd := &cobra.Command{
		Use: "dead", Short: "List the messages that no target took, or have them tried again",
		Long: "A message that a target did not take in as many tries, or as long, as its policy says is a dead\n" +
			"letter. It is kept for 30 days, with the reason. --retry takes it back among those that wait, with\n" +
			"all of its tries before it.",
		Args: cobra.NoArgs,
		RunE: c.Asks(func(cmd *cobra.Command, _ []string, client *api.Client) error {
			if cmd.Flags().Changed("retry") && retry == "" {
				return command.Usage(errors.New("--retry wants the key of a message, or all"))
			}
			if retry != "" {
				return c.retryDead(cmd, client, retry, asJSON)
			}
			dead, err := client.DeadLetters(cmd.Context())
			switch {
			case err != nil:
				return err
			case asJSON:
				return paper.JSON(c.Out, dead)
			case len(dead.Letters) == 0:
				fmt.Fprintln(c.Out, "no dead letters")
				return nil
			}
			p := c.sheet()
			for _, d := range dead.Letters {
				fmt.Fprintln(c.Out, p.deadLetter(d, time.Local))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&retry, "retry", "", "try the message with this key again, or all")
	return cmd
}

func (c giver) retryDead(cmd *cobra.Command, client *api.Client, key string, asJSON bool) error {
	order := api.RetryOrder{Key: key}
	if key == "all" {
		order = api.RetryOrder{All: true}
	}
	done, err := client.Retry(cmd.Context(), order)
	switch {
	case err != nil:
		return err
	case asJSON:
		return paper.JSON(c.Out, done)
	}
	fmt.Fprintf(c.Out, "%s tried again\n", paper.Count(done.Letters, "message"))
	return nil
}

// deadLetter renders a dead letter in three lines.
func (p sheet) deadLetter(d api.DeadLetter, zone *time.Location) string {
	head := fmt.Sprintf("%s  %s to %s, given up %s",
		p.Paint(paper.Strong, d.Key), d.Message, d.Target, d.At.In(zone).Format(time.DateTime))
	why := d.Reason.Text
	if d.Reason.Detail != "" {
		why += ": " + d.Reason.Detail
	}
	return head + "\n  " + show.Event(p.Sheet, d.Event, zone) + "\n  " +
		p.Paint(paper.Faint, fmt.Sprintf("%s: %s", paper.Count(d.Tries, "time"), why))
}
