package show

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

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

// watchEvery is the time between two looks of status --watch.
const watchEvery = time.Second

// statusHelp is what hale status --help says.
var statusHelp = fmt.Sprintf(`Shows how everything stands, what is ill first; with names, only of these fleets.
Where there are more than %d fleets, it is a line for each, unless fleets are named, or --all is given.
With --watch it stays up to date: redrawn in place on a terminal, as much as fits, and elsewhere
printed again whenever something has changed.

With --check it prints one line for a monitoring system and ends as its plugins do: 0 OK, 1
WARNING (something is not healthy, and hale is at it), 2 CRITICAL (a person must look, hale does
not act, or does not answer), 3 UNKNOWN.`, manyFleets)

func (c reader) statusCommand() *cobra.Command {
	var watch, asJSON, check bool
	var show selection
	cmd := &cobra.Command{
		Use: "status [FLEET…]", Short: "Show fleets, machines, their health and repairs",
		Long:    statusHelp,
		Example: "  hale status web\n  hale status --failing\n  hale status --check",
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			show.fleets = args
			ask := func(ctx context.Context) (api.Status, error) {
				s, err := client.Status(ctx)
				if err != nil {
					return s, err
				}
				return show.of(s)
			}
			if check {
				return c.check(cmd.Context(), ask)
			}
			v := &statusView{Screen: paper.ScreenOf(c.Out, c.Getenv), json: asJSON, selection: show, ask: ask}
			if watch {
				return v.watch(cmd.Context())
			}
			return v.once(cmd.Context())
		}),
		ValidArgsFunction: c.CompleteFleets,
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "keep it up to date")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (with --watch, one line for each change)")
	cmd.Flags().BoolVar(&show.failing, "failing", false,
		"only machines that are not healthy, and fleets that have such or are not looked after")
	cmd.Flags().BoolVar(&show.all, "all", false, "every machine, however many fleets there are")
	cmd.Flags().BoolVar(&check, CheckFlag, false,
		"one line and an exit code for monitoring: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN")
	for _, other := range []string{"watch", "json", "failing", "all"} {
		cmd.MarkFlagsMutuallyExclusive(CheckFlag, other)
	}
	return cmd
}

// statusView shows the answers to one question.
type statusView struct {
	paper.Screen
	selection
	json bool
	ask  func(context.Context) (api.Status, error)
}

func (v *statusView) once(ctx context.Context) error {
	s, err := v.ask(ctx)
	if err != nil {
		return err
	}
	if v.json {
		err = paper.JSON(v.Out, s)
	} else {
		fmt.Fprintln(v.Out, strings.Join(sheet{v.Sheet()}.overview(s, v.selection, time.Now()), "\n"))
	}
	if err == nil && s.Stopping {
		err = command.ErrStopping
	}
	return err
}

// watch shows the status until ctx ends, which is no error. It waits for a controller that went away, but wants one to
// begin with.
func (v *statusView) watch(ctx context.Context) error {
	s, err := v.ask(ctx)
	if err != nil {
		return err
	}
	live := v.Live && !v.json
	if live {
		fmt.Fprint(v.Out, paper.EnterLive)
		defer fmt.Fprint(v.Out, paper.LeaveLive)
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var shown api.Status
	var trouble error
	for first := true; ; first = false {
		switch {
		case live:
			v.Frame(v.picture(s, err))
		case err != nil && (trouble == nil || trouble.Error() != err.Error()):
			fmt.Fprintln(v.Out, "hale: "+err.Error())
		case err == nil && (first || trouble != nil || changed(shown, s)):
			if err := v.print(s); err != nil {
				return err
			}
			shown = s
		}
		trouble = err
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		var next api.Status
		if next, err = v.ask(ctx); err == nil {
			s = next
		} else if ctx.Err() != nil {
			return nil
		}
	}
}

// picture is the whole frame: what is known, and why nothing newer is.
func (v *statusView) picture(s api.Status, err error) []string {
	p := sheet{v.Sheet()}
	now := time.Now()
	lines := []string{p.Paint(paper.Faint,
		paper.Clip(fmt.Sprintf("hale %s on %s, %s", s.Version, s.Server, prose.Clock(now)), p.Width)),
		p.totals(s), ""}
	if err != nil {
		text := fmt.Sprintf("As of %s ago: %v", prose.Span(now.Sub(s.Now)), errors.Unwrap(err))
		lines = append(lines, p.Paint(paper.Red, paper.Clip(text, p.Width)), "")
	}
	room := 0
	if p.Height > 0 {
		room = max(1, p.Height-1-len(lines)) // the cursor rests in the last line
	}
	return append(lines, p.fitting(s, now, room)...)
}

func (v *statusView) print(s api.Status) error {
	if v.json {
		return json.NewEncoder(v.Out).Encode(s)
	}
	now := time.Now()
	fmt.Fprintln(v.Out, "--- "+prose.Clock(now))
	fmt.Fprintln(v.Out, strings.Join(sheet{v.Sheet()}.overview(s, v.selection, now), "\n"))
	return nil
}

// changed reports whether more than the time differs.
func changed(a, b api.Status) bool {
	a.Now, b.Now = time.Time{}, time.Time{}
	for _, s := range []*api.Status{&a, &b} {
		s.Fleets = append([]api.Fleet(nil), s.Fleets...)
		for i := range s.Fleets {
			// reckoned from another clock, they tremble
			s.Fleets[i].Provider.Since, s.Fleets[i].Vantage.Since = time.Time{}, time.Time{}
			s.Fleets[i].Machines = append([]api.Machine(nil), s.Fleets[i].Machines...)
			for k := range s.Fleets[i].Machines {
				s.Fleets[i].Machines[k] = still(s.Fleets[i].Machines[k])
			}
		}
	}
	return !reflect.DeepEqual(a, b)
}

// still takes out what moves with the clock alone.
func still(m api.Machine) api.Machine {
	if m.Repair != nil {
		r := *m.Repair
		r.Text = ""
		m.Repair = &r
	}
	m.Checks = append([]api.Check(nil), m.Checks...)
	for i := range m.Checks {
		m.Checks[i].Since = time.Time{}
	}
	return m
}

// status renders everything, as of now and in now's time zone.
func (p sheet) status(s api.Status, now time.Time) []string { return p.excerpt(s, now, whole) }

// excerpt renders as much as the cut leaves, with all that is not about single machines.
func (p sheet) excerpt(s api.Status, now time.Time, c cut) []string {
	var lines []string
	if s.Stopping {
		lines = append(
			lines,
			p.Paint(
				paper.Red,
				paper.Clip("hale is stopping: nothing is watched any more, and this is how it stood", p.Width),
			),
			"",
		)
	}
	lines = append(lines, p.storeLines(s.Store, now)...)
	lines = append(lines, p.fleets(s, now, c)...)
	return append(lines, p.remarks(s, now, c)...)
}

// brake says how the fleet's brake stands.
func brake(f api.Fleet, now time.Time) (paper.Style, string) {
	on := prose.Span(now.Sub(f.Brake.Since))
	switch {
	case f.Brake.By != "":
		return paper.Red, fmt.Sprintf("BRAKE ON for %s by %s", on, f.Brake.By)
	case f.Brake.Scope != "" && f.Brake.Engaged:
		return paper.Red, fmt.Sprintf(
			"SHARED BRAKE ON for %s (%d of %d fail, limit %d)",
			on,
			f.Brake.Failing,
			f.Brake.Size,
			f.Brake.Limit,
		)
	case f.Brake.Engaged:
		return paper.Red, fmt.Sprintf("BRAKE ON for %s (%d fail, limit %d)", on, f.Failing, f.Brake.Limit)
	case f.Brake.Excused > f.Brake.Limit:
		return paper.Yellow, fmt.Sprintf("brake taken off (%d may fail)", f.Brake.Excused)
	}
	return paper.Plain, "brake off"
}

// headParts say in a few words each how the fleet stands.
func headParts(f api.Fleet, now time.Time) []paper.Cell {
	healthy := paper.Cell{Text: fmt.Sprintf("%d of %d healthy", f.Healthy, f.Size), Style: paper.Green}
	if f.Healthy < f.Size {
		healthy.Style = paper.Yellow
	}
	parts := []paper.Cell{healthy}
	add := func(s paper.Style, format string, args ...any) {
		parts = append(parts, paper.Cell{Text: fmt.Sprintf(format, args...), Style: s})
	}
	switch {
	case f.Spares == 0:
	case f.Ready < f.Spares:
		add(paper.Yellow, "%s, %d ready", prose.SparesOf(f.Spares), f.Ready)
	default:
		add(paper.Plain, "%s", prose.SparesOf(f.Spares))
	}
	if f.Candidates > 0 {
		add(paper.Yellow, "%s not adopted yet", paper.Count(f.Candidates, "candidate"))
	}
	if f.Shortfall != "" {
		add(paper.Red, "%s", f.Shortfall)
	}
	if f.InRepair > 0 {
		add(paper.Yellow, "%d in repair", f.InRepair)
	}
	if f.InBuild > 0 {
		add(paper.Yellow, "%d being built", f.InBuild)
	}
	color, stands := brake(f, now)
	add(color, "%s", stands)
	provider := words.Provider(fleet.ProviderStanding(f.Provider.Standing))
	if f.Provider.Standing == string(fleet.ProviderUp) {
		add(paper.Plain, "provider %s %s", f.Provider.Name, provider)
	} else {
		add(paper.Red, "provider %s %s", f.Provider.Name, provider)
	}
	switch {
	case f.Vantage.Doubt.Code != "":
		add(paper.Red, "SIGHT IN DOUBT for %s: %s", prose.Span(now.Sub(f.Vantage.DoubtSince)), f.Vantage.Doubt.Text)
	case f.Vantage.Standing == string(fleet.VantageUnknown):
		add(paper.Yellow, "no canary answers")
	}
	if f.Mode == string(policy.ModeObserve) {
		add(paper.Yellow, "only watched")
	}
	if !f.Acting {
		add(paper.Red, "NOT ACTING%s: %s", lasting(f.NotActingSince, now), f.NotActing.Text)
	}
	return parts
}

func (p sheet) fleet(f api.Fleet, now time.Time, c cut) []string {
	lines := []string{p.headline(f.Name, headParts(f, now))}
	switch {
	case !f.AsOf.IsZero():
		said := fmt.Sprintf("STALE: hale has not judged these machines for %s; they stood so at %s",
			prose.Span(max(0, now.Sub(f.AsOf))), paper.Moment(f.AsOf, now))
		lines = append(lines, "  "+p.Paint(paper.Red, paper.Clip(said, max(0, p.Width-2))))
	case f.FromMemory:
		const said = "the verdicts are what hale sees now; what changed is not written down, and nothing follows from " +
			"it yet"
		lines = append(lines, "  "+p.Paint(paper.Yellow, paper.Clip(said, max(0, p.Width-2))))
	}
	if f.Provider.Detail != "" {
		for _, line := range paper.Wrapped(f.Provider.Detail, max(0, p.Width-2)) { // the way out is at its end
			lines = append(lines, "  "+p.Paint(paper.Faint, line))
		}
	}
	for _, said := range p.worldStory(f, now) {
		lines = append(lines, "  "+said)
	}
	for _, u := range f.Unproven {
		if u.Failing {
			said := paper.Clip(u.Text+", so it repairs nothing", max(0, p.Width-2))
			lines = append(lines, "  "+p.Paint(paper.Red, said))
		}
	}
	for _, said := range f.Warnings {
		for _, line := range paper.Wrapped(said, max(0, p.Width-2)) { // the way out is at its end
			lines = append(lines, "  "+p.Paint(paper.Yellow, line))
		}
	}
	for _, parent := range f.Parents {
		lines = append(lines, "  "+p.Paint(paper.Red, paper.Clip(parentLine(parent, now), max(0, p.Width-2))))
	}
	for _, h := range f.Holds {
		lines = append(lines, "  "+p.Paint(paper.Yellow, paper.Clip(holdLine(f.Name, h, now), max(0, p.Width-2))))
	}
	for _, said := range wantedLines(f, now) {
		lines = append(lines, "  "+p.Paint(paper.Yellow, paper.Clip(said, max(0, p.Width-2))))
	}
	shown, left := c.machines(f.Machines)
	f.Machines = shown
	lines = append(lines, p.Table(machineColumns(f, now))...)
	if left != "" {
		lines = append(lines, p.Paint(paper.Faint, paper.Clip("  and "+left, p.Width)))
	}
	return lines
}

// lasting says for how long something has been so; nothing where that is not known.
func lasting(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return " for " + prose.Span(max(0, now.Sub(since)))
}

// headline joins the parts behind the name; where it is too narrow, without colours and cut.
func (p sheet) headline(name string, parts []paper.Cell) string {
	bare, painted := name, p.Paint(paper.Strong, name)
	for i, c := range parts {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		bare += separator + c.Text
		painted += separator + p.Paint(c.Style, c.Text)
	}
	if cut := paper.Clip(bare, p.Width); cut != bare {
		return cut
	}
	return painted
}

// VerdictStyle is the colour of a verdict.
func VerdictStyle(verdict string) paper.Style {
	switch belief.Verdict(verdict) {
	case belief.VerdictHealthy:
		return paper.Green
	case belief.VerdictUnhealthy:
		return paper.Red
	case belief.VerdictSuspect, belief.VerdictStarting:
		return paper.Yellow
	case belief.VerdictUnknown:
	}
	return paper.Faint
}

func machineColumns(f api.Fleet, now time.Time) []paper.Column {
	columns := []paper.Column{
		{Title: "MACHINE", Keep: paper.KeepAlways},
		{Title: "VERDICT", Keep: paper.KeepAlways},
		{Title: "SINCE", Keep: 8},
		{Title: "DOING", Keep: 9, Narrowest: 12},
		{Title: "WHY", Keep: 7, Narrowest: 16},
		{Title: "ADDRESS", Keep: 6},
		{Title: "INSTANCE", Keep: 5},
		{Title: "GEN", Keep: 3},
		{Title: "HOST", Keep: 4},
	}
	for _, m := range f.Machines {
		since, generation := "", ""
		if !m.Since.IsZero() {
			since = prose.Span(now.Sub(m.Since))
		}
		if m.Generation > 0 {
			generation = strconv.FormatUint(m.Generation, 10)
		}
		for i, c := range []paper.Cell{
			{Text: prose.Called(fleet.MachineName(m.Name), m.Alias)}, {Text: m.Verdict, Style: VerdictStyle(m.Verdict)},
			{Text: since}, doing(m), {Text: m.Text}, {Text: m.Address},
			{Text: prose.Instance(fleet.InstanceID(m.Instance))}, {Text: generation}, {Text: m.Host},
		} {
			columns[i].Cells = append(columns[i].Cells, c)
		}
	}
	return columns
}

// doing says in few words what is done about the machine, or why nothing is.
func doing(m api.Machine) paper.Cell {
	switch {
	case m.Quarantine != nil:
		return paper.Cell{Text: "quarantine", Style: paper.Red}
	case m.Repair != nil:
		step := m.Repair.Step
		if m.Repair.Kind != string(belief.RepairHeal) {
			step = m.Repair.Kind // not on the ladder
		}
		if m.Leaving && m.Repair.Kind != string(belief.RepairRemove) {
			return paper.Cell{Text: step + ", then remove", Style: paper.Yellow}
		}
		return paper.Cell{Text: step + ", " + m.Repair.Phase, Style: paper.Yellow}
	case m.Adoption == api.AdoptionCandidate:
		return paper.Cell{Text: "candidate", Style: paper.Yellow}
	case m.Waiting.Code == string(fleet.ReasonSharedFate) && m.Incident != nil && m.Incident.Parent != "":
		return paper.Cell{Text: "held: " + m.Incident.Parent, Style: paper.Yellow}
	case m.Waiting.Code == string(fleet.ReasonAmnesty) && m.Waiting.Detail != "":
		return paper.Cell{Text: "held: " + m.Waiting.Code + " " + m.Waiting.Detail, Style: paper.Yellow}
	case m.Waiting.Code == string(fleet.ReasonRecovering) && m.Waiting.Detail != "":
		return paper.Cell{Text: "held: " + m.Waiting.Detail, Style: paper.Yellow}
	case m.Waiting.Code != "":
		return paper.Cell{Text: "held: " + m.Waiting.Code, Style: paper.Yellow}
	}
	return paper.Cell{}
}
