package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/policy"
	"hale/internal/provider/examine"
	"hale/internal/provider/external"
	"hale/internal/secret"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

func (c commander) providerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "provider", Short: "Say what providers can do, and examine the program of an exec provider",
		Args: cobra.NoArgs,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(c.providerTestCommand(), c.providerDescribeCommand())
	return cmd
}

// viva is what hale provider test is asked for.
type viva struct {
	template, hooks, only string
	options, env          []string
	patience              time.Duration
	json, verbose         bool
}

func (c commander) providerTestCommand() *cobra.Command {
	var v viva
	cmd := &cobra.Command{
		Use: "test PROGRAM [ARGUMENT...]", Short: "Ask an exec provider's program what hale's own adapters are asked",
		Long: "Asks the program of an exec provider the questions that hale's own adapters answer, and says of\n" +
			"each whether it passed, failed, or was not asked, and why. It builds real machines from the\n" +
			"template, three at most at a time, named hale-exam-…, and removes them. The contract is\n" +
			"docs/reference/exec-provider.md.\n\n" +
			"Exit codes: 0 nothing failed, 1 something did, 2 the program cannot be examined.",
		Example: "  hale provider test --template machine.yaml ./my-provider\n" +
			"  hale provider test --env TOKEN --option pool=ssd --hooks ./my-hooks --run 'create|delete' " +
			"./my-provider --zone eu",
		Args: cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error { return c.examine(cmd.Context(), v, args) }),
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&v.template, "template", "",
		"file with the template that machines are built from, as the contract has it, in YAML or JSON")
	cmd.Flags().StringArrayVar(&v.options, "option", nil, "an option of the template, as NAME=VALUE; may be repeated")
	cmd.Flags().StringArrayVar(&v.env, "env", nil,
		"a variable of the program's environment: NAME=VALUE, or NAME for a secret in hale's own; may be repeated")
	cmd.Flags().StringVar(&v.hooks, "hooks", "", "a program that makes trouble for the questions that need it")
	cmd.Flags().StringVar(&v.only, "run", "", "only questions that match this regular expression")
	cmd.Flags().DurationVar(&v.patience, "patience", time.Minute, "how long anything may take, a boot included")
	cmd.Flags().BoolVarP(&v.verbose, "verbose", "v", false, "print what the program writes to its standard error, too")
	cmd.Flags().BoolVar(&v.json, "json", false, "print one JSON object")
	return cmd
}

// examine asks all questions. The program's own errors before the first one are usage errors: there is nothing to be
// examined.
func (c commander) examine(ctx context.Context, v viva, args []string) error {
	o, err := v.read(args)
	if err != nil {
		return command.Usage(err)
	}
	if v.verbose {
		o.External.Logger = slog.New(slog.NewTextHandler(c.Err, nil))
	}
	p := c.sheet()
	r, err := examine.Run(ctx, o, func(out examine.Outcome) {
		if !v.json {
			fmt.Fprintln(c.Out, p.question(out))
		}
	})
	if err != nil {
		return command.Usage(fmt.Errorf("%s cannot be examined: %w", args[0], err))
	}
	failed := r.Count(examine.Failed)
	sum := fmt.Sprintf("%s: %d passed, %d failed, %d not asked",
		r.Program, r.Count(examine.Passed), failed, r.Count(examine.NotAsked))
	if v.json {
		err = paper.JSON(c.Out, r)
	} else {
		_, err = fmt.Fprintln(c.Out, sum)
	}
	if err == nil && failed > 0 {
		err = errors.New(paper.Count(failed, "question") + " failed")
	}
	return err
}

// question renders one question and how it ended.
func (p sheet) question(o examine.Outcome) string {
	style := map[examine.Verdict]paper.Style{examine.Passed: paper.Green, examine.Failed: paper.Red}[o.Verdict]
	line := p.Paint(style, fmt.Sprintf("%-9s", string(o.Verdict))) + "  " + o.Question
	for _, why := range o.Why {
		if o.Verdict == examine.NotAsked {
			return line + " (" + why + ")"
		}
		line += "\n" + paper.Indented(why)
	}
	return line
}

// Read makes an examination of what was asked for.
func (v viva) read(args []string) (examine.Options, error) {
	o := examine.Options{Patience: v.patience}
	program, perr := programAt(args[0])
	o.External.Command = append([]string{program}, args[1:]...)
	var problems []error
	if v.hooks != "" {
		hooks, err := programAt(v.hooks)
		o.Hooks, problems = []string{hooks}, append(problems, err)
	}
	if v.patience < time.Second {
		problems = append(problems, errors.New("--patience wants at least 1s"))
	}
	var err error
	if o.Only, err = regexp.Compile(v.only); err != nil {
		problems = append(problems, fmt.Errorf("--run: %w", err))
	}
	if o.Template, err = v.machine(); err != nil {
		problems = append(problems, err)
	}
	for _, e := range v.env {
		name, value, plain := strings.Cut(e, "=")
		x := secret.Named{Name: name, Plain: value}
		if !plain {
			if x.Secret, err = secret.Env(name); err != nil {
				problems = append(problems, fmt.Errorf("--env: %w", err))
			}
		}
		o.External.Env = append(o.External.Env, x)
	}
	return o, errors.Join(append(problems, perr)...)
}

func programAt(name string) (string, error) {
	found, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}

// machine returns the template with the options.
func (v viva) machine() (policy.Template, error) {
	data := []byte("{}")
	if v.template != "" {
		text, err := os.ReadFile(v.template)
		if err != nil {
			return policy.Template{}, err
		}
		if data, err = yaml.YAMLToJSON(text); err != nil {
			return policy.Template{}, fmt.Errorf("%s: %w", v.template, err)
		}
	}
	t, err := external.ReadTemplate(data)
	if err != nil {
		return t, fmt.Errorf("%s: %w", v.template, err)
	}
	for _, option := range v.options {
		name, value, ok := strings.Cut(option, "=")
		if !ok || name == "" {
			return t, fmt.Errorf("--option %s: write NAME=VALUE", option)
		}
		t.Options = slices.DeleteFunc(t.Options, func(s policy.Setting) bool { return s.Name == name })
		t.Options = append(t.Options, policy.Setting{Name: name, Value: value})
	}
	slices.SortFunc(t.Options, func(a, b policy.Setting) int { return cmp.Compare(a.Name, b.Name) })
	return t, nil
}
