package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hale/internal/api"
	"hale/internal/core/fleet"
	"hale/internal/fence/agent"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

// fenceSubjects is the help on what fence commands are about.
const fenceSubjects = "Hosts are named as h1, or host:lab/h1 where several providers have an h1; a machine stands " +
	"for the host that it lies on."

func (c *commander) fenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "fence", Short: "See and try how the power of hosts is cut",
		Args: cobra.NoArgs,
		RunE: c.command(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(c.fenceListCommand(), c.fenceTestCommand(), c.fenceStatusCommand(), c.fenceOffCommand(),
		c.fenceUncutCommand(), c.fenceConfirmCommand(), c.fenceDescribeCommand())
	return cmd
}

func (c *commander) fenceListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the methods of each host, in the order in which they are tried, and their last test",
		Args: cobra.NoArgs,
		RunE: c.command(func(cmd *cobra.Command, _ []string) error {
			client, err := c.dial()
			if err != nil {
				return err
			}
			defer client.Close()
			f, err := client.Fences(cmd.Context())
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(c.Out, f)
			}
			fmt.Fprintln(c.Out, strings.Join(screenOf(c.Out, c.Getenv).paper().fences(f, time.Now()), "\n"))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// errFenceBroken ends a test that found something.
var errFenceBroken = errors.New("a method that is to cut a host's power does not work")

func (c *commander) fenceTestCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test [HOST|MACHINE…]",
		Short: "Ask every controller how its host stands, to find a broken one before it is needed",
		Long: "Asks only: nothing is turned off. Options of fence agents are checked by the agents' own\n" +
			"descriptions. hale does the same by itself, as often as the method's test says, and a method that\n" +
			"does not work is a warning in hale status.\n\n" +
			fenceSubjects,
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			f, err := c.askFences(cmd, args)
			switch {
			case err != nil:
				return err
			case asJSON:
				err = printJSON(c.Out, f)
			default:
				fmt.Fprintln(c.Out, strings.Join(screenOf(c.Out, c.Getenv).paper().fences(f, time.Now()), "\n"))
			}
			for _, h := range f.Hosts {
				for _, m := range h.Methods {
					if m.Test == nil || !m.Test.OK {
						err = errors.Join(err, fmt.Errorf("host %s, method %s: %w", h.Host, m.Name, errFenceBroken))
					}
				}
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *commander) fenceStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status HOST|MACHINE…", Short: "Say whether a host has power, in the word of its controllers",
		Long: "Asks the host's controllers now, and changes nothing.\n\n" + fenceSubjects,
		Args: cobra.MinimumNArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			f, err := c.askFences(cmd, args)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(c.Out, f)
			}
			for _, h := range f.Hosts {
				for _, m := range h.Methods {
					fmt.Fprintf(c.Out, "host %s: %s\n", h.Host, powerBy(m))
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// wordLasts is for how long a person's word counts, unless they say otherwise.
const wordLasts = time.Hour

func (c *commander) fenceConfirmCommand() *cobra.Command {
	var f orderFlags
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "confirm HOST --reason TEXT", Short: "Say that a host which does not answer is off, as you made sure of",
		Long: "For a while hale takes your word that the host is off, and builds its machines anew elsewhere. If\n" +
			"it is not off, two of a machine run at once, and may spoil what they share. The fleet's\n" +
			"repair.fence.word must say take. Your word ends when the host answers.",
		Args: cobra.ExactArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			switch {
			case f.reason == "":
				return usageError{errors.New("say how you know, as --reason \"I pulled the plug\"")}
			case lasts <= 0 || lasts > fleet.LongestWord:
				return usageError{
					fmt.Errorf("--for %s: a word counts for more than nothing, and at most %s",
						lasts, fleet.LongestWord),
				}
			}
			host := "host:" + strings.TrimPrefix(args[0], "host:")
			return c.give(cmd.Context(),
				api.OrderRequest{Kind: string(fleet.OrderFenced), Subjects: []string{host}, ForNS: int64(lasts)}, f)
		}),
	}
	f.add(cmd, c)
	lasts = wordLasts
	cmd.Flags().Var((*span)(&lasts), "for", "for how long it counts")
	return cmd
}

func (c *commander) askFences(cmd *cobra.Command, subjects []string) (api.Fences, error) {
	client, err := c.dial()
	if err != nil {
		return api.Fences{}, err
	}
	defer client.Close()
	return client.TestFences(cmd.Context(), api.FenceRequest{Subjects: subjects})
}

// powerBy says how a controller answered.
func powerBy(m api.FenceMethod) string {
	switch {
	case m.Test == nil:
		return m.Name + " was not asked yet"
	case !m.Test.OK:
		return "unknown, says " + m.Name + ": " + m.Test.Detail
	case m.Proof == string(fleet.ProofAccessCut):
		return accessWord(m.Test.Power) + ", says " + m.Name
	case m.Test.Power == "unknown":
		return "neither on nor off, says " + m.Name
	}
	return m.Test.Power + ", says " + m.Name
}

// fences renders a table of hosts and methods.
func (p paper) fences(f api.Fences, now time.Time) []string {
	if len(f.Hosts) == 0 {
		return []string{"no host has a method that cuts its power: name some under fences, and in the fence of the " +
			"provider's hosts"}
	}
	columns := []column{
		{title: "HOST", keep: keepAlways}, {title: "PROVIDER", keep: 3}, {title: "METHOD", keep: keepAlways},
		{title: "BY", keep: 5}, {title: "TESTED", keep: 6}, {title: "POWER", keep: keepAlways},
		{title: "MACHINES", keep: 2, narrowest: 8}, {title: "", keep: 7, narrowest: 16},
	}
	for _, h := range f.Hosts {
		for i, m := range h.Methods {
			row := []cell{
				{h.Host, plain}, {h.Provider, plain}, {m.Name, plain}, {m.Kind, plain}, {tested(m, now), plain},
				power(m), {strings.Join(h.Machines, " "), faint}, remark(m),
			}
			if i > 0 {
				row[0], row[1], row[6] = cell{}, cell{}, cell{}
			}
			for k := range columns {
				columns[k].cells = append(columns[k].cells, row[k])
			}
		}
	}
	return p.table(columns)
}

func tested(m api.FenceMethod, now time.Time) string {
	if m.Test == nil {
		return "never"
	}
	return prose.Span(max(0, now.Sub(m.Test.At))) + " ago"
}

func power(m api.FenceMethod) cell {
	switch {
	case m.Test == nil || m.Test.OK && m.Test.Power == "unknown":
		return cell{"unknown", yellow}
	case !m.Test.OK:
		return cell{"broken", red}
	}
	if m.Proof == string(fleet.ProofAccessCut) {
		return cell{accessWord(m.Test.Power), plain}
	}
	return cell{m.Test.Power, plain}
}

func remark(m api.FenceMethod) cell {
	switch {
	case m.Test != nil && !m.Test.OK:
		return cell{m.Test.Detail, red}
	case m.Unverified:
		return cell{"server not verified", yellow}
	}
	return cell{}
}

// fenceLines name the hosts without a working fence, and the fences that do not verify the server.
func (p paper) fenceLines(fleets []api.Fleet) []string {
	var lines []string
	for _, f := range fleets {
		for _, b := range f.Fencing {
			about := fmt.Sprintf("host %s of fleet %s: method %s ", b.Host, f.Name, b.Method)
			switch {
			case b.Untested:
				lines = append(lines, p.paint(yellow, about+"was not tested yet: hale fence test "+b.Host))
			case b.Unverified:
				lines = append(lines,
					p.paint(yellow, about+"sends its password to an unverified server (verify: false)"))
			default:
				lines = append(lines, p.paint(red, about+"cannot cut its power: "+b.Detail))
			}
		}
	}
	return lines
}

func (c *commander) fenceDescribeCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "describe AGENT", Short: "List the options of a program of the fence-agents family, as fence_apc",
		Long: "The program describes itself; nothing is asked over the network, and no controller is needed.",
		Args: cobra.ExactArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			d, err := agent.Describe(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(c.Out, d)
			}
			fmt.Fprintln(c.Out, strings.Join(screenOf(c.Out, c.Getenv).paper().agent(d), "\n"))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// agent renders what a program says of itself. Options that another name took the place of are left out.
func (p paper) agent(d agent.Description) []string {
	lines := []string{p.paint(strong, d.Program) + ": " + d.Short}
	if d.Long != "" {
		lines = append(lines, d.Long)
	}
	if agent.Leaks(d.Program) {
		lines = append(lines,
			p.paint(red,
				"It hands the password to ipmitool in its arguments, where everybody on the server can read it: use "+
					"the method ipmi instead."))
	}
	lines = append(lines, "")
	columns := []column{
		{title: "OPTION", keep: keepAlways},
		{title: "KIND", keep: 5},
		{title: "DEFAULT", keep: 6, narrowest: 8},
		{title: "", keep: keepAlways},
	}
	for _, o := range d.Params {
		if o.Old || o.Name == "action" {
			continue
		}
		short := o.Short
		if o.Required {
			short = "needed: " + short
		}
		kind := o.Kind
		if len(o.Choices) > 0 {
			kind = strings.Join(o.Choices, "|")
		}
		for i, text := range []string{o.Name, kind, o.Default, short} {
			columns[i].cells = append(columns[i].cells, cell{text, plain})
		}
	}
	return append(lines, p.table(columns)...)
}
