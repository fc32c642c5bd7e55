package cli

import (
	"errors"
	"fmt"
	"time"

	"hale/internal/api"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

func (c *commander) notifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "notify", Short: "Test the notifiers, and see which messages they did not take",
		Args: cobra.NoArgs,
		RunE: c.command(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(c.notifyTestCommand(), c.notifyDeadCommand())
	return cmd
}

func (c *commander) notifyTestCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "test TARGET", Short: "Send a test message, and say what the target answered",
		Long: "The running controller sends it, with its own configuration, secrets and network. It is tried\n" +
			"once; what is in the outbox is not touched.",
		Args: cobra.ExactArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			client, err := c.dial()
			if err != nil {
				return err
			}
			defer client.Close()
			a, err := client.Test(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(c.Out, a)
			}
			fmt.Fprintf(c.Out, "%s took the message in %s and answered: %s\n",
				a.Target, prose.Span(time.Duration(a.TookNS)), orNothing(a.Answer))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func orNothing(said string) string {
	if said == "" {
		return "(nothing)"
	}
	return said
}

func (c *commander) notifyDeadCommand() *cobra.Command {
	var asJSON bool
	var retry string
	cmd := &cobra.Command{
		Use: "dead", Short: "List the messages that no target took, or have them tried again",
		Long: "A message that a target did not take in as many tries, or as long, as its policy says is a dead\n" +
			"letter. It is kept for 30 days, with the reason. --retry takes it back among those that wait, with\n" +
			"all of its tries before it.",
		Args: cobra.NoArgs,
		RunE: c.command(func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("retry") && retry == "" {
				return usageError{errors.New("--retry wants the key of a message, or all")}
			}
			client, err := c.dial()
			if err != nil {
				return err
			}
			defer client.Close()
			if retry != "" {
				return c.retryDead(cmd, client, retry, asJSON)
			}
			dead, err := client.DeadLetters(cmd.Context())
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(c.Out, dead)
			case len(dead.Letters) == 0:
				fmt.Fprintln(c.Out, "no dead letters")
				return nil
			}
			paper := screenOf(c.Out, c.Getenv).paper()
			for _, d := range dead.Letters {
				fmt.Fprintln(c.Out, paper.deadLetter(d, time.Local))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&retry, "retry", "", "try the message with this key again, or all")
	return cmd
}

func (c *commander) retryDead(cmd *cobra.Command, client *api.Client, key string, asJSON bool) error {
	order := api.RetryOrder{Key: key}
	if key == "all" {
		order = api.RetryOrder{All: true}
	}
	done, err := client.Retry(cmd.Context(), order)
	switch {
	case err != nil:
		return err
	case asJSON:
		return printJSON(c.Out, done)
	}
	fmt.Fprintf(c.Out, "%s tried again\n", count(done.Letters, "message"))
	return nil
}

// deadLetter renders a dead letter in three lines.
func (p paper) deadLetter(d api.DeadLetter, zone *time.Location) string {
	head := fmt.Sprintf("%s  %s to %s, given up %s",
		p.paint(strong, d.Key), d.Message, d.Target, d.At.In(zone).Format(time.DateTime))
	why := d.Reason.Text
	if d.Reason.Detail != "" {
		why += ": " + d.Reason.Detail
	}
	return head + "\n  " + p.event(d.Event, zone) + "\n  " +
		p.paint(faint, fmt.Sprintf("%s: %s", count(d.Tries, "time"), why))
}

// messageLines say which messages wait, and which were given up.
func (p paper) messageLines(fleets []api.Fleet, now time.Time) []string {
	var lines []string
	for _, f := range fleets {
		m := f.Messages
		if m.Waiting > 0 && m.Target != "" {
			said := fmt.Sprintf("%s of fleet %s not taken for %s: %s says %s",
				count(m.Waiting, "message"), f.Name, prose.Span(now.Sub(m.Since)), m.Target, orNothing(m.Detail))
			lines = append(lines, p.paint(yellow, said))
		}
		if m.Dead > 0 {
			lines = append(lines,
				p.paint(red,
					fmt.Sprintf("%s of fleet %s given up: hale notify dead", count(m.Dead, "message"), f.Name)))
		}
	}
	return lines
}
