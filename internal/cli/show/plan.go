package show

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/prose"
	"hale/internal/prose/words"
)

func (c reader) planCommand() *cobra.Command {
	var asJSON, deep bool
	var log command.LogFlags
	cmd := &cobra.Command{
		Use: "plan [FILE|DIR]", Short: "Say what hale would do now, and why; touch nothing",
		Long: "Looks at the machines (provider and checks) with the beliefs of the running controller, or else of\n" +
			"the data folder, and says what a controller with this configuration would do. It changes nothing,\n" +
			"anywhere. It takes as long as the slowest check needs to be sure. It fails when a provider cannot\n" +
			"be asked: the plan is a guess then.\n\n" +
			"--deep also tries what would be needed one day, and changes nothing either: that secrets can be\n" +
			"read and programs run, and that a new machine of each fleet could be built (image, networks, size,\n" +
			"names, rights). It fails when one is missing.",
		Args: cobra.MaximumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			logger, err := log.Logger(c.Err)
			if err != nil {
				return err
			}
			path, err := command.Configuration(args)
			if err != nil {
				return err
			}
			plan, err := c.plan(cmd.Context(), path, command.PlanOptions{Deep: deep, Logger: logger})
			if err != nil {
				return err
			}
			if asJSON {
				err = paper.JSON(c.Out, plan)
			} else {
				fmt.Fprintln(c.Out, strings.Join(c.sheet().plan(plan), "\n"))
			}
			return errors.Join(err, unheard(plan.Fleets), failedTrials(plan.Trials))
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&deep, "deep", false,
		"also try what would be needed: secrets, programs, and what a new machine is built from")
	log.Register(cmd, "error")
	return cmd
}

// plan makes the plan of the configuration at the path.
func (c reader) plan(ctx context.Context, path string, o command.PlanOptions) (api.Plan, error) {
	var err error
	if o.Config, err = command.Load(path); err != nil {
		return api.Plan{}, err
	}
	if o.DataDir, _, err = c.Places(); err != nil {
		return api.Plan{}, err
	}
	if o.Client, err = c.Dial(); err != nil {
		return api.Plan{}, err
	}
	defer o.Client.Close()
	return c.Plan(ctx, o)
}

// sources say where the beliefs behind a plan came from.
var sources = map[string]string{
	api.FromController: "Planned with what the running controller believes.",
	api.FromDataFolder: "Planned with what the last controller stored in the data folder; none runs now.",
	api.FromNothing:    "Planned from nothing: no controller runs, and there is no data folder yet.",
}

func (p sheet) plan(plan api.Plan) []string {
	lines := []string{sources[plan.State]}
	if !plan.Settled {
		lines = append(lines,
			p.Paint(paper.Yellow,
				"Not everything was settled in time: what is unknown, starting or suspect may yet turn out otherwise."))
	}
	for _, f := range plan.Fleets {
		parts := []paper.Cell{{Text: fmt.Sprintf("%d of %d fail", f.Failing, f.Size)}}
		if f.Brake.Engaged {
			said := fmt.Sprintf("the brake is on (limit %d)", f.Brake.Limit)
			parts = append(parts, paper.Cell{Text: said, Style: paper.Red})
		}
		standing := words.Provider(fleet.ProviderStanding(f.Provider.Standing))
		parts = append(parts, paper.Cell{Text: fmt.Sprintf("provider %s %s", f.Provider.Name, standing)},
			paper.Cell{Text: "hale " + words.Mode(policy.Mode(f.Mode))})
		lines = append(lines, "", p.headline(f.Fleet, parts))
		if f.Provider.Detail != "" {
			lines = append(lines, "  "+p.Paint(paper.Faint, f.Provider.Detail))
		}
		for _, step := range f.Unsupported {
			lines = append(lines,
				"  "+p.Paint(paper.Yellow, "step "+step+" is skipped: "+words.Reason(fleet.ReasonUnsupported)))
		}
		for _, said := range wantedLines(api.Fleet{Ordered: f.Ordered, Plans: f.Plans}, plan.At) {
			lines = append(lines, "  "+p.Paint(paper.Yellow, said))
		}
		for _, said := range f.Warnings {
			lines = append(lines, "  "+p.Paint(paper.Yellow, said))
		}
		columns := []paper.Column{
			{Title: "MACHINE", Keep: paper.KeepAlways},
			{Title: "VERDICT", Keep: paper.KeepAlways},
			{Title: "PLAN", Keep: paper.KeepAlways},
		}
		for _, m := range f.Machines {
			columns[0].Cells = append(columns[0].Cells,
				paper.Cell{Text: prose.Called(fleet.MachineName(m.Machine), m.Alias)})
			columns[1].Cells = append(columns[1].Cells, paper.Cell{Text: m.Verdict, Style: VerdictStyle(m.Verdict)})
			columns[2].Cells = append(columns[2].Cells, paper.Cell{Text: would(m)})
		}
		lines = append(lines, paper.Sheet{Colour: p.Colour}.Table(columns)...)
	}
	return append(lines, p.trials(plan.Trials)...)
}

// trials are the lines of what a deep plan tried.
func (p sheet) trials(all []api.Trial) []string {
	if len(all) == 0 {
		return nil
	}
	lines := []string{"", "Tried, without changing anything:"}
	for _, t := range all {
		said := t.Subject + ": " + t.What
		switch {
		case t.Problem != "":
			said = p.Paint(paper.Red, "FAILS    "+said+": "+t.Problem)
		case t.Untried != "":
			said = p.Paint(paper.Faint, "untried  "+said+": "+t.Untried)
		default:
			said = "ok       " + said
		}
		lines = append(lines, "  "+said)
	}
	return lines
}

// unheard is the error of a plan for which a provider did not answer. It names each such provider once.
func unheard(fleets []api.PlannedWork) error {
	var said []string
	for _, f := range fleets {
		standing := fleet.ProviderStanding(f.Provider.Standing)
		if standing == fleet.ProviderUp {
			continue
		}
		why := fmt.Sprintf("provider %s %s", f.Provider.Name, words.Provider(standing))
		if standing == fleet.ProviderUnknown {
			why = fmt.Sprintf("provider %s did not answer in time", f.Provider.Name)
		}
		if !slices.Contains(said, why) {
			said = append(said, why)
		}
	}
	if len(said) == 0 {
		return nil
	}
	return errors.New(strings.Join(said, ", ") + ": hale cannot say what it would do with the machines there")
}

// failedTrials is the error of a deep plan that found something missing.
func failedTrials(all []api.Trial) error {
	failed := 0
	for _, t := range all {
		if t.Problem != "" {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s failed", failed, paper.Count(len(all), "trial"))
}

// acts say what an action of a plan is that is no step of the ladder, as in "would …".
var acts = map[string]string{
	api.ActionBuild:              "build it",
	api.ActionCertify:            "certify its instance",
	api.ActionAdopt:              "adopt it as it is",
	api.ActionRemnant:            "remove what an earlier build or repair left",
	string(belief.RepairRemove):  "remove the machine, as a person ordered",
	string(belief.RepairUpdate):  "build it from another template, as a person ordered",
	string(belief.RepairReplace): "replace its instance with a new one, as a person ordered",
	string(belief.RepairOperate): "do with it what a person ordered",
	string(belief.RepairUndo):    "bring its kept instance back, as a person ordered",
	string(belief.RepairTidy):    "remove an expired copy of its disks",
}

// would says what would be done about one machine.
func would(m api.PlannedStep) string {
	act, acting := acts[m.Action]
	if step := fleet.StepKind(m.Action); step.Known() {
		act, acting = fmt.Sprintf("%s (step %s)", words.Step(step), step), true
	}
	switch {
	case m.Action == api.ActionGoOn && m.Kind == string(belief.RepairBuild):
		return "it is being built: " + m.Repair
	case m.Action == api.ActionGoOn:
		return "the repair under way goes on: " + m.Repair
	case acting && m.Held.Code == "":
		return "would " + act + reason(m)
	case acting:
		return "held: " + heldBy(m.Held) + "; else it would " + act + reason(m)
	case m.Held.Code != "":
		return "held: " + heldBy(m.Held) + reason(m)
	case m.Verdict == string(belief.VerdictHealthy):
		return "nothing: it is healthy"
	}
	return "nothing yet" + reason(m)
}

func reason(m api.PlannedStep) string {
	if m.Text == "" {
		return ""
	}
	return ", because " + m.Text
}

func heldBy(r api.Reason) string {
	if r.Detail == "" {
		return r.Text
	}
	return r.Text + " (" + r.Detail + ")"
}
