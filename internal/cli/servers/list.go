package servers

import (
	"fmt"
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
		{Title: "SINCE", Keep: 3}, {Title: "VERSION", Keep: 2}, {Title: "BUT", Keep: 4, Narrowest: 12}}
	add := func(is string, s api.SharingServer) {
		for i, text := range []string{s.Name, is, paper.Moment(s.Since, now), s.Version, s.Unfit} {
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

// cluster renders a table of the servers of hale's own cluster.
func (p sheet) cluster(all door.Servers, now time.Time) []string {
	columns := []paper.Column{{Title: "SERVER", Keep: paper.KeepAlways}, {Title: "IS", Keep: paper.KeepAlways},
		{Title: "STATE", Keep: paper.KeepAlways}, {Title: "VOTE", Keep: 5}, {Title: "ADDRESS", Keep: 1},
		{Title: "SINCE", Keep: 3}, {Title: "VERSION", Keep: 2}, {Title: "BUT", Keep: 4, Narrowest: 12}}
	waiting, fit := false, false
	for _, s := range all.Servers {
		since := ""
		if !s.Since.IsZero() {
			since = paper.Moment(s.Since, now)
		}
		name := s.Name
		if name == "" {
			name = "(never ran)"
		}
		for i, text := range []string{name, dash(s.Role), s.State, s.Vote, s.Address, since, s.Version, s.But} {
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
				return c.Answer(all, asJSON, err, func() []string { return c.sheet().cluster(all, time.Now()) })
			}
			all, err := client.Servers(cmd.Context())
			return c.Answer(all, asJSON, err, func() []string { return c.sheet().sharing(all, time.Now()) })
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
