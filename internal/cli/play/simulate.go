package play

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/prose"
	"hale/internal/prose/words"
	"hale/internal/sim/load"
	"hale/internal/sim/score"
	"hale/internal/sim/script"
	"hale/internal/sim/trace"
	"hale/internal/trial/rehearsal"
	"hale/internal/trial/report"
	"hale/internal/trial/scenario"
)

// simulation is what hale simulate is asked for.
type simulation struct {
	scenario string
	trace    string
	load     string
	capacity float64
	faults   string
	days     float64
	seed     uint64
	fleet    string
	servers  int
	operator time.Duration
	traceOut string
	shrink   time.Duration
	found    string
	html     string
	json     bool
}

// simulateHelp is what hale simulate --help says.
const simulateHelp = "" +
	"Plays the fleets of a configuration in a simulated world, with hale's own judgement: a month in\n" +
	"seconds, with faults drawn from a seed, or those of a scenario or a trace. It touches no real\n" +
	"machine.\n\n" +
	"Exit codes: 0 nothing wrong was done, 1 something was (a healthy machine destroyed, two instances\n" +
	"at once, a repair lost, a machine neither healed nor in a person's hands), 2 called wrongly or\n" +
	"invalid configuration."

func (c player) simulateCommand() *cobra.Command {
	var s simulation
	cmd := &cobra.Command{
		Use:   "simulate [FILE|DIR]",
		Short: "Play a configuration in a simulated world, and say what it would do, and what it would regret",
		Long:  simulateHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			path, err := command.Configuration(args)
			if err != nil {
				return err
			}
			loaded, err := c.Sound(path)
			if err != nil {
				return command.Usage(err)
			}
			order, err := s.order(loaded, cmd.Flags().Changed)
			if err != nil {
				return command.Usage(err)
			}
			return c.simulate(order, s)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&s.scenario, "scenario", "", "play the events of this scenario file instead of drawn faults")
	f.StringVar(&s.trace, "trace", "",
		"play the outages of this CSV file: start, node, and optionally end, rack, room and cause")
	f.StringVar(&s.load, "load", "",
		"put the load of this CSV file on each fleet, time and load, and say what its size costs")
	f.Float64Var(&s.capacity, "capacity", 0,
		"with --load: how much of it a machine takes (default the target that an opinion on the size has for it)")
	f.StringVar(&s.faults, "faults", "",
		"kinds of faults to draw: all, or some of "+kinds()+" (default the usual ones; with --trace: none)")
	f.Float64Var(&s.days, "days", 0, "how long faults may begin (default 30, or as long as the scenario or trace is)")
	f.Uint64Var(&s.seed, "seed", 1, "what the faults are drawn from; 0 draws a seed, too")
	f.StringVar(&s.fleet, "fleet", "", "this fleet only")
	f.IntVar(&s.servers, "servers", 1, "how many hale servers share each fleet")
	f.DurationVar(&s.operator, "operator", time.Hour,
		"mean time until a person who was paged mends the machine; 0: never")
	f.StringVar(&s.traceOut, "trace-out", "", "write every line of the runs to this file")
	f.DurationVar(&s.shrink, "shrink", 20*time.Second,
		"when something wrong was done: how long to look for the least that does it again; 0: not at all")
	f.StringVar(&s.found, "found", "",
		"write what was found so to this file, to be played by hale test, instead of printing it")
	f.StringVar(&s.html, "html", "", "write a report with a timeline to this file: one page that stands alone")
	f.BoolVar(&s.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("scenario", "trace")
	cmd.MarkFlagsMutuallyExclusive("scenario", "faults")
	return cmd
}

func kinds() string {
	words := make([]string, 0, len(script.Kinds()))
	for _, k := range script.Kinds() {
		words = append(words, string(k))
	}
	return strings.Join(words, ",")
}

func (c player) simulate(order rehearsal.Options, s simulation) (err error) {
	if s.traceOut != "" {
		file, err := os.Create(s.traceOut)
		if err != nil {
			return err
		}
		order.Trace = file
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	if !s.json {
		fmt.Fprintf(c.Out, "seed %d, %s\n", order.Seed, order.Weather.Title())
	}
	outcome, err := rehearsal.Rehearse(order)
	if err != nil {
		return command.Usage(err)
	}
	for _, unfit := range outcome.DidNotFit {
		fmt.Fprintln(c.Err, "did not fit: "+unfit)
	}
	if outcome.Wrong() > 0 && s.shrink > 0 {
		until := time.Now().Add(s.shrink)
		outcome.Found = outcome.Find(func() bool { return time.Now().After(until) })
	}
	if err := c.tellOutcome(outcome, s); err != nil {
		return err
	}
	switch {
	case outcome.Wrong() > 0:
		return errors.New("hale did what it must never do")
	case !outcome.OK():
		return errors.New("not everything went as the scenario expects")
	}
	return nil
}

// order makes of the flags what is to be played; chosen tells which of them the caller wrote. Its error is a mistake of
// his.
func (s simulation) order(loaded *config.Config, chosen func(flag string) bool) (rehearsal.Options, error) {
	if chosen("days") && (s.days <= 0 || s.days > 3650) {
		return rehearsal.Options{}, fmt.Errorf("--days %v: write a number above 0, at most 3650", s.days)
	}
	if s.servers < 1 || s.servers > 9 {
		return rehearsal.Options{}, fmt.Errorf("--servers %d: write a number from 1 to 9", s.servers)
	}
	if s.operator < 0 {
		return rehearsal.Options{}, fmt.Errorf("--operator %s: write a duration, or 0 for never", s.operator)
	}
	order := rehearsal.Options{
		Config: loaded, Fleet: fleet.Name(s.fleet), Seed: s.seed,
		Horizon: time.Duration(s.days * 24 * float64(time.Hour)), Servers: s.servers, Operator: s.operator,
		Weather: rehearsal.Usual(),
	}
	if order.Seed == 0 {
		order.Seed = uint64(rand.Uint32()) //nolint:gosec // the seed is printed; it is no secret
	}
	order, err := s.weather(order, chosen)
	if err == nil {
		order, err = s.burden(order, chosen)
	}
	if err != nil {
		return rehearsal.Options{}, err
	}
	return order, order.Check()
}

// weather puts what goes wrong into the order.
func (s simulation) weather(order rehearsal.Options, chosen func(flag string) bool) (rehearsal.Options, error) {
	var drawn rehearsal.Faults
	if s.faults != "" {
		list, err := script.ParseKinds(s.faults)
		if err != nil {
			return order, fmt.Errorf("--faults: %w", err)
		}
		drawn.Kinds = list
	}
	switch {
	case s.scenario != "":
		script, err := scenario.LoadScript(s.scenario)
		if err != nil {
			return order, err
		}
		return rehearsal.Story{Script: script}.Adapt(order, func(setting string) bool {
			return chosen(map[string]string{"run": "days"}[setting]) || chosen(setting)
		})
	case s.trace != "":
		recorded, err := readTrace(s.trace)
		if err != nil {
			return order, err
		}
		order.Weather = recorded
		if s.faults != "" {
			order.Weather = rehearsal.Both{Recorded: recorded, Faults: drawn}
		}
		if !chosen("days") {
			order.Horizon = recorded.Span()
		}
	case s.faults != "":
		order.Weather = drawn
	}
	return order, nil
}

// burden puts the load into the order.
func (s simulation) burden(order rehearsal.Options, chosen func(flag string) bool) (rehearsal.Options, error) {
	switch {
	case s.load == "" && chosen("capacity"):
		return order, errors.New("--capacity is how much of a load a machine takes: add --load FILE")
	case s.load == "":
		return order, nil
	case chosen("capacity") && !(s.capacity > 0 && s.capacity <= 1e9):
		return order, fmt.Errorf("--capacity %v: write a number above 0", s.capacity)
	}
	file, err := os.Open(s.load)
	if err != nil {
		return order, err
	}
	defer file.Close()
	t, err := load.Read(file)
	if err != nil {
		return order, fmt.Errorf("%s: %w", s.load, err)
	}
	order.Load, order.Capacity = &t, s.capacity
	if s.scenario == "" && s.trace == "" && !chosen("days") {
		order.Horizon = max(t.Span(), time.Hour)
	}
	return order, nil
}

// readTrace reads a trace. Its error has a line for each problem, with its place.
func readTrace(path string) (rehearsal.Recorded, error) {
	file, err := os.Open(path)
	if err != nil {
		return rehearsal.Recorded{}, err
	}
	defer file.Close()
	read, err := trace.Read(file)
	var problems trace.Problems
	if errors.As(err, &problems) {
		lines := make([]string, 0, len(problems)+1)
		for _, p := range problems {
			lines = append(lines, fmt.Sprintf("%s: %s", path, p))
		}
		return rehearsal.Recorded{}, errors.New(strings.Join(append(lines,
			path+" is no trace: "+paper.Count(len(problems), "problem")), "\n"))
	}
	if err != nil {
		return rehearsal.Recorded{}, fmt.Errorf("%s: %w", path, err)
	}
	return rehearsal.Recorded{Name: path, File: read}, nil
}

func (c player) tellOutcome(o rehearsal.Outcome, s simulation) error {
	if s.found != "" && len(o.Found) > 0 {
		//nolint:gosec // a story has no secrets
		if err := os.WriteFile(s.found, []byte(o.Found[0].File), 0o644); err != nil {
			return err
		}
	}
	if s.html != "" {
		page := report.Page{Outcome: o, Version: c.Version, Command: again(c.Args, o.Seed)}
		if err := writeReport(s.html, page); err != nil {
			return err
		}
	}
	if s.json {
		return paper.JSON(c.Out, o)
	}
	p := c.sheet()
	var lines []string
	for _, f := range o.Fleets {
		lines = append(lines, "")
		lines = append(lines, p.rehearsed(f)...)
	}
	for _, f := range o.Found {
		lines = append(lines, "")
		lines = append(lines, p.found(f, s.found)...)
	}
	lines = append(lines, "", p.verdictOn(o))
	_, err := io.WriteString(c.Out, strings.Join(lines, "\n")+"\n")
	return err
}

// mostWrong is how many misdeeds are told one by one.
const mostWrong = 5

// writeReport writes the page into the file, as a whole or not at all.
func writeReport(name string, p report.Page) error {
	var b bytes.Buffer
	if err := report.Write(&b, p); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644) //nolint:gosec // a report has no secrets
}

// again is the command line that plays the same again: the seed is named even where it was not.
func again(args []string, seed uint64) string {
	words := []string{"hale"}
	for i := 0; i < len(args); i++ {
		if args[i] == "--seed" {
			i++
			continue
		}
		if !strings.HasPrefix(args[i], "--seed=") {
			words = append(words, shellWord(args[i]))
		}
	}
	return strings.Join(append(words, "--seed", strconv.FormatUint(seed, 10)), " ")
}

// shellWord quotes a word where a shell would take it for something else.
func shellWord(w string) string {
	if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%") == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// rehearsed renders what came of one fleet.
func (p sheet) rehearsed(f rehearsal.Fleet) []string {
	steps := make([]string, 0, len(f.Options.Spec.Repair.Steps))
	for _, s := range f.Options.Spec.Repair.Steps {
		steps = append(steps, string(s.Kind))
	}
	lines := []string{fmt.Sprintf("%s: %s on %s, %s, %s, hale %s (%s)", p.Paint(paper.Strong, string(f.Name)),
		f.Machines(),
		paper.Count(f.Hosts, "host"), length(f.Options.Horizon), paper.Count(f.Servers, "server"), words.Mode(f.Mode),
		strings.Join(steps, ", "))}
	lines = append(lines, p.faults(f.Faults)...)
	for _, part := range []struct {
		title  string
		counts []rehearsal.Count
	}{{"done", f.Actions}, {"held", f.Held}, {"paged", f.Paged}} {
		lines = append(lines, counted(part.title, part.counts)...)
	}
	lines = append(lines, p.score(f.Score)...)
	lines = append(lines, p.sizes(f)...)
	for _, w := range f.Warnings {
		lines = append(lines, "  "+p.Paint(paper.Yellow, "mind")+"   "+w)
	}
	for _, u := range f.Unexpected {
		lines = append(lines, "  "+p.Paint(paper.Red, "NOT SO")+" "+u)
	}
	for i, m := range f.Wrong {
		if i == mostWrong {
			lines = append(lines, fmt.Sprintf("  and %d more; --json has them all", len(f.Wrong)-i))
			break
		}
		lines = append(lines, "  "+p.Paint(paper.Red, "WRONG")+"  "+misdeed(m))
		for _, around := range m.Around {
			lines = append(lines, "           "+p.Paint(paper.Faint, around))
		}
	}
	return lines
}

// sizes renders what the fleet's size cost under its load.
func (p sheet) sizes(f rehearsal.Fleet) []string {
	if f.Options.Burden.Capacity == 0 {
		return nil
	}
	s := f.Score.Sizes
	return []string{
		fmt.Sprintf("  %-6s too small for %s; %.1f of %.1f machine-hours more than the load needed; it grew %s and shrank "+
			"%s", "size", prose.Span(time.Duration(s.SecondsUnder)*time.Second), s.HoursOver, s.MachineHours,
			paper.Count(s.ScaledOut, "time"), paper.Count(s.ScaledIn, "time")),
	}
}

// found renders the least that does it again, or says in which file it is.
func (p sheet) found(f rehearsal.Found, file string) []string {
	left := "as little as was found in the time"
	if f.Whole {
		left = "nothing more can be left out"
	}
	said := fmt.Sprintf("%s breaks law %s again with %d of its %s; %s",
		p.Paint(paper.Strong, f.Fleet), f.Law, f.Events, paper.Count(f.Of, "event"), left)
	if file != "" {
		return []string{said + ": hale test " + file}
	}
	return append([]string{said + ". Save this as found.txt, and play it with: hale test found.txt", ""},
		strings.Split(strings.TrimRight(f.File, "\n"), "\n")...)
}

func misdeed(m rehearsal.Misdeed) string {
	said := "after " + prose.Span(time.Duration(m.AtSeconds)*time.Second) + ", law " + m.Law + ": "
	if m.Machine != "" {
		said += m.Machine + ": "
	}
	return said + m.What
}

// faults renders what came of each kind of fault.
func (p sheet) faults(faults []rehearsal.Fault) []string {
	titles := []string{
		"FAULT", "TIMES", "OUTAGES", "HEALED", "AFTER A PAGE", "BY ITSELF", "BY A PERSON", "STILL DOWN", "NOT SEEN",
		"MEDIAN",
	}
	columns := make([]paper.Column, len(titles))
	for i, t := range titles {
		columns[i] = paper.Column{Title: t, Keep: paper.KeepAlways}
	}
	for _, f := range faults {
		typical := ""
		if f.Outages > 0 {
			typical = prose.Span(time.Duration(f.MedianSecond) * time.Second)
		}
		row := []string{
			f.Kind, some(f.Times), some(f.Outages), some(f.Healed), some(f.HealedPaged), some(f.ByItself),
			some(f.ByPerson), some(f.Open), some(f.Unseen), typical,
		}
		for i, text := range row {
			columns[i].Cells = append(columns[i].Cells, paper.Cell{Text: text})
		}
	}
	return paper.Sheet{Colour: p.Colour}.Table(columns)
}

// some renders a number, and nothing for none.
func some(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// counted renders counts, a line each, behind their title.
func counted(title string, counts []rehearsal.Count) []string {
	if len(counts) == 0 {
		return nil
	}
	var plainly []string
	for _, n := range counts {
		if n.Text != "" {
			continue
		}
		plainly = append(plainly, fmt.Sprintf("%s %d", n.What, n.Times))
	}
	var lines []string
	if len(plainly) > 0 {
		lines = append(lines, strings.Join(plainly, ", "))
	}
	for _, n := range counts {
		if n.Text == "" {
			continue
		}
		where := ""
		if n.Machines > 0 {
			where = " of " + paper.Count(n.Machines, "machine")
		}
		lines = append(lines, fmt.Sprintf("%s%s: %s (%s)", paper.Count(n.Times, "time"), where, n.Text, n.What))
	}
	for i := range lines {
		lines[i] = fmt.Sprintf("  %-6s %s", title, lines[i])
		title = ""
	}
	return lines
}

// score renders the figures of a run.
func (p sheet) score(s score.Score) []string {
	share := "none was hale's to heal alone"
	if s.Healable > 0 {
		share = fmt.Sprintf("of %d that hale could heal alone it healed %d (%.1f%%), half of them within %s, 99%% "+
			"within %s", s.Healable,
			s.HealedAlone, 100*s.HealedShare(), prose.Span(seconds(s.HealP50)), prose.Span(seconds(s.HealP99)))
	}
	return []string{
		fmt.Sprintf("  score  %s: %s", paper.Count(s.Outages, "outage"), share),
		fmt.Sprintf("         healthy destroyed %d, double instances %d, lost repairs %d, unhealed %d, late %d; laws "+
			"broken %d",
			s.HealthyDestroyed, s.DoubleInstances, s.LostRepairs, s.Unhealed, s.LateHeals, s.LawsBroken),
		fmt.Sprintf(
			"         %s, %s, %.1f machine-hours lost of %.0f; mended by a person %d, needless holds %d",
			paper.Count(
				s.Repairs,
				"repair",
			),
			paper.Count(s.Actions, "action"),
			s.MachineHoursLost,
			24*s.MachineDays,
			s.Visits,
			s.NeedlessHolds,
		),
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// length renders whole days as such, and anything else as a span.
func length(d time.Duration) string {
	if days := int(d / (24 * time.Hour)); days > 0 && d%(24*time.Hour) == 0 {
		return paper.Count(days, "day")
	}
	return prose.Span(d)
}

// number renders a figure without needless digits.
func number(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

func (p sheet) verdictOn(o rehearsal.Outcome) string {
	if o.OK() {
		return p.Paint(
			paper.Green,
			"nothing wrong was done",
		) + fmt.Sprintf(
			" in %s machine-days",
			number(o.MachineDays),
		)
	}
	return p.Paint(paper.Red, "WRONG") +
		fmt.Sprintf(": healthy destroyed %d, double instances %d, lost repairs %d, unhealed %d, laws broken %d",
			o.HealthyDestroyed, o.DoubleInstances, o.LostRepairs, o.Unhealed, o.LawsBroken)
}
