package steer

import (
	"hale/internal/cli/command"
	"hale/internal/cli/paper"

	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
func Commands(c *command.Call) []*cobra.Command {
	g := giver{c}
	return append(g.choreCommands(),
		g.holdCommand(),
		g.releaseCommand(),
		g.retryCommand(),
		g.hookCommand(),
		g.approveCommand(),
		g.denyCommand(),
		g.healCommand(),
		g.undoCommand(),
		g.markCommand(),
		g.cancelCommand(),
		g.brakeCommand(),
		g.scaleCommand(),
		g.deleteCommand(),
		g.rolloutCommand(),
		g.reloadCommand(),
		g.applyCommand(),
		g.recoverCommand(),
		g.takeOverCommand(),
		g.fenceCommand(),
		g.notifyCommand(),
	)
}

type giver struct{ *command.Call }

// sheet is paper for what these commands print.
type sheet struct{ paper.Sheet }

func (c giver) sheet() sheet { return sheet{paper.ScreenOf(c.Out, c.Getenv).Sheet()} }
