package play

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/sim/score"
	"hale/internal/trial/scenario"

	"github.com/spf13/cobra"
)

// trial is what hale test is asked for.
type trial struct {
	match   string
	update  bool
	verbose bool
	json    bool
}

func (c player) testCommand() *cobra.Command {
	var t trial
	cmd := &cobra.Command{
		Use:   "test FOLDER|FILE...",
		Short: "Play scenario files in a simulated world, and say which did not go as written",
		Long: "Plays scenario files (*.txt and *.txtar; of a folder, all of them) with hale's own judgement in a\n" +
			"simulated world, in no time, and compares figures and trace with what is written there. It touches\n" +
			"no real machine.\n\n" +
			"Exit codes: 0 all went as written, 1 some did not, 2 a file cannot be understood (then none is\n" +
			"played).",
		Args: cobra.MinimumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error { return c.test(cmd.Context(), t, args) }),
	}
	cmd.Flags().StringVar(&t.match, "run", "", "only files with a path that matches this regular expression")
	cmd.Flags().BoolVar(&t.update, "update", false, "write the trace of each run into its file")
	cmd.Flags().BoolVarP(&t.verbose, "verbose", "v", false, "print each scenario's purpose and trace, too")
	cmd.Flags().BoolVar(&t.json, "json", false, "print one JSON object")
	return cmd
}

// played is one scenario file and how it went.
type played struct {
	File     string             `json:"file"`
	Purpose  string             `json:"purpose"`
	OK       bool               `json:"ok"`
	Updated  bool               `json:"updated,omitempty"` // its trace was written anew
	Problems []scenario.Problem `json:"problems"`
	Score    score.Score        `json:"score"`
	Trace    string             `json:"trace,omitempty"` // with --verbose

	scenario *scenario.Scenario
	err      error
}

// verdictOnAll is what hale test --json prints.
type verdictOnAll struct {
	Passed    int       `json:"passed"`
	Failed    int       `json:"failed"`
	Scenarios []*played `json:"scenarios"`
}

func (c player) test(ctx context.Context, t trial, args []string) error {
	all, err := understand(t.match, args)
	if err != nil {
		return command.Usage(err)
	}
	play(ctx, all, t)
	out := verdictOnAll{Scenarios: all}
	for _, p := range all {
		if p.err != nil {
			return p.err
		}
		if p.OK {
			out.Passed++
		} else {
			out.Failed++
		}
	}
	if t.json {
		err = paper.JSON(c.Out, out)
	} else {
		err = c.tell(out, t)
	}
	if err == nil && out.Failed > 0 {
		err = fmt.Errorf("%d of %s did not go as written", out.Failed, paper.Count(len(all), "scenario"))
	}
	return err
}

// understand reads the files that are asked for. Its error lists every problem of all of them.
func understand(match string, args []string) ([]*played, error) {
	wanted, err := regexp.Compile(match)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	var all []*played
	var problems []error
	seen := map[string]bool{}
	for _, arg := range args {
		files, err := scenario.Files(arg)
		if err != nil {
			problems = append(problems, err)
		}
		for _, name := range files {
			if seen[name] || !wanted.MatchString(name) {
				continue
			}
			seen[name] = true
			s, err := scenario.Load(name)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			all = append(all, &played{File: name, Purpose: s.Purpose, scenario: s})
		}
	}
	if len(all) == 0 && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("no scenario file matches --run %s", match))
	}
	return all, errors.Join(problems...)
}

// play plays all of them, as many at a time as there are processors.
func play(ctx context.Context, all []*played, t trial) {
	next := make(chan *played)
	var crew sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		crew.Go(func() {
			for p := range next {
				if p.err = ctx.Err(); p.err == nil {
					p.err = p.play(t)
				}
			}
		})
	}
	for _, p := range all {
		next <- p
	}
	close(next)
	crew.Wait()
}

func (p *played) play(t trial) error {
	s, written := p.scenario, p.scenario.Trace
	if t.update {
		s.Trace = nil // any trace will do
	}
	out, err := s.Play()
	if err != nil {
		return err
	}
	if t.update && !bytes.Equal(written, out.Trace) {
		//nolint:gosec // a story has no secrets
		if err := os.WriteFile(p.File, s.Updated(out.Trace), 0o644); err != nil {
			return err
		}
		p.Updated = true
	}
	p.OK, p.Problems, p.Score = len(out.Problems) == 0, append([]scenario.Problem{}, out.Problems...), out.Result.Score
	if t.verbose {
		p.Trace = string(out.Trace)
	}
	return nil
}

// tell prints a line for each scenario, what was not as written below it, and the sum.
func (c player) tell(v verdictOnAll, t trial) error {
	out := c.sheet()
	for _, p := range v.Scenarios {
		head := out.Paint(paper.Green, "ok") + "      " + p.File
		if !p.OK {
			head = out.Paint(paper.Red, "FAILED") + "  " + p.File
		}
		if p.Updated {
			head += " (trace written)"
		}
		fmt.Fprintln(c.Out, head)
		for _, q := range p.Problems {
			fmt.Fprintln(c.Out, paper.Indented(q.String()))
		}
		if t.verbose {
			fmt.Fprintln(c.Out, paper.Indented(p.Purpose)+"\n\n"+paper.Indented(strings.TrimRight(p.Trace, "\n"))+"\n")
		}
	}
	if v.Failed == 0 {
		_, err := fmt.Fprintf(c.Out, "%s went as written\n", paper.Count(v.Passed, "scenario"))
		return err
	}
	return nil
}
