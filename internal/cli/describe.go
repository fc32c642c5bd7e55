package cli

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"hale/internal/adapters"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/config"
	"hale/internal/kinds"
	"hale/internal/provider"

	"github.com/spf13/cobra"
)

// describeWithin is how long a provider is asked what it can.
const describeWithin = 30 * time.Second

// described is a provider, and what it can do.
type described struct {
	Provider string  `json:"provider"`
	Type     string  `json:"type"`
	Asked    string  `json:"not_asked,omitempty"` // why it did not say what it can; empty: it did, or need not
	Skills   []skill `json:"operations"`
}

// skill is one operation.
type skill struct {
	Operation string `json:"operation"`
	Can       bool   `json:"can"`
	Remark    string `json:"remark,omitempty"`
}

func (c commander) providerDescribeCommand() *cobra.Command {
	var asJSON bool
	var file string
	cmd := &cobra.Command{
		Use: "describe [PROVIDER...]", Short: "Say what the providers of a configuration can do, and why not the rest",
		Long: "Says of each provider of the configuration (hale.yaml, unless another is named), or of those that\n" +
			"are named, which operations it has. An exec provider's program is asked; the others need not be\n" +
			"there. Nothing is changed.",
		Example: "  hale provider describe\n  hale provider describe cloud --config /etc/hale/hale.yaml",
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			var named []string
			if file != "" {
				named = []string{file}
			}
			path, err := command.Configuration(named)
			if err != nil {
				return err
			}
			loaded, err := c.Sound(path)
			if err != nil {
				return command.Usage(err)
			}
			return c.describe(cmd.Context(), loaded, args, asJSON)
		}),
	}
	cmd.Flags().StringVar(&file, "config", "", "the configuration, where it is not hale.yaml")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

func (c commander) describe(ctx context.Context, loaded *config.Config, names []string, asJSON bool) error {
	all := []described{}
	for _, p := range loaded.Providers {
		if len(names) > 0 && !slices.Contains(names, string(p.Name)) {
			continue
		}
		d, err := describeProvider(ctx, p)
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(d described) bool { return d.Provider == name }) {
			return command.Usage(fmt.Errorf("the configuration has no provider %s", name))
		}
	}
	if asJSON {
		return paper.JSON(c.Out, all)
	}
	for _, d := range all {
		for _, line := range c.sheet().described(d) {
			fmt.Fprintln(c.Out, line)
		}
	}
	return nil
}

// describeProvider connects to the provider, and asks it where it finds out only then what it can.
func describeProvider(ctx context.Context, p config.Provider) (described, error) {
	out := described{Provider: string(p.Name), Type: p.Type}
	made, err := p.Settings.Connect(ctx, kinds.Connection{
		Name: p.Name, Hosts: p.Hosts, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return out, err
	}
	defer func() { _ = made.Provider.Close() }()
	if _, chooses := made.Provider.(provider.Chooser); chooses {
		ctx, cancel := context.WithTimeout(ctx, describeWithin)
		defer cancel()
		if _, err := made.Provider.Identity(ctx); err != nil {
			out.Asked = command.Message(err)
		}
	}
	remarks := remarksOf(p.Type)
	for _, s := range provider.Skills(made.Provider) {
		out.Skills = append(out.Skills, skill{string(s.Op), s.Can, remarks.Of(s)})
	}
	return out, nil
}

func remarksOf(kind string) kinds.Remarks {
	for _, k := range adapters.All().Providers {
		if k.Word == kind {
			return k.Remarks
		}
	}
	return nil
}

// described renders a provider, and each operation.
func (p sheet) described(d described) []string {
	lines := []string{fmt.Sprintf("%s (%s)", d.Provider, d.Type)}
	if d.Asked != "" {
		lines = append(lines, "  it did not answer, and may have less than this: "+d.Asked)
	}
	operation, can := paper.Column{Title: "operation", Keep: paper.KeepAlways}, paper.Column{Keep: paper.KeepAlways}
	remark := paper.Column{Title: "remark", Keep: paper.KeepAlways}
	for _, s := range d.Skills {
		word := paper.Cell{Text: "yes", Style: paper.Green}
		if !s.Can {
			word = paper.Cell{Text: "no", Style: paper.Red}
		}
		operation.Cells = append(operation.Cells, paper.Cell{Text: s.Operation})
		can.Cells, remark.Cells = append(can.Cells, word), append(remark.Cells, paper.Cell{Text: s.Remark})
	}
	return append(lines, p.Table([]paper.Column{operation, can, remark})...)
}
