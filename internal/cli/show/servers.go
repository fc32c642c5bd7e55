package show

import (
	"fmt"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/paper"

	"github.com/spf13/cobra"
)

// servers renders a table of the servers that share the state.
func (p sheet) servers(all api.Servers, now time.Time) []string {
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
		lines = append(lines, "", "none of those that stand by would follow by itself")
	}
	return lines
}

func (c reader) serverCommand() *cobra.Command {
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List the active server, and those that stand by", Args: cobra.NoArgs,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error {
			client, err := c.Dial()
			if err != nil {
				return err
			}
			defer client.Close()
			all, err := client.Servers(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return paper.JSON(c.Out, all)
			}
			fmt.Fprintln(c.Out, strings.Join(c.sheet().servers(all, time.Now()), "\n"))
			return nil
		}),
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd := &cobra.Command{Use: "server", Short: "The servers that share the state", Args: cobra.NoArgs}
	cmd.AddCommand(list)
	return cmd
}
