package play

import (
	"hale/internal/cli/command"
	"hale/internal/cli/paper"

	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
func Commands(c *command.Call) []*cobra.Command {
	p := player{c}
	return []*cobra.Command{
		p.simulateCommand(), p.replayCommand(), p.testCommand(), p.simCommand(),
	}
}

type player struct{ *command.Call }

// sheet is paper for what these commands print.
type sheet struct{ paper.Sheet }

func (c player) sheet() sheet { return sheet{paper.ScreenOf(c.Out, c.Getenv).Sheet()} }
