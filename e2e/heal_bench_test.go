package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/lab"
)

// What is measured, and how often.
const (
	healRounds    = 10
	lateRounds    = 7 // with three faults each
	lateEvery     = time.Second
	lateThreshold = 3
	idleFor       = 30 * time.Second
	ownBudget     = 300 * time.Millisecond
	// amnesty is longer than hale, at its defaults, judges everything afresh after a start before it acts.
	amnesty = 20 * time.Second
)

// Fleets of the measurements: at hale's defaults as far as they go, and what each says beyond them. Machines are killed
// far more often than the default of three repairs an hour forgives, after which hale would leave them to a person.
const (
	bothChecks = "    checks: {page: {http: {}}, alive: {ping: {}}}\n"
	atDefaults = bothChecks + "    repair: {attempts: 100 in 1h}"
	onlyAnew   = bothChecks + "    repair: {attempts: 100 in 1h, steps: [recreate]}"
	onlySeen   = "    checks: {page: {http: {}, every: 1s}}\n    mode: observe"
)

// healing is where the time of one heal went.
type healing struct {
	Total  time.Duration `json:"total_ns"`  // from the verdict to the incident's end
	Look   time.Duration `json:"look_ns"`   // the look that is demanded before anything disruptive
	Calls  time.Duration `json:"calls_ns"`  // from each intent to its outcome
	Verify time.Duration `json:"verify_ns"` // from the last call before it until the machine is verified healthy
	Own    time.Duration `json:"own_ns"`    // the rest: hale's own time
	Notice time.Duration `json:"notice_ns"` // from just before the kill to the verdict
	Served time.Duration `json:"served_ns"` // from just before the kill to the first page
	Doubt  time.Duration `json:"doubt_ns"`  // from the first page to verified
}

// manual is the same by hand: virsh, and asking for the page until it comes.
type manual struct {
	Destroy time.Duration `json:"destroy_ns"`
	Define  time.Duration `json:"define_ns"` // undefine and define
	Start   time.Duration `json:"start_ns"`
	Page    time.Duration `json:"page_ns"` // from start's return to the first page
}

func (m manual) total() time.Duration { return m.Destroy + m.Define + m.Start + m.Page }

// findings are everything that the benchmark found.
type findings struct {
	Start        []healing       `json:"start"`
	Recreate     []healing       `json:"recreate"`
	ByHand       []manual        `json:"by_hand"`
	Detection    []time.Duration `json:"detection_ns"` // from the fault to the verdict
	Resident     uint64          `json:"resident_bytes"`
	Anonymous    uint64          `json:"anonymous_bytes"`
	Idle         time.Duration   `json:"idle_cpu_ns"` // of processor time, in idleFor
	Binary       int64           `json:"binary_bytes"`
	FirstVerdict time.Duration   `json:"first_verdict_ns"` // from the start of the process, with a fleet that stands
	AllVerdicts  time.Duration   `json:"all_verdicts_ns"`
}

// BenchmarkHeal measures where the time of a heal goes, at hale's defaults on three machines, and what hale costs.
func BenchmarkHeal(b *testing.B) {
	for b.Loop() {
		s := newStage(b, "10.96.0.0/16", settings{fleet: "web", size: 3, fleetYAML: atDefaults})
		f := s.measure()
		f.table(os.Stdout)
		s.keep(f)
		for name, rounds := range map[string][]healing{"start": f.Start, "recreate": f.Recreate} {
			own := quantile(rounds, 0.5, func(h healing) time.Duration { return h.Own })
			b.ReportMetric(float64(own.Milliseconds()), "own-ms/"+name)
			if own > ownBudget {
				b.Errorf("hale's own time in a heal by %s: median %s, and may be %s", name, own, ownBudget)
			}
		}
	}
}

func (s stage) measure() findings {
	var f findings
	s.raise()
	s.stands()
	f.Resident, f.Anonymous, f.Idle = s.idleCost()
	f.Start = s.heals("start")
	s.restart(func(set *settings) { set.fleetYAML = onlyAnew })
	s.stands()
	s.idle(amnesty)
	f.Recreate = s.heals("recreate")
	f.FirstVerdict, f.AllVerdicts = s.awakening()
	s.restart(func(set *settings) { set.fleetYAML = onlySeen })
	s.stands()
	f.Detection = s.detections()
	s.must(s.hale.stop(s.within(moment)))
	f.ByHand = s.byHand()
	binary, err := os.Stat(os.Getenv(envHale))
	s.must(err)
	f.Binary = binary.Size()
	return f
}

// heals kills machines, one after the other, and takes the times of their repair by the step.
func (s stage) heals(step string) []healing {
	var all []healing
	for range healRounds {
		victim := s.pick()
		s.pause(time.Second) // the checks' beat is not the benchmark's
		mark, begin := s.journal.mark(), time.Now()
		s.fault(victim, lab.FaultKill)
		served := make(chan time.Time, 1)
		go func() { // ends with the page, or with the wait for it
			_, _ = s.lab.AwaitPage(s.within(patience), victim)
			served <- time.Now()
		}()
		story := s.healed(victim, mark)
		s.wantSteps(story, step)
		s.stands()
		all = append(all, account(story, begin, <-served))
	}
	return all
}

// account says where the time went.
func account(story []api.Event, begin, served time.Time) healing {
	at := func(m match) api.Event { return story[slices.IndexFunc(story, m)] }
	bad, verified, end := at(verdict("unhealthy")), at(kind("verified")), at(kind("incident-closed"))
	h := healing{
		Total:  end.At.Sub(bad.At),
		Notice: bad.At.Sub(begin),
		Served: served.Sub(begin),
		Doubt:  verified.At.Sub(served),
	}
	var last time.Time
	for _, e := range story {
		switch e.Kind {
		case "look":
			h.Look += time.Duration(e.Took)
		case "outcome":
			h.Calls += time.Duration(e.Took)
			if e.Seq < verified.Seq {
				last = e.At
			}
		}
	}
	h.Verify = verified.At.Sub(last)
	h.Own = h.Total - h.Look - h.Calls - h.Verify
	return h
}

// detections lets pages die and takes the time until hale says so.
func (s stage) detections() []time.Duration {
	var all []time.Duration
	for range lateRounds {
		mark := s.journal.mark()
		begin := map[string]time.Time{}
		for m := range s.machines() {
			s.pause(lateEvery)
			begin[m] = time.Now()
			s.fault(m, lab.FaultNoHTTP)
		}
		for m := range s.machines() {
			e := s.event(m+" is judged", mark, of(m, verdict("unhealthy")))
			all = append(all, e.At.Sub(begin[m]))
		}
		mark = s.journal.mark()
		for m := range s.machines() {
			s.fault(m, lab.FaultHTTP)
		}
		for m := range s.machines() {
			s.event(m+" is well", mark, of(m, verdict("healthy")))
		}
	}
	return all
}

// byHand replaces a domain with virsh, as an operator would who has the commands ready.
func (s stage) byHand() []manual {
	file := s.hale.path("hand.xml")
	s.must(os.WriteFile(file, []byte(s.lab.DomainXML(lab.DomainSpec{Name: "hand"})), 0o600))
	virsh := func(args ...string) time.Duration {
		begin := time.Now()
		_, err := s.lab.Virsh(s.within(patience), args...)
		s.must(err)
		return time.Since(begin)
	}
	virsh("define", file)
	virsh("start", "hand")
	page := func() time.Duration {
		begin := time.Now()
		_, err := s.lab.AwaitPage(s.within(patience), "hand")
		s.must(err)
		return time.Since(begin)
	}
	page()
	var all []manual
	for range healRounds {
		m := manual{Destroy: virsh("destroy", "hand"), Define: virsh("undefine", "hand") + virsh("define", file)}
		m.Start = virsh("start", "hand")
		m.Page = page()
		all = append(all, m)
	}
	virsh("destroy", "hand")
	virsh("undefine", "hand")
	return all
}

// idleCost is hale's memory, and its processor time while nothing happens.
func (s stage) idleCost() (resident, anonymous uint64, busy time.Duration) {
	before := s.processorTime()
	s.idle(idleFor)
	return s.memory("VmRSS"), s.memory("RssAnon"), s.processorTime() - before
}

// tick is the unit of /proc/PID/stat, which Linux fixes at a hundredth of a second.
const tick = 10 * time.Millisecond

func (s stage) processorTime() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.hale.cmd.Process.Pid))
	s.must(err)
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after) // the first is the process state, field 3 of proc(5)
	user, err := strconv.Atoi(fields[14-3])
	s.must(err)
	system, err := strconv.Atoi(fields[15-3])
	s.must(err)
	return time.Duration(user+system) * tick
}

func (s stage) memory(what string) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.hale.cmd.Process.Pid))
	s.must(err)
	_, after, _ := strings.Cut(string(text), what+":")
	kib, err := strconv.ParseUint(strings.Fields(after)[0], 10, 64)
	s.must(err)
	return kib << 10
}

// awakening is the time from the start of the process to the first verdict, and to one on every machine.
func (s stage) awakening() (first, all time.Duration) {
	s.must(s.hale.stop(s.within(moment)))
	mark := s.journal.mark()
	s.raise()
	for m := range s.machines() {
		took := s.event("a verdict on "+m, mark, of(m, verdict("healthy"))).At.Sub(s.hale.began)
		all = max(all, took)
		if first == 0 || took < first {
			first = took
		}
	}
	return first, all
}

// quantile returns the q-th part of one duration of all rounds.
func quantile[T any](rounds []T, q float64, of func(T) time.Duration) time.Duration {
	var sorted []time.Duration
	for _, r := range rounds {
		sorted = append(sorted, of(r))
	}
	slices.SortFunc(sorted, cmp.Compare[time.Duration])
	middle := q * float64(len(sorted)-1)
	low := int(middle)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + time.Duration((middle-float64(low))*float64(sorted[high]-sorted[low]))
}

// table prints the findings in Markdown.
func (f findings) table(w io.Writer) {
	p := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	p("\n| median of %d, in ms | start | recreate | by hand (destroy, define, start) |\n|---|---|---|---|", healRounds)
	row := func(name string, of func(healing) time.Duration, hand func(manual) time.Duration) {
		cell := "–"
		if hand != nil {
			cell = strconv.FormatInt(quantile(f.ByHand, 0.5, hand).Milliseconds(), 10)
		}
		p("| %s | %d | %d | %s |",
			name, quantile(f.Start, 0.5, of).Milliseconds(), quantile(f.Recreate, 0.5, of).Milliseconds(), cell)
	}
	row("from the kill to the verdict", func(h healing) time.Duration { return h.Notice }, nil)
	row("look", func(h healing) time.Duration { return h.Look }, nil)
	row("the hypervisor's calls", func(h healing) time.Duration { return h.Calls },
		func(m manual) time.Duration { return m.Destroy + m.Define + m.Start })
	row("verification's wait (address, boot, checks)", func(h healing) time.Duration { return h.Verify },
		func(m manual) time.Duration { return m.Page })
	row("**hale's own time**", func(h healing) time.Duration { return h.Own }, nil)
	row("verdict to healed", func(h healing) time.Duration { return h.Total }, manual.total)
	row("from the kill to the first page", func(h healing) time.Duration { return h.Served }, manual.total)
	row("from the first page to verified", func(h healing) time.Duration { return h.Doubt }, nil)
	own := func(h healing) time.Duration { return h.Own }
	p("\n| hale's own time in ms | p50 | max |\n|---|---|---|")
	p("| start | %d | %d |", quantile(f.Start, 0.5, own).Milliseconds(), quantile(f.Start, 1, own).Milliseconds())
	p("| recreate | %d | %d |",
		quantile(f.Recreate, 0.5, own).Milliseconds(), quantile(f.Recreate, 1, own).Milliseconds())

	span := func(d time.Duration) time.Duration { return d }
	full := lateEvery * lateThreshold
	p("\n| a dead web server, %d faults, every %s, %d in a row | p50 | max |\n|---|---|---|",
		len(f.Detection), lateEvery, lateThreshold)
	p("| from the fault to the verdict, ms (in theory %d to %d) | %d | %d |", (full - lateEvery).Milliseconds(),
		full.Milliseconds(),
		quantile(f.Detection, 0.5, span).Milliseconds(), quantile(f.Detection, 1, span).Milliseconds())
	p("| later than interval x threshold, ms | %d | %d |", (quantile(f.Detection, 0.5, span) - full).Milliseconds(),
		(quantile(f.Detection, 1, span) - full).Milliseconds())

	p("\n| hale run, three machines | |\n|---|---|")
	p("| resident memory (of that anonymous), MiB | %.1f (%.1f) |",
		float64(f.Resident)/(1<<20), float64(f.Anonymous)/(1<<20))
	p("| idle, %% of one core over %s | %.2f |", idleFor, 100*f.Idle.Seconds()/idleFor.Seconds())
	p("| binary, MiB | %.1f |", float64(f.Binary)/(1<<20))
	p("| from the start to the first verdict, to all, ms | %d, %d |\n",
		f.FirstVerdict.Milliseconds(), f.AllVerdicts.Milliseconds())
}

// keep writes the findings where the other benchmarks' are.
func (s stage) keep(f findings) {
	dir := filepath.Join("..", "bench", "out")
	s.must(os.MkdirAll(dir, 0o755))
	text, err := json.MarshalIndent(f, "", "  ")
	s.must(err)
	s.must(os.WriteFile(filepath.Join(dir, "heal.json"), append(text, '\n'), 0o600))
}
