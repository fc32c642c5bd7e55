package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"hale/internal/api"
	"hale/internal/core/fleet"
	"hale/internal/prose"

	"github.com/spf13/cobra"
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

func (c *commander) statusCommand() *cobra.Command {
	var watch, asJSON, check bool
	var show selection
	cmd := &cobra.Command{
		Use: "status [FLEET…]", Short: "Show fleets, machines, their health and repairs",
		Long:    statusHelp,
		Example: "  hale status web\n  hale status --failing\n  hale status --check",
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			show.fleets = args
			client, err := c.dial()
			if err != nil {
				return err
			}
			defer client.Close()
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
			v := &statusView{screen: screenOf(c.Out, c.Getenv), json: asJSON, selection: show, ask: ask}
			if watch {
				return v.watch(cmd.Context())
			}
			return v.once(cmd.Context())
		}),
		ValidArgsFunction: c.completeFleets,
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "keep it up to date")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (with --watch, one line for each change)")
	cmd.Flags().BoolVar(&show.failing, "failing", false,
		"only machines that are not healthy, and fleets that have such or are not looked after")
	cmd.Flags().BoolVar(&show.all, "all", false, "every machine, however many fleets there are")
	cmd.Flags().BoolVar(&check, checkFlag, false,
		"one line and an exit code for monitoring: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN")
	for _, other := range []string{"watch", "json", "failing", "all"} {
		cmd.MarkFlagsMutuallyExclusive(checkFlag, other)
	}
	return cmd
}

// statusView shows the answers to one question.
type statusView struct {
	screen
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
		err = printJSON(v.out, s)
	} else {
		fmt.Fprintln(v.out, strings.Join(v.paper().overview(s, v.selection, time.Now()), "\n"))
	}
	if err == nil && s.Stopping {
		err = errStopping
	}
	return err
}

// errStopping keeps what a controller saw last from passing for how things stand.
var errStopping = errors.New("the controller is stopping: nothing is watched or repaired until one is started again")

// watch shows the status until ctx ends, which is no error. It waits for a controller that went away, but wants one to
// begin with.
func (v *statusView) watch(ctx context.Context) error {
	s, err := v.ask(ctx)
	if err != nil {
		return err
	}
	live := v.live && !v.json
	if live {
		fmt.Fprint(v.out, enterLive)
		defer fmt.Fprint(v.out, leaveLive)
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var shown api.Status
	var trouble error
	for first := true; ; first = false {
		switch {
		case live:
			v.frame(v.picture(s, err))
		case err != nil && (trouble == nil || trouble.Error() != err.Error()):
			fmt.Fprintln(v.out, "hale: "+err.Error())
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
	p := v.paper()
	now := time.Now()
	lines := []string{p.paint(faint,
		clip(fmt.Sprintf("hale %s on %s, %s", s.Version, s.Server, prose.Clock(now)), p.width)),
		p.totals(s), ""}
	if err != nil {
		text := fmt.Sprintf("As of %s ago: %v", prose.Span(now.Sub(s.Now)), errors.Unwrap(err))
		lines = append(lines, p.paint(red, clip(text, p.width)), "")
	}
	room := 0
	if p.height > 0 {
		room = max(1, p.height-1-len(lines)) // the cursor rests in the last line
	}
	return append(lines, p.fitting(s, now, room)...)
}

func (v *statusView) print(s api.Status) error {
	if v.json {
		return json.NewEncoder(v.out).Encode(s)
	}
	now := time.Now()
	fmt.Fprintln(v.out, "--- "+prose.Clock(now))
	fmt.Fprintln(v.out, strings.Join(v.paper().overview(s, v.selection, now), "\n"))
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
func (p paper) status(s api.Status, now time.Time) []string { return p.excerpt(s, now, whole) }

// excerpt renders as much as the cut leaves, with all that is not about single machines.
func (p paper) excerpt(s api.Status, now time.Time, c cut) []string {
	var lines []string
	if s.Stopping {
		lines = append(lines,
			p.paint(red, clip("hale is stopping: nothing is watched any more, and this is how it stood", p.width)), "")
	}
	lines = append(lines, p.storeLines(s.Store, now)...)
	lines = append(lines, p.fleets(s, now, c)...)
	return append(lines, p.remarks(s, now, c)...)
}

// brake says how the fleet's brake stands.
func brake(f api.Fleet, now time.Time) (style, string) {
	on := prose.Span(now.Sub(f.Brake.Since))
	switch {
	case f.Brake.By != "":
		return red, fmt.Sprintf("BRAKE ON for %s by %s", on, f.Brake.By)
	case f.Brake.Scope != "" && f.Brake.Engaged:
		return red, fmt.Sprintf("SHARED BRAKE ON for %s (%d of %d fail, limit %d)", on, f.Brake.Failing, f.Brake.Size,
			f.Brake.Limit)
	case f.Brake.Engaged:
		return red, fmt.Sprintf("BRAKE ON for %s (%d fail, limit %d)", on, f.Failing, f.Brake.Limit)
	case f.Brake.Excused > f.Brake.Limit:
		return yellow, fmt.Sprintf("brake taken off (%d may fail)", f.Brake.Excused)
	}
	return plain, "brake off"
}

// headParts say in a few words each how the fleet stands.
func headParts(f api.Fleet, now time.Time) []cell {
	healthy := cell{fmt.Sprintf("%d of %d healthy", f.Healthy, f.Size), green}
	if f.Healthy < f.Size {
		healthy.style = yellow
	}
	parts := []cell{healthy}
	add := func(s style, format string, args ...any) {
		parts = append(parts, cell{fmt.Sprintf(format, args...), s})
	}
	if f.Candidates > 0 {
		add(yellow, "%s not adopted yet", count(f.Candidates, "candidate"))
	}
	if f.Shortfall != "" {
		add(red, "%s", f.Shortfall)
	}
	if f.InRepair > 0 {
		add(yellow, "%d in repair", f.InRepair)
	}
	if f.InBuild > 0 {
		add(yellow, "%d being built", f.InBuild)
	}
	color, stands := brake(f, now)
	add(color, "%s", stands)
	provider := prose.Provider(fleet.ProviderStanding(f.Provider.Standing))
	if f.Provider.Standing == string(fleet.ProviderUp) {
		add(plain, "provider %s %s", f.Provider.Name, provider)
	} else {
		add(red, "provider %s %s", f.Provider.Name, provider)
	}
	switch {
	case f.Vantage.Doubt.Code != "":
		add(red, "SIGHT IN DOUBT for %s: %s", prose.Span(now.Sub(f.Vantage.DoubtSince)), f.Vantage.Doubt.Text)
	case f.Vantage.Standing == string(fleet.VantageUnknown):
		add(yellow, "no canary answers")
	}
	if f.Mode == string(fleet.ModeObserve) {
		add(yellow, "only watched")
	}
	if !f.Acting {
		add(red, "NOT ACTING%s: %s", lasting(f.NotActingSince, now), f.NotActing.Text)
	}
	return parts
}

func (p paper) fleet(f api.Fleet, now time.Time, c cut) []string {
	lines := []string{p.headline(f.Name, headParts(f, now))}
	switch {
	case !f.AsOf.IsZero():
		lines = append(lines,
			"  "+p.paint(red, clip(fmt.Sprintf("STALE: hale has not judged these machines for %s; they stood so at %s",
				prose.Span(max(0, now.Sub(f.AsOf))), moment(f.AsOf, now)), max(0, p.width-2))))
	case f.FromMemory:
		lines = append(lines,
			"  "+p.paint(yellow, clip("the verdicts are what hale sees now; what changed is not written down, and "+
				"nothing follows from it yet", max(0, p.width-2))))
	}
	if f.Provider.Detail != "" {
		for _, line := range wrapped(f.Provider.Detail, max(0, p.width-2)) { // the way out is at its end
			lines = append(lines, "  "+p.paint(faint, line))
		}
	}
	for _, said := range p.worldStory(f, now) {
		lines = append(lines, "  "+said)
	}
	for _, u := range f.Unproven {
		if u.Failing {
			lines = append(lines, "  "+p.paint(red, clip(u.Text+", so it repairs nothing", max(0, p.width-2))))
		}
	}
	for _, said := range f.Warnings {
		for _, line := range wrapped(said, max(0, p.width-2)) { // the way out is at its end
			lines = append(lines, "  "+p.paint(yellow, line))
		}
	}
	for _, parent := range f.Parents {
		lines = append(lines, "  "+p.paint(red, clip(parentLine(parent, now), max(0, p.width-2))))
	}
	for _, h := range f.Holds {
		lines = append(lines, "  "+p.paint(yellow, clip(holdLine(f.Name, h, now), max(0, p.width-2))))
	}
	for _, said := range wantedLines(f, now) {
		lines = append(lines, "  "+p.paint(yellow, clip(said, max(0, p.width-2))))
	}
	shown, left := c.machines(f.Machines)
	f.Machines = shown
	lines = append(lines, p.table(machineColumns(f, now))...)
	if left != "" {
		lines = append(lines, p.paint(faint, clip("  and "+left, p.width)))
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
func (p paper) headline(name string, parts []cell) string {
	bare, painted := name, p.paint(strong, name)
	for i, c := range parts {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		bare += separator + c.text
		painted += separator + p.paint(c.style, c.text)
	}
	if cut := clip(bare, p.width); cut != bare {
		return cut
	}
	return painted
}

// verdictStyle is the colour of a verdict.
func verdictStyle(verdict string) style {
	switch fleet.Verdict(verdict) {
	case fleet.VerdictHealthy:
		return green
	case fleet.VerdictUnhealthy:
		return red
	case fleet.VerdictSuspect, fleet.VerdictStarting:
		return yellow
	case fleet.VerdictUnknown:
	}
	return faint
}

func machineColumns(f api.Fleet, now time.Time) []column {
	columns := []column{
		{title: "MACHINE", keep: keepAlways},
		{title: "VERDICT", keep: keepAlways},
		{title: "SINCE", keep: 8},
		{title: "DOING", keep: 9, narrowest: 12},
		{title: "WHY", keep: 7, narrowest: 16},
		{title: "ADDRESS", keep: 6},
		{title: "INSTANCE", keep: 5},
		{title: "GEN", keep: 3},
		{title: "HOST", keep: 4},
	}
	for _, m := range f.Machines {
		since, generation := "", ""
		if !m.Since.IsZero() {
			since = prose.Span(now.Sub(m.Since))
		}
		if m.Generation > 0 {
			generation = strconv.FormatUint(m.Generation, 10)
		}
		for i, c := range []cell{
			{prose.Called(fleet.MachineName(m.Name), m.Alias), plain}, {m.Verdict, verdictStyle(m.Verdict)},
			{since, plain}, doing(m), {m.Text, plain}, {m.Address, plain},
			{prose.Instance(fleet.InstanceID(m.Instance)), plain}, {generation, plain}, {m.Host, plain},
		} {
			columns[i].cells = append(columns[i].cells, c)
		}
	}
	return columns
}

// doing says in few words what is done about the machine, or why nothing is.
func doing(m api.Machine) cell {
	switch {
	case m.Quarantine != nil:
		return cell{"quarantine", red}
	case m.Repair != nil:
		step := m.Repair.Step
		if m.Repair.Kind != string(fleet.RepairHeal) {
			step = m.Repair.Kind // not on the ladder
		}
		if m.Leaving && m.Repair.Kind != string(fleet.RepairRemove) {
			return cell{step + ", then remove", yellow}
		}
		return cell{step + ", " + m.Repair.Phase, yellow}
	case m.Adoption == api.AdoptionCandidate:
		return cell{"candidate", yellow}
	case m.Waiting.Code == string(fleet.ReasonSharedFate) && m.Incident != nil && m.Incident.Parent != "":
		return cell{"held: " + m.Incident.Parent, yellow}
	case m.Waiting.Code == string(fleet.ReasonAmnesty) && m.Waiting.Detail != "":
		return cell{"held: " + m.Waiting.Code + " " + m.Waiting.Detail, yellow}
	case m.Waiting.Code == string(fleet.ReasonRecovering) && m.Waiting.Detail != "":
		return cell{"held: " + m.Waiting.Detail, yellow}
	case m.Waiting.Code != "":
		return cell{"held: " + m.Waiting.Code, yellow}
	}
	return cell{}
}
