package servers

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/cluster/door"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

// sharing renders a table of the servers that share the state in etcd servers.
func (p sheet) sharing(all api.Servers, now time.Time) []string {
	columns := []paper.Column{{Title: "SERVER", Keep: paper.KeepAlways}, {Title: "IS", Keep: paper.KeepAlways},
		{Title: "SINCE", Keep: 3}, {Title: "VERSION", Keep: 2}, {Title: "LOOKS", Keep: 5},
		{Title: "BUT", Keep: 4, Narrowest: 12}}
	eyes := slices.ContainsFunc(all.Standby, func(s api.SharingServer) bool { return s.Eye != nil })
	add := func(is string, s api.SharingServer) {
		looks := looksAs(is, s.Eye, eyes, now)
		for i, text := range []string{s.Name, is, paper.Moment(s.Since, now), s.Version, looks, s.Unfit} {
			columns[i].Cells = append(columns[i].Cells, paper.Cell{Text: text})
		}
	}
	add("active", all.Active)
	fit := false
	for _, s := range all.Standby {
		add("standby", s)
		fit = fit || s.Unfit == ""
	}
	lines := p.Table(columns)
	if len(all.Standby) > 0 && !fit {
		lines = append(lines, "", noneFollows)
	}
	return lines
}

const noneFollows = "none of those that stand by would follow by itself"

// looksAs says whether a server looks at machines; empty: no server but the active one is to.
func looksAs(role string, e *api.Eye, eyes bool, now time.Time) string {
	switch {
	case !eyes:
		return ""
	case role == "active":
		return "yes"
	}
	return sees(e, now)
}

// sees says whether a vantage looks for the active server; nil: it is none.
func sees(e *api.Eye, now time.Time) string {
	switch {
	case e == nil:
		return "no"
	case e.Unfit != "":
		return "no: " + e.Unfit
	case e.Since.IsZero():
		return "not yet"
	case e.Silent:
		return "silent for " + prose.Span(now.Sub(e.Heard))
	}
	return "yes"
}

// eyeOf is a server of the cluster as a vantage.
func eyeOf(s door.Server) *api.Eye {
	if s.Eye == nil {
		return nil
	}
	return &api.Eye{Name: s.Name, Since: s.Eye.Since, Heard: s.Eye.Heard, Silent: s.Eye.Silent, Unfit: s.Eye.But}
}

// Satellites is hale satellite.
func Satellites(call *command.Call) *cobra.Command {
	c := caller{call}
	cmd := &cobra.Command{
		Use: "satellite", Short: "The probes in other networks", Args: cobra.NoArgs,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List the satellites: since when each reports, when it did last, and how much it looks at",
		Args: cobra.NoArgs,
		RunE: c.Asks(func(cmd *cobra.Command, _ []string, client *api.Client) error {
			all, err := client.Servers(cmd.Context())
			return c.Print(err, command.Answer{What: all.Satellites, JSON: asJSON, Lines: func() []string {
				return c.sheet().satellites(all.Satellites, time.Now())
			}})
		}),
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(list)
	return cmd
}

// satellites renders a table of them.
func (p sheet) satellites(all []api.Eye, now time.Time) []string {
	if len(all) == 0 {
		return []string{"there are no satellites: see docs/guide/vantages.md"}
	}
	columns := []paper.Column{{Title: "SATELLITE", Keep: paper.KeepAlways}, {Title: "LOOKS", Keep: paper.KeepAlways},
		{Title: "SINCE", Keep: 3}, {Title: "LAST REPORT", Keep: 4}, {Title: "TARGETS", Keep: 2}}
	for _, e := range all {
		since, last := "-", "-"
		if !e.Since.IsZero() {
			since, last = paper.Moment(e.Since, now), prose.Span(now.Sub(e.Heard))+" ago"
		}
		for i, text := range []string{e.Name, sees(&e, now), since, last, strconv.Itoa(e.Targets)} {
			columns[i].Cells = append(columns[i].Cells, paper.Cell{Text: text})
		}
	}
	return p.Table(columns)
}

// cluster renders a table of the servers of hale's own cluster.
func (p sheet) cluster(all door.Servers, now time.Time) []string {
	columns := []paper.Column{{Title: "SERVER", Keep: paper.KeepAlways}, {Title: "IS", Keep: paper.KeepAlways},
		{Title: "STATE", Keep: paper.KeepAlways}, {Title: "VOTE", Keep: 5}, {Title: "ADDRESS", Keep: 1},
		{Title: "SINCE", Keep: 3}, {Title: "VERSION", Keep: 2}, {Title: "LOOKS", Keep: 6},
		{Title: "BUT", Keep: 4, Narrowest: 12}}
	waiting, fit := false, false
	eyes := slices.ContainsFunc(all.Servers, func(s door.Server) bool { return s.Eye != nil })
	for _, s := range all.Servers {
		since := ""
		if !s.Since.IsZero() {
			since = paper.Moment(s.Since, now)
		}
		name := s.Name
		if name == "" {
			name = "(never ran)"
		}
		looks := looksAs(s.Role, eyeOf(s), eyes, now)
		row := []string{name, dash(s.Role), s.State, s.Vote, s.Address, since, s.Version, looks, s.But}
		for i, text := range row {
			columns[i].Cells = append(columns[i].Cells, paper.Cell{Text: text})
		}
		waiting = waiting || s.Role == "standby"
		fit = fit || s.Role == "standby" && s.But == ""
	}
	lines := append(p.Table(columns), "", standing(all))
	if waiting && !fit {
		lines = append(lines, noneFollows)
	}
	for _, i := range all.Invited {
		lines = append(lines, fmt.Sprintf("%s is invited, and may join for another %s", i.Name,
			prose.Span(i.Expires.Sub(now))))
	}
	return lines
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// standing says how many servers may be lost.
func standing(all door.Servers) string {
	if all.Unknown != "" {
		return all.Unknown
	}
	votes := 0
	for _, s := range all.Servers {
		if s.Vote != "learner" {
			votes++
		}
	}
	switch {
	case votes == 1:
		return "one server has a vote: when it is lost, so is the state; invite two more (hale server invite)"
	case votes == 2:
		return "two servers have a vote: when one is lost, none acts; invite a third (hale server invite)"
	case all.May == 0:
		return fmt.Sprintf("%d servers have a vote: when one more is lost, none acts", votes)
	}
	return fmt.Sprintf("%d servers have a vote: %d may be lost", votes, all.May)
}

func (c caller) list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the servers: the active one, those that stand by, and what is wrong with them",
		Long: "Lists the servers that share the state. On a server of hale's own cluster it asks each of them, also\n" +
			"where the majority is lost; otherwise it asks the controller.",
		Args: cobra.NoArgs,
		RunE: c.Asks(func(cmd *cobra.Command, _ []string, client *api.Client) error {
			h, own, err := c.own()
			if err != nil {
				return err
			}
			if own {
				all, err := c.Cluster.List(cmd.Context(), h)
				return c.Print(err, command.Answer{What: all, JSON: asJSON, Lines: func() []string {
					return c.sheet().cluster(all, time.Now())
				}})
			}
			all, err := client.Servers(cmd.Context())
			return c.Print(err, command.Answer{What: all, JSON: asJSON, Lines: func() []string {
				return c.sheet().sharing(all, time.Now())
			}})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// own reports whether the servers are those of hale's own cluster that this machine is one of.
func (c caller) own() (command.Here, bool, error) {
	at, err := c.Server()
	if err != nil || at.Server != "" {
		return command.Here{}, false, err
	}
	h, err := c.here()
	return h, err == nil && c.Cluster.Is(h.DataDir), err
}
