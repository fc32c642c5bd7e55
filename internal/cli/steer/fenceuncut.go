package steer

import (
	"errors"
	"fmt"

	"hale/api"
	"hale/internal/cli/paper"
	"hale/internal/fence"

	"github.com/spf13/cobra"
)

// errStillCut ends a command that could not give a host its access back.
var errStillCut = errors.New("it does not say that the host has its access back")

func (c giver) fenceUncutCommand() *cobra.Command {
	var q api.FenceUncutRequest
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "uncut HOST",
		Short: "Give a host its access to storage and network back, when nothing relies on the cut any more",
		Long: "Runs the host's methods that cut it, to undo that, and asks them until they say so. It is refused\n" +
			"while an old instance that was replaced may still run there, or a machine of another server's\n" +
			"fleet may: two would write.\n\n" +
			fenceSubjects,
		Args: cobra.ExactArgs(1),
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			q.Subject = args[0]
			out, err := client.FenceUncut(cmd.Context(), q)
			switch {
			case err != nil:
				return err
			case asJSON:
				err = paper.JSON(c.Out, out)
			}
			for _, t := range out.Tries {
				if !asJSON {
					fmt.Fprintln(c.Out, uncutLine(out.Host, t))
				}
				if !t.OK {
					err = errors.Join(err, fmt.Errorf("method %s: %w", t.Method, errStillCut))
				}
			}
			return err
		}),
	}
	cmd.Flags().StringVarP(&q.Reason, "reason", "r", "", "why, for the journal")
	cmd.Flags().StringVar(&q.As, "as", c.Getenv("SUDO_USER"), "the person you speak for, noted beside your user name")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func uncutLine(host string, t api.FenceTry) string {
	switch {
	case t.OK && t.Already:
		return "host " + host + " has its access, says " + t.Method
	case t.OK:
		return "host " + host + " has its access back, says " + t.Method
	}
	return "method " + t.Method + ": " + t.Detail
}

// accessWord says of a host's access what its method says of it as of a power.
func accessWord(power string) string {
	switch fence.Power(power) {
	case fence.PowerOn:
		return "open"
	case fence.PowerOff:
		return "cut"
	case fence.PowerUnknown:
	}
	return "unknown"
}
