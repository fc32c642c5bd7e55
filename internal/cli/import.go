package cli

import (
	"errors"
	"fmt"
	"os"

	"hale/internal/adapters"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/config"
	"hale/internal/importer"
	"hale/internal/keys"

	"github.com/spf13/cobra"
)

func (c commander) importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import", Short: "Make a configuration of what another healer was told", Args: cobra.NoArgs,
		Long: "Makes a hale.yaml of the files of another healer, with the same meaning, and names, line by line,\n" +
			"what could not be carried over, what is to be filled in, and what hale does differently on\n" +
			"purpose: on standard error, and at the head of what it makes. It touches nothing else.",
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(
		c.importing(&cobra.Command{
			Use:   "senlin POLICY.yaml [SCALING.yaml…] [PROFILE.yaml] [CLUSTER.yaml]",
			Short: "From Senlin: health, scaling and deletion policies, a server profile, a cluster",
			Args:  cobra.RangeArgs(1, 6),
			Long: "Reads specs of senlin.policy.health (1.0 to 1.2), senlin.policy.scaling, senlin.policy.deletion\n" +
				"and os.nova.server, and what a cluster was created with, in any order.",
		}, importer.Senlin),
		c.importing(&cobra.Command{
			Use: "healer BLUEPRINT.yaml", Short: "From Cloudify: a blueprint with agentless healers",
			Args: cobra.ExactArgs(1),
			Long: "Reads a blueprint: nodes of type cloudify.nodes.Healer, and groups with\n" +
				"cloudify.policies.types.host_failure.",
		}, func(sources []importer.Source) (importer.Result, error) { return importer.Healer(sources[0]) }),
	)
	return cmd
}

func (c commander) importing(cmd *cobra.Command, from func([]importer.Source) (importer.Result,
	error)) *cobra.Command {
	var out string
	cmd.Flags().StringVarP(&out, "output", "o", "",
		"write it to this file, which must not exist yet, instead of standard output")
	cmd.RunE = c.Begin(func(_ *cobra.Command, args []string) error {
		var sources []importer.Source
		for _, name := range args {
			data, err := os.ReadFile(name)
			if err != nil {
				return command.Usage(err)
			}
			sources = append(sources, importer.Source{Name: name, Data: data})
		}
		r, err := from(sources)
		if err != nil {
			return command.Usage(err)
		}
		return c.moved(r, out)
	})
	return cmd
}

// moved writes what was made, says what is to be known about it, and looks whether it is valid.
func (c commander) moved(r importer.Result, out string) error {
	for _, n := range r.Notes {
		fmt.Fprintln(c.Err, n)
	}
	name := out
	if out == "" {
		name = "the result"
		if _, err := c.Out.Write(r.Config); err != nil {
			return err
		}
	} else if err := writeNew(out, r.Config); err != nil {
		return err
	}
	_, err := config.Parse(name, r.Config, adapters.All())
	var problems keys.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Fprintln(c.Err, p)
		}
		return fmt.Errorf("%s is not valid yet: %s", name, paper.Count(len(problems), "problem"))
	}
	return err
}
