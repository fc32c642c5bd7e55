package steer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

// errStillOn ends a command that could not turn a host off.
var errStillOn = errors.New("no method proved it off")

// fenceOffHelp is what hale fence off --help says.
const fenceOffHelp = "" +
	"Without --confirm no controller is asked: it says which methods would be tried, which machines are\n" +
	"on the host, and what would follow. With it the host is told to power off, and asked until it is. While\n" +
	"a machine on the host is not known to fail, the host is left on, unless --force is given. This\n" +
	"command builds nothing in the place of what was on the host: with repair.fence.hosts: off, a fleet\n" +
	"does that by itself, once its own repair asked the controller and heard off.\n\n" +
	fenceSubjects

func (c giver) fenceOffCommand() *cobra.Command {
	var q api.FenceOffRequest
	var provider string
	var asJSON, confirm bool
	cmd := &cobra.Command{
		Use:   "off HOST|MACHINE",
		Short: "Turn a host off by its power controllers; without --confirm, say what that would mean",
		Long:  fenceOffHelp,
		Args:  cobra.ExactArgs(1),
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			q.Subject, q.DryRun = args[0], !confirm
			switch {
			case provider == "":
			case strings.Contains(q.Subject, "/"):
				return command.Usage(fmt.Errorf("%s names its provider already: leave --provider out", q.Subject))
			default:
				q.Subject = "host:" + provider + "/" + strings.TrimPrefix(q.Subject, "host:")
			}
			out, err := client.FenceOff(cmd.Context(), q)
			switch {
			case err != nil:
				return c.leftOn(err)
			case asJSON:
				err = paper.JSON(c.Out, out)
			default:
				fmt.Fprintln(c.Out, strings.Join(fenceOffLines(out, q.Force), "\n"))
			}
			if out.Done && !out.Off {
				err = errors.Join(err, fmt.Errorf("host %s: %w", out.Host, errStillOn))
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&provider, "provider", "", "the host's provider, where several have one of that name")
	cmd.Flags().BoolVar(&confirm, "confirm", false, "do it")
	cmd.Flags().BoolVar(&q.Force, "force", false, "do it although a machine on the host is not known to fail")
	cmd.Flags().StringVarP(&q.Reason, "reason", "r", "", "why, for the journal")
	cmd.Flags().StringVar(&q.As, "as", c.Getenv("SUDO_USER"), "the person you speak for, noted beside your user name")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// leftOn adds the way out to a refusal.
func (c giver) leftOn(err error) error {
	var p api.Problem
	if errors.As(err, &p) && p.Code == api.CodeRefused {
		return fmt.Errorf("%w: --force turns it off all the same", err)
	}
	return err
}

// fenceOffLines tell what turning a host off means, or how it ended.
func fenceOffLines(o api.FenceOff, force bool) []string {
	if o.Done {
		return triedLines(o)
	}
	stands := "does not answer its provider"
	if o.Up {
		stands = "answers its provider"
	}
	lines := []string{
		fmt.Sprintf("host %s of provider %s %s. It would be turned off by, in this order:", o.Host, o.Provider, stands),
	}
	for _, m := range o.Methods {
		line := fmt.Sprintf("  %s (%s), up to %d tries of %s each, proves %s",
			m.Name, m.Kind, m.Attempts, prose.Span(time.Duration(m.Timeout)), m.Proof)
		if m.Test != nil && !m.Test.OK {
			line += "; its last test failed: " + m.Test.Detail
		}
		lines = append(lines, line)
	}
	lines = append(lines, "machines on it:")
	for _, m := range o.Machines {
		fails := "not known to fail"
		if m.Fails {
			fails = "known to fail"
		}
		lines = append(lines, fmt.Sprintf("  %s: %s, %s", m.Name, m.Verdict, fails))
	}
	if len(o.Machines) == 0 {
		lines = append(lines, "  none that hale knows")
	}
	for _, f := range o.Unseen {
		lines = append(lines, "  fleet "+f+" is looked after by another server: it may have some")
	}
	for _, f := range o.Follows {
		lines = append(lines, "then, in fleet "+f.Fleet+": "+followText(f.Follows, o.Host))
	}
	how := "hale fence off " + o.Host + " --confirm"
	if o.Needs {
		how += " --force"
		if !force {
			lines = append(lines, "It would be refused without --force: "+strings.Join(o.Against(), "; "))
		}
	}
	return append(lines, "No controller was asked. To do it: "+how)
}

func followText(follows, host string) string {
	switch follows {
	case api.FollowsElsewhere:
		return "what fails there is built anew on other hosts, when the host does not answer and hale's own question " +
			"to the controller proves it off"
	case api.FollowsWord:
		return "nothing is built elsewhere until you give your word: hale fence confirm " + host
	}
	return "nothing is built elsewhere: its repair.fence takes neither a power controller's word nor yours"
}

// triedLines tell how the controllers answered.
func triedLines(o api.FenceOff) []string {
	var lines []string
	for _, t := range o.Tries {
		took := time.Duration(t.Took).Round(100 * time.Millisecond).Seconds()
		switch {
		case t.OK && t.Already:
			lines = append(lines,
				fmt.Sprintf("host %s was off already, says %s (%s), after %.1f s", o.Host, t.Method, t.Proof, took))
		case t.OK:
			lines = append(lines,
				fmt.Sprintf("host %s is off, says %s (%s), after %.1f s", o.Host, t.Method, t.Proof, took))
		default:
			lines = append(lines,
				fmt.Sprintf("method %s, try %d, after %.1f s: %s", t.Method, t.Number, took, t.Detail))
		}
	}
	if o.Off {
		return append(lines,
			"hale keeps no proof of that: a repair asks the controller again. Turn the host on when it may run again.")
	}
	return append(lines, "Whether host "+o.Host+" is off is not known.")
}
