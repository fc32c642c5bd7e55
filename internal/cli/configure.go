package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hale/internal/adapters"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/config"
	"hale/internal/keys"

	"github.com/spf13/cobra"
)

func (c commander) initCommand() *cobra.Command {
	var simulated bool
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a commented configuration to start from (hale.yaml)",
		Args:    cobra.MaximumNArgs(1),
		Example: "  hale init\n  hale init --simulated try.yaml",
		RunE: c.Begin(func(_ *cobra.Command, args []string) error {
			name := command.StarterName
			if len(args) == 1 {
				name = args[0]
			}
			text, last := config.Starter(), ""
			if simulated {
				text, last = config.SimulatedStarter(), ", and beside it hale sim break web-2 crash"
			}
			if err := writeNew(name, text); err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "%s is written; next: hale validate %s, hale plan %s, hale run %s%s\n",
				name, name, name, name, last)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&simulated, "simulated", false,
		"machines that exist only inside hale, to try it without a hypervisor")
	return cmd
}

// writeNew writes a file that must not exist yet.
func writeNew(name string, data []byte) (err error) {
	//nolint:gosec // a configuration has no secrets
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already and is left as it is", name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(data)
	return err
}

func (c commander) validateCommand() *cobra.Command {
	var schema, asJSON bool
	cmd := &cobra.Command{
		Use: "validate [FILE|DIR]", Short: "Say everything that is wrong with a configuration",
		Long: "Reads a configuration (hale.yaml, unless another is named) and says everything that is wrong with\n" +
			"it, each with its place and what to do. With --schema it prints the JSON Schema for editors\n" +
			"instead.",
		Args: func(cmd *cobra.Command, args []string) error {
			if schema {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MaximumNArgs(1)(cmd, args)
		},
		RunE: c.Begin(func(_ *cobra.Command, args []string) error {
			if schema {
				return c.printSchema()
			}
			path, err := command.Configuration(args)
			if err != nil {
				return err
			}
			if asJSON {
				return c.validateJSON(path)
			}
			return c.validate(path)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false,
		"print JSON: whether it is valid, and each problem with its file, line and key")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of the configuration")
	cmd.MarkFlagsMutuallyExclusive("schema", "json")
	return cmd
}

func (c commander) printSchema() error {
	data, err := config.Schema(adapters.All())
	if err != nil {
		return err
	}
	_, err = c.Out.Write(data)
	return err
}

func (c commander) validate(path string) error {
	loaded, err := c.Sound(path)
	if err != nil {
		return command.Usage(err)
	}
	machines, more := 0, []string(nil)
	for _, f := range loaded.Fleets {
		if machines += f.Size; f.Adopt.Selects() {
			more = append(more, string(f.Name))
		}
	}
	said := fmt.Sprintf("%s is valid: %s, %s, %s", path, paper.Count(len(loaded.Providers), "provider"),
		paper.Count(len(loaded.Fleets), "fleet"),
		paper.Count(machines, "machine"))
	if len(more) > 0 {
		said += ", and whatever " + paper.Named(more) + " can adopt"
	}
	fmt.Fprintln(c.Out, said)
	for _, w := range loaded.Warnings(adapters.All()) {
		fmt.Fprintln(c.Err, "warning:", w)
	}
	return nil
}

// judgement is what is said of a configuration, for programs.
type judgement struct {
	File     string    `json:"file"`
	Valid    bool      `json:"valid"`
	Problems []problem `json:"problems"`
	Warnings []string  `json:"warnings"`
}

type problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // from 1
	Column  int    `json:"column,omitempty"` // from 1, in characters
	Path    string `json:"path,omitempty"`   // of the key
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// validateJSON says all that validate says, for programs, and ends alike.
func (c commander) validateJSON(path string) error {
	out := judgement{File: path, Problems: []problem{}, Warnings: []string{}}
	loaded, err := command.Read(path)
	var problems keys.Problems
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			out.Problems = append(out.Problems, problem(p))
		}
		err = fmt.Errorf("%s is not valid: %s", path, paper.Count(len(problems), "problem"))
	case err != nil:
		out.Problems = append(out.Problems, problem{File: path, Message: err.Error()})
	default:
		out.Valid, out.Warnings = true, append(out.Warnings, loaded.Warnings(adapters.All())...)
	}
	if bad := paper.JSON(c.Out, out); bad != nil || err == nil {
		return bad
	}
	return command.Usage(err)
}
