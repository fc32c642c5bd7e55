package show

import (
	"hale/internal/cli/command"
	"hale/internal/cli/paper"

	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
func Commands(c *command.Call) []*cobra.Command {
	r := reader{c}
	return []*cobra.Command{
		r.statusCommand(),
		r.whyCommand(),
		r.evidenceCommand(),
		r.eventsCommand(),
		r.probeLogCommand(),
		r.ordersCommand(),
		r.holdsCommand(),
		r.planCommand(),
	}
}

type reader struct{ *command.Call }

// sheet is paper for what these commands print.
type sheet struct{ paper.Sheet }

func (c reader) sheet() sheet { return sheet{paper.ScreenOf(c.Out, c.Getenv).Sheet()} }
