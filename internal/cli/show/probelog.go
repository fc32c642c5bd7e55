package show

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hale/api"
	"hale/internal/cli/command"

	"github.com/spf13/cobra"
)

func (c reader) probeLogCommand() *cobra.Command {
	var lasts time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use: "probe-log MACHINE", Short: "Show each single probe of a machine's checks, for a time",
		Long: "Shows each probe of the machine's checks as it ends: when, which check, what came of it, how long it\n" +
			"took, and how the check stands from then on. hale writes down no probes, only what changes; this shows\n" +
			"those that are made while it runs. It ends by itself.",
		Example: "  hale probe-log web-2\n  hale probe-log web-2 --for 30s --json",
		Args:    cobra.ExactArgs(1),
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			if lasts <= 0 || lasts > time.Hour {
				return command.Usage(errors.New("--for: an hour at most, as 30s or 5m"))
			}
			lines := json.NewEncoder(c.Out)
			lines.SetEscapeHTML(false)
			for l, err := range client.ProbeLog(cmd.Context(), args[0], lasts) {
				switch {
				case err != nil:
					return err
				case asJSON:
					if err := lines.Encode(l); err != nil {
						return err
					}
				default:
					fmt.Fprint(c.Out, probeLine(l))
				}
			}
			return nil
		}),
	}
	cmd.Flags().DurationVar(&lasts, "for", 5*time.Minute, "for so long")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// probeLine renders a probe, after a word of those that were left out before it.
func probeLine(l api.ProbeLine) string {
	said := ""
	if l.Missed > 0 {
		said = fmt.Sprintf("%d probes are left out here: this terminal was too slow\n", l.Missed)
	}
	took := "left out"
	if !l.Started.IsZero() {
		took = fmt.Sprintf("%.1f ms", float64(l.Ended.Sub(l.Started).Microseconds())/1000)
	}
	result := l.Result
	if l.Detail != "" {
		result += " (" + l.Detail + ")"
	}
	return said + fmt.Sprintf("%s  %-12s %-10s %10s  %s", l.Ended.Local().Format("15:04:05.000"), l.Check,
		l.Standing, took, result) + "\n"
}
