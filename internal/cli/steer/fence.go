package steer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"
	"hale/internal/fence/agent"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

// fenceSubjects is the help on what fence commands are about.
const fenceSubjects = "Hosts are named as h1, or host:lab/h1 where several providers have an h1; a machine stands " +
	"for the host that it lies on."

func (c giver) fenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "fence", Short: "See and try how the power of hosts is cut",
		Args: cobra.NoArgs,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(c.fenceListCommand(), c.fenceTestCommand(), c.fenceStatusCommand(), c.fenceOffCommand(),
		c.fenceUncutCommand(), c.fenceConfirmCommand(), c.fenceDescribeCommand())
	return cmd
}

func (c giver) fenceListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the methods of each host, in the order in which they are tried, and their last test",
		Args: cobra.NoArgs,
		RunE: c.Asks(func(cmd *cobra.Command, _ []string, client *api.Client) error {
			f, err := client.Fences(cmd.Context())
			return c.Print(err, command.Answer{What: f, JSON: asJSON, Lines: func() []string {
				return c.sheet().fences(f, time.Now())
			}})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// errFenceBroken ends a test that found something.
var errFenceBroken = errors.New("a method that is to cut a host's power does not work")

func (c giver) fenceTestCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test [HOST|MACHINE…]",
		Short: "Ask every controller how its host stands, to find a broken one before it is needed",
		Long: "Asks only: nothing is turned off. Options of fence agents are checked by the agents' own\n" +
			"descriptions. hale does the same by itself, as often as the method's test says, and a method that\n" +
			"does not work is a warning in hale status.\n\n" +
			fenceSubjects,
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			f, err := c.askFences(cmd, args)
			switch {
			case err != nil:
				return err
			case asJSON:
				err = paper.JSON(c.Out, f)
			default:
				fmt.Fprintln(c.Out, strings.Join(c.sheet().fences(f, time.Now()), "\n"))
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

func (c giver) fenceStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status HOST|MACHINE…", Short: "Say whether a host has power, in the word of its controllers",
		Long: "Asks the host's controllers now, and changes nothing.\n\n" + fenceSubjects,
		Args: cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			f, err := c.askFences(cmd, args)
			switch {
			case err != nil:
				return err
			case asJSON:
				return paper.JSON(c.Out, f)
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

func (c giver) fenceConfirmCommand() *cobra.Command {
	var f orderFlags
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "confirm HOST --reason TEXT", Short: "Say that a host which does not answer is off, as you made sure of",
		Long: "For a while hale takes your word that the host is off, and builds its machines anew elsewhere. If\n" +
			"it is not off, two of a machine run at once, and may spoil what they share. The fleet's\n" +
			"repair.fence.word must say take. Your word ends when the host answers.",
		Args: cobra.ExactArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			switch {
			case f.reason == "":
				return command.Usage(errors.New("say how you know, as --reason \"I pulled the plug\""))
			case lasts <= 0 || lasts > fleet.LongestWord:
				return command.Usage(
					fmt.Errorf("--for %s: a word counts for more than nothing, and at most %s",
						lasts, fleet.LongestWord),
				)
			}
			host := "host:" + strings.TrimPrefix(args[0], "host:")
			return c.give(cmd.Context(),
				api.OrderRequest{Kind: string(fleet.OrderFenced), Subjects: []string{host}, For: api.Duration(lasts)}, f)
		}),
	}
	f.add(cmd, c)
	lasts = wordLasts
	cmd.Flags().Var((*span)(&lasts), "for", "for how long it counts")
	return cmd
}

func (c giver) askFences(cmd *cobra.Command, subjects []string) (api.Fences, error) {
	client, err := c.Dial()
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
func (p sheet) fences(f api.Fences, now time.Time) []string {
	if len(f.Hosts) == 0 {
		return []string{"no host has a method that cuts its power: name some under fences, and in the fence of the " +
			"provider's hosts"}
	}
	columns := []paper.Column{
		{
			Title: "HOST",
			Keep:  paper.KeepAlways,
		},
		{Title: "PROVIDER", Keep: 3},
		{Title: "METHOD", Keep: paper.KeepAlways},
		{Title: "BY", Keep: 5},
		{Title: "TESTED", Keep: 6},
		{Title: "POWER", Keep: paper.KeepAlways},
		{Title: "MACHINES", Keep: 2, Narrowest: 8},
		{Title: "", Keep: 7, Narrowest: 16},
	}
	for _, h := range f.Hosts {
		for i, m := range h.Methods {
			row := []paper.Cell{
				{
					Text:  h.Host,
					Style: paper.Plain,
				},
				{Text: h.Provider},
				{Text: m.Name},
				{Text: m.Kind},
				{Text: tested(m, now)},
				power(m),
				{Text: strings.Join(h.Machines, " "), Style: paper.Faint},
				remark(m),
			}
			if i > 0 {
				row[0], row[1], row[6] = paper.Cell{}, paper.Cell{}, paper.Cell{}
			}
			for k := range columns {
				columns[k].Cells = append(columns[k].Cells, row[k])
			}
		}
	}
	return p.Table(columns)
}

func tested(m api.FenceMethod, now time.Time) string {
	if m.Test == nil {
		return "never"
	}
	return prose.Span(max(0, now.Sub(m.Test.At))) + " ago"
}

func power(m api.FenceMethod) paper.Cell {
	switch {
	case m.Test == nil || m.Test.OK && m.Test.Power == "unknown":
		return paper.Cell{Text: "unknown", Style: paper.Yellow}
	case !m.Test.OK:
		return paper.Cell{Text: "broken", Style: paper.Red}
	}
	if m.Proof == string(fleet.ProofAccessCut) {
		return paper.Cell{Text: accessWord(m.Test.Power)}
	}
	return paper.Cell{Text: m.Test.Power}
}

func remark(m api.FenceMethod) paper.Cell {
	switch {
	case m.Test != nil && !m.Test.OK:
		return paper.Cell{Text: m.Test.Detail, Style: paper.Red}
	case m.Unverified:
		return paper.Cell{Text: "server not verified", Style: paper.Yellow}
	}
	return paper.Cell{}
}

func (c giver) fenceDescribeCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "describe AGENT", Short: "List the options of a program of the fence-agents family, as fence_apc",
		Long: "The program describes itself; nothing is asked over the network, and no controller is needed.",
		Args: cobra.ExactArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			d, err := agent.Describe(cmd.Context(), args[0])
			return c.Print(err, command.Answer{What: d, JSON: asJSON, Lines: func() []string {
				return c.sheet().agent(d)
			}})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// agent renders what a program says of itself. Options that another name took the place of are left out.
func (p sheet) agent(d agent.Description) []string {
	lines := []string{p.Paint(paper.Strong, d.Program) + ": " + d.Short}
	if d.Long != "" {
		lines = append(lines, d.Long)
	}
	if agent.Leaks(d.Program) {
		lines = append(lines,
			p.Paint(paper.Red,
				"It hands the password to ipmitool in its arguments, where everybody on the server can read it: use "+
					"the method ipmi instead."))
	}
	lines = append(lines, "")
	columns := []paper.Column{
		{Title: "OPTION", Keep: paper.KeepAlways},
		{Title: "KIND", Keep: 5},
		{Title: "DEFAULT", Keep: 6, Narrowest: 8},
		{Title: "", Keep: paper.KeepAlways},
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
			columns[i].Cells = append(columns[i].Cells, paper.Cell{Text: text})
		}
	}
	return append(lines, p.Table(columns)...)
}
