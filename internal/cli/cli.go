// Package cli is hale's command line: it turns arguments into options, and what the other packages return into text for
// people (or JSON for programs) and an exit code.
//
// It promises that what is asked for goes to standard output and everything else to standard error; that colour and
// redrawing happen on a terminal only (and never with NO_COLOR set); and these exit codes:
//
//	0  done
//	1  it failed
//	2  it was called wrongly, or the configuration is invalid
//	3  no controller listens on the socket, or it is stopping
//	4  the order is stored, and the fleet's owner did not take it up yet
//
// Its commands lie in packages of their own (show, steer, play), but for those that set hale up and start it. It starts
// nothing by itself: what runs a controller and makes a plan is handed in (command.Program), and a running controller
// is asked through package api.
package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/cli/play"
	"hale/internal/cli/reach"
	"hale/internal/cli/servers"
	"hale/internal/cli/show"
	"hale/internal/cli/steer"

	"github.com/spf13/cobra"
)

// Execute runs one command and returns its exit code. What went wrong is said on p.Err.
func Execute(ctx context.Context, p command.Program, args []string) int {
	p.Out, p.Err = paper.Tame(p.Out), paper.Tame(p.Err)
	c := commander{command.New(p, args)}
	root := c.root()
	root.SetArgs(steer.ChangeLast(args))
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return command.ExitDone
	}
	if !c.Understood() { // cobra did not get as far as a command
		err = command.Usage(err)
	}
	if ended := show.CheckEnded(0); errors.As(err, &ended) {
		return int(ended)
	}
	fmt.Fprintln(p.Err, "hale: "+command.Message(err))
	if slices.Contains(args, "--"+show.CheckFlag) && slices.Contains(args, "status") {
		// a wrong call says nothing about hale
		return show.CheckUnknown
	}
	return command.ExitCode(err)
}

func (c commander) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "hale",
		Short: "Keeps fleets of virtual machines in good health",
		Long: "hale watches fleets of virtual machines without an agent inside, repairs them in ordered steps,\n" +
			"and shows why it acted and why it did not.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 called wrongly or invalid configuration, 3 no controller listens\n" +
			"on the socket, or it is stopping, 4 the order is stored, and the fleet's owner did not take it up\n" +
			"yet.",
		SilenceErrors: true, SilenceUsage: true,
		Args: knownCommand,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	c.Flags(root)
	root.AddCommand(c.initCommand(), c.validateCommand(), c.runCommand(), c.adoptCommand(), c.backupCommand(),
		c.restoreCommand(), c.providerCommand(), c.probeCommand(), c.importCommand(), c.versionCommand())
	root.AddCommand(show.Commands(c.Call)...)
	root.AddCommand(steer.Commands(c.Call)...)
	root.AddCommand(play.Commands(c.Call)...)
	root.AddCommand(reach.Commands(c.Call)...)
	root.AddCommand(servers.Command(c.Call), servers.Satellites(c.Call))
	spell(root.Commands())
	return root
}

// commandsMeant are words of other programs for what a command of hale does.
var commandsMeant = map[string]string{
	"restart": "heal", "reboot": "heal", "repair": "heal", "fix": "heal", "start": "run", "serve": "run",
	"daemon": "run", "log": "events", "logs": "events", "journal": "events", "check": "validate", "lint": "validate",
	"list": "status", "ls": "status", "ps": "status", "show": "status", "explain": "why", "pause": "hold",
	"unpause": "release", "resume": "release", "rollback": "undo", "remove": "delete", "rm": "delete",
	"confirm": "apply", "diff": "plan",
}

// knownCommand refuses what is no command, and says which one may be meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	said := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	meant := cmd.SuggestionsFor(args[0])
	if known, ok := commandsMeant[args[0]]; ok && !slices.Contains(meant, known) {
		meant = append([]string{known}, meant...)
	}
	if len(meant) > 0 {
		said += "; did you mean " + strings.Join(meant, " or ") + "?"
	}
	return errors.New(said)
}

// spell has each command say how it is written when it got too few arguments or too many.
func spell(commands []*cobra.Command) {
	for _, cmd := range commands {
		spell(cmd.Commands())
		fit := cmd.Args
		if fit == nil || cmd.HasSubCommands() { // of these it is said which command is unknown
			continue
		}
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if fit(cmd, args) == nil {
				return nil
			}
			said := fmt.Sprintf("write %s; %s --help says more", cmd.UseLine(), cmd.CommandPath())
			if strings.Contains(cmd.Use, "FILE|DIR") && len(args) > 1 {
				said += "; several files are one configuration when they lie in a folder: name that"
			}
			return errors.New(said)
		}
	}
}

func (c commander) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: c.Begin(func(*cobra.Command, []string) error {
			fmt.Fprintln(c.Out, "hale "+c.Version)
			return nil
		}),
	}
}

// commander has the commands that are not of one of the packages below.
type commander struct{ *command.Call }

// sheet is paper for what these commands print.
type sheet struct{ paper.Sheet }

func (c commander) sheet() sheet { return sheet{paper.ScreenOf(c.Out, c.Getenv).Sheet()} }
