package steer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/cli/show"

	"github.com/spf13/cobra"
)

func (c giver) reloadCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "reload", Short: "Let the controller read its configuration again",
		Long: "The running controller reads its file or folder again. What is wrong with it is said, and the\n" +
			"running configuration is left as it is (exit code 2). Else it is in force when the command ends,\n" +
			"without a gap in watching; what in it would destroy something (a smaller size, another template,\n" +
			"another provider address) waits for 'hale apply --confirm PLAN'.",
		Args: cobra.NoArgs,
		RunE: c.Asks(func(cmd *cobra.Command, _ []string, client *api.Client) error {
			changes, err := client.Reload(cmd.Context())
			if err != nil {
				return c.sayLines(err)
			}
			return c.printChanges(changes, "The configuration was read again.", true, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c giver) applyCommand() *cobra.Command {
	var f orderFlags
	var plan string
	cmd := &cobra.Command{
		Use: "apply [FILE|DIR] [--confirm PLAN]", Short: "Say what waits for your word, or give it",
		Long: "Without a file it says which part of the running configuration waits to be confirmed, because it\n" +
			"would destroy something, and exactly what. With one it says what reading that file would change,\n" +
			"and changes nothing. With --confirm it lets the plan be carried out that you were shown: once any\n" +
			"machine or instance in it is another, it is refused.",
		Example: "  hale apply\n  hale apply --confirm web-1f3a9c0d2b4e --reason \"fewer visitors\"",
		Args:    cobra.MaximumNArgs(1),
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			switch {
			case plan != "" && len(args) > 0:
				return command.Usage(
					errors.New("a plan is confirmed by its name alone: it is of the configuration that runs"),
				)
			case plan != "":
				return c.confirm(cmd.Context(), client, plan, f)
			case len(args) > 0:
				return c.compare(cmd.Context(), client, args[0], f.json)
			}
			changes, err := waits(cmd.Context(), client)
			if err != nil {
				return err
			}
			return c.printChanges(changes, "", true, f.json)
		}),
	}
	f.add(cmd, c)
	cmd.Flags().StringVar(&plan, "confirm", "", "the plan to be carried out")
	return cmd
}

func (c giver) compare(ctx context.Context, client *api.Client, file string, asJSON bool) error {
	if err := command.Present(file); err != nil {
		return err
	}
	if at, err := c.Server(); err != nil {
		return err
	} else if at.Server != "" {
		return command.Usage(fmt.Errorf("a file is compared at hale's own machine: run hale apply %s there; without a "+
			"file, hale apply says what waits at %s", file, at.Server))
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	changes, err := client.Compare(ctx, path)
	if err != nil {
		return c.sayLines(err)
	}
	return c.printChanges(changes, "Reading "+file+" would change this; nothing was changed.", false, asJSON)
}

// confirm gives a person's word for a plan.
func (c giver) confirm(ctx context.Context, client *api.Client, plan string, f orderFlags) error {
	if end := strings.LastIndexByte(plan, '-'); end < 1 {
		return command.Usage(fmt.Errorf("--confirm %s: that is no plan's name; hale apply lists those that wait", plan))
	}
	done, err := client.Confirm(ctx, plan, api.Confirmation{Reason: f.reason, As: f.as, Wait: api.Duration(patience)})
	if err != nil {
		return err
	}
	out := api.Orders{Orders: done.Orders}
	name, ofProvider := strings.CutPrefix(done.Plan.Subject, "provider ")
	switch {
	case f.json:
		err = paper.JSON(c.Out, done)
	case done.Plan.Subject == api.SubjectConfiguration:
		fmt.Fprintln(c.Out, "the configuration is in force with the renamed fleets")
	case ofProvider:
		fmt.Fprintf(c.Out, "provider %s is connected to its new address\n", name)
	default:
		c.printOrders(out)
	}
	return errors.Join(err, verdictOn(out))
}

// waits is what waits for a person's word.
func waits(ctx context.Context, client *api.Client) (api.Changes, error) {
	p, err := client.Plans(ctx)
	return api.Changes{Changes: []api.Change{}, Plans: p.Plans, Passed: p.Passed, Warnings: p.Warnings}, err
}

// sayLines says everything that is wrong with a configuration, a line each, as hale validate does.
func (c giver) sayLines(err error) error {
	var p api.Problem
	if errors.As(err, &p) {
		for _, line := range p.Lines {
			fmt.Fprintln(c.Err, line)
		}
	}
	return err
}

func (c giver) printChanges(changes api.Changes, headline string, wait, asJSON bool) error {
	if asJSON {
		return paper.JSON(c.Out, changes)
	}
	fmt.Fprintln(c.Out, strings.Join(c.sheet().changes(changes, headline, wait), "\n"))
	return nil
}

// changes renders differences, and the plans. If these wait, and not only would, the command that confirms them stands
// with them.
func (p sheet) changes(changes api.Changes, headline string, wait bool) []string {
	var lines []string
	if headline != "" {
		lines = append(lines, headline)
		if len(changes.Changes) == 0 {
			lines = append(lines, "  nothing differs")
		}
	}
	for _, d := range changes.Changes {
		said := "  " + d.Subject + ": " + d.Text
		if d.Destructive {
			said += p.Paint(paper.Yellow, " (waits to be confirmed)")
		}
		lines = append(lines, said)
	}
	for _, w := range changes.Withdrawn {
		lines = append(lines,
			"  plan "+w.ID+" no longer waits: the configuration does not ask for it any more ("+show.Aim(w)+")")
	}
	for _, u := range changes.Unwatched {
		lines = append(lines, p.Paint(paper.Yellow, unwatchedLine(u)))
	}
	for _, name := range changes.Passed {
		lines = append(lines, p.Paint(paper.Yellow, "  "+name+" is not read: only files that end in .yaml are"))
	}
	for _, said := range changes.Warnings {
		lines = append(lines, p.Paint(paper.Yellow, "  warning: "+said))
	}
	if len(changes.Plans) == 0 && headline == "" {
		return append(lines, "Nothing waits to be confirmed.")
	}
	for _, w := range changes.Plans {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, "plan "+w.ID+" waits to be confirmed: "+show.Aim(w))
		lines = append(lines, p.touched("remove", w.Remove)...)
		lines = append(lines, p.touched("replace", w.Replace)...)
		lines = append(lines, p.touched("take for gone, if it is not found there,", w.Doubted)...)
		switch {
		case w.Blocked.Code != "":
			lines = append(lines, p.Paint(paper.Red, "  it cannot be confirmed: "+w.Blocked.Text), "  "+w.Blocked.Advice)
		case wait:
			lines = append(lines, "  to do it: hale apply --confirm "+w.ID)
		}
	}
	return lines
}

// unwatchedLine names the machines of the fleet that run on while nothing watches them.
func unwatchedLine(u api.Unwatched) string {
	if len(u.Machines) == 0 {
		return "  fleet " + u.Fleet + ": it has no machines that would go on without hale"
	}
	run := "1 machine runs"
	if n := len(u.Machines); n > 1 {
		run = fmt.Sprintf("%d machines run", n)
	}
	return fmt.Sprintf("  fleet %s: %s on, and nothing watches or repairs them without it: %s",
		u.Fleet, run, paper.Named(u.Machines))
}

func (p sheet) touched(what string, all []api.Touched) []string {
	lines := make([]string, 0, len(all))
	for _, t := range all {
		does := what
		if t.InPlace {
			does = "change in place, or replace where the provider cannot do that,"
		}
		said := fmt.Sprintf("  would %s %s", does, t.Machine)
		if t.Instance != "" {
			said += " (instance " + t.Instance + ")"
		}
		if t.Why.Text != "" {
			said += ": " + t.Why.Text
		}
		lines = append(lines, said)
	}
	return lines
}
