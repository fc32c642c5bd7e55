package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/etcdtest"
	"hale/internal/testbed/powercut"
)

// TestS16S17S54Faults has three hale servers look after machines, over three etcd members, all of them processes, while
// machines fail at the rate and in the clusters of a published trace, and faults come at random: servers and members
// are killed, stand still, are cut off in one direction or in both; members lose power, or their disk is full; the
// provider's answers are late, or lost. It records each call, and does what it was asked for also when the caller dies.
// An operator takes the brake off where machines really failed. In the end all machines are healthy, and the record is
// judged: L1, L7, L12, and whether there is an order of all calls in which each is the active server's. By etcd's own
// history one server at a time was the active one, and took fleets (L7).
//
// HALE_FAULTS is for how long (make test-faults), HALE_FAULTS_MACHINES how many machines, HALE_FAULTS_FLEETS in how
// many fleets, HALE_FAULTS_SEED the dice, HALE_FAULTS_EVERY how often a machine fails, HALE_FAULTS_LONGEST how long a
// fault lasts at most, HALE_FAULTS_ONLY which faults come, and HALE_FAULTS_PROGRAM another hale. Without HALE_FAULTS
// each fault comes once, for half a second.
func TestS16S17S54Faults(t *testing.T) {
	t.Parallel()
	s := newStorm(t)
	s.build()
	s.rage()
	defer s.judgeRecord() // also where not all is well in the end
	s.calm()
}

// storm is what happens to three servers and three members.
type storm struct {
	*together
	first    *ending
	dice     *rand.Rand
	program  string
	lasts    time.Duration
	machines int
	fleets   int
	every    time.Duration  // how often a machine fails; 0: as often as in the trace
	longest  time.Duration  // that a fault lasts
	only     *regexp.Regexp // which faults come; nil: all
	short    bool           // the dose of make test
	names    []string
	pids     map[int]string
	members  []*etcdtest.Member
	disks    []*powercut.Mounted // nil: none can be mounted
	wires    map[string][]*wire  // of each server, to each member
	peers    []*wire             // to each member, of the others
	log      *os.File
	history  *history
	happened map[string]int
	failed   int // machines
	braked   int // how often the operator took a brake off
}

func newStorm(t *testing.T) *storm {
	t.Helper()
	s := &storm{together: &together{T: t, all: map[string]*ending{}},
		lasts: 8 * time.Second, machines: 9, every: 2 * time.Second, short: true, longest: time.Minute,
		names: []string{"hale-a", "hale-b", "hale-c"}, pids: map[int]string{}, wires: map[string][]*wire{},
		happened: map[string]int{}, program: os.Getenv("HALE_FAULTS_PROGRAM")}
	seed := uint64(time.Now().UnixNano())
	for _, said := range []struct {
		key string
		set func(string) error
	}{
		{"HALE_FAULTS", func(is string) (err error) {
			s.lasts, err = time.ParseDuration(is)
			s.short, s.machines, s.every = false, 1000, 0
			return err
		}},
		{"HALE_FAULTS_SEED", func(is string) (err error) {
			seed, err = strconv.ParseUint(is, 10, 64)
			return err
		}},
		{"HALE_FAULTS_MACHINES", func(is string) (err error) {
			s.machines, err = strconv.Atoi(is)
			return err
		}},
		{"HALE_FAULTS_FLEETS", func(is string) (err error) {
			s.fleets, err = strconv.Atoi(is)
			return err
		}},
		{"HALE_FAULTS_EVERY", func(is string) (err error) {
			s.every, err = time.ParseDuration(is)
			return err
		}},
		{"HALE_FAULTS_LONGEST", func(is string) (err error) {
			s.longest, err = time.ParseDuration(is)
			return err
		}},
		{"HALE_FAULTS_ONLY", func(is string) (err error) {
			s.only, err = regexp.Compile(is)
			return err
		}},
	} {
		if is := os.Getenv(said.key); is != "" {
			if err := said.set(is); err != nil {
				t.Fatalf("%s=%s: %v", said.key, is, err)
			}
		}
	}
	if s.fleets == 0 {
		s.fleets = max(1, s.machines/100)
	}
	t.Logf("seed %d: %d machines, for %v", seed, s.machines, s.lasts)
	s.dice = rand.New(rand.NewPCG(seed, 0))
	return s
}

// build starts all of it, and waits until the machines are there.
func (s *storm) build() {
	s.beginMembers()
	for _, name := range s.names {
		e := &ending{T: s.T, fleets: s.fleets}
		if s.first == nil {
			s.first, s.page = e, e.listen()
		}
		e.begin(s.page)
		s.all[name] = e
		for _, m := range s.members {
			s.wires[name] = append(s.wires[name], stretch(s.T, strings.TrimPrefix(m.URL, "http://")))
		}
		s.describe(name)
	}
	s.Cleanup(s.tell)
	s.first.feel("well")
	s.first.write(s.first.path("truth/calls"), "")
	for _, name := range s.names {
		s.begin(name)
	}
	s.await("the machines are built", time.Duration(s.machines)*time.Second)
	s.first.feel("late") // so that calls are under way when something happens
}

func (s *storm) beginMembers() {
	s.log = s.file("etcd.log")
	var dirs [3]string
	for i := range dirs {
		dirs[i] = filepath.Join(s.TempDir(), "etcd")
		if disk := mountDisk(s.T, !s.short); disk != nil {
			s.disks = append(s.disks, disk)
			dirs[i] = filepath.Join(disk.Dir, "etcd")
		}
	}
	s.members = etcdtest.Members(s.T, dirs, func(address string) string {
		w := stretch(s.T, address)
		s.peers = append(s.peers, w)
		return w.at
	})
	for _, m := range s.members {
		m.Begin(s.log)
	}
	at := make([]string, len(s.members))
	for i, m := range s.members {
		m.Ready()
		at[i] = m.URL
	}
	s.history = remember(s.T, at)
}

func (s *storm) file(name string) *os.File {
	f, err := os.Create(filepath.Join(s.TempDir(), name))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if text, err := os.ReadFile(f.Name()); err == nil && s.Failed() {
			s.Logf("%s:\n%s", name, text[max(0, len(text)-10_000):])
		}
		_ = f.Close()
	})
	return f
}

// describe writes a server's file.
func (s *storm) describe(name string) {
	program, err := filepath.Abs("testdata/truth.sh")
	s.first.must(err)
	var at []string
	for _, w := range s.wires[name] {
		at = append(at, strconv.Quote("http://"+w.at))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "state: {etcd: {endpoints: [%s]}}\n", strings.Join(at, ", "))
	fmt.Fprintf(&b, "providers: {lab: {type: exec, command: [%q], env: {TRUTH: %q}, poll: 2s}}\nfleets:\n", program,
		s.first.path("truth"))
	for i := range s.fleets {
		fmt.Fprintf(&b, "  f%d:\n    {provider: lab, size: %d, checks: {page: {tcp: {port: %d}, every: 2s}},\n"+
			"    repair: {steps: [start: {}, recreate: {}], attempts: 100 in 1h, backoff: 0s},\n"+
			"    limits: {in_repair: %d, brake: {percent: 90%%}}}\n", i, s.machines/s.fleets, s.page,
			min(5, s.machines))
	}
	s.all[name].write(s.all[name].path("hale.yaml"), b.String())
}

// begin starts a server.
func (s *storm) begin(name string) {
	e := s.all[name]
	if s.program == "" {
		e.start("--server", name)
	} else {
		e.startProgram(s.program, "--server", name)
	}
	s.pids[e.hale.Process.Pid] = name
}

// well reports whether an active server says that all machines are healthy, nothing is under way, and the machines run.
func (s *storm) well() (is bool, said string) {
	for _, name := range s.names {
		ctx, cancel := context.WithTimeout(s.Context(), 3*time.Second)
		status, err := s.all[name].client.Status(ctx)
		cancel()
		if err != nil {
			continue
		}
		runs := s.running()
		s.takeBrakesOff(name, status, runs)
		healthy := s.first.healthy(status)
		said = fmt.Sprintf("%s: %d of %d machines are healthy", name, healthy, s.machines)
		busy := slices.ContainsFunc(status.Fleets, func(f api.Fleet) bool { return f.InRepair+f.InBuild > 0 })
		if is = healthy == s.machines && !busy && len(runs) == s.machines; is { // it may not have seen a failure yet
			return is, said
		}
	}
	return false, said
}

// running are the machines that run by the provider's word.
func (s *storm) running() map[string]bool {
	runs := map[string]bool{}
	for _, text := range s.first.truth() {
		if m := machineOf.FindStringSubmatch(text); m != nil && strings.Contains(text, `"power":"running"`) {
			runs[m[1]] = true
		}
	}
	return runs
}

// takeBrakesOff is the operator, who looks at the provider when a brake is on. Where machines really do not run, it
// holds back what is needed.
func (s *storm) takeBrakesOff(name string, is api.Status, runs map[string]bool) {
	for _, f := range is.Fleets {
		fails := slices.ContainsFunc(f.Machines, func(m api.Machine) bool { return !runs[m.Name] })
		if !f.Brake.Engaged || !fails {
			continue
		}
		ctx, cancel := context.WithTimeout(s.Context(), 3*time.Second)
		_, err := s.all[name].client.Order(ctx, api.OrderRequest{Kind: "brake-off", Subjects: []string{f.Name},
			Reason: "these machines do not run"})
		cancel()
		if err == nil { // else it is given again, to who looks after the fleets then
			s.braked++
		}
	}
}

func (s *storm) await(what string, within time.Duration) {
	s.Helper()
	limit := time.Now().Add(within + patience)
	for {
		is, said := s.well()
		if is {
			return
		}
		if time.Now().After(limit) {
			s.Fatalf("not in time: %s; %s", what, said)
		}
		pause(s.Context(), 200*time.Millisecond)
	}
}

// rage lets machines fail, and faults come, for as long as the storm lasts.
func (s *storm) rage() {
	end := time.Now().Add(s.lasts)
	ctx, stop := context.WithDeadline(s.Context(), end)
	defer stop()
	failing, operating := make(chan struct{}), make(chan struct{})
	go func() { // ends with ctx
		defer close(operating)
		for ctx.Err() == nil {
			s.well()
			pause(ctx, 2*time.Second)
		}
	}()
	dice := rand.New(rand.NewPCG(s.dice.Uint64(), 1))
	go func() { // ends with ctx
		defer close(failing)
		for ctx.Err() == nil {
			pause(ctx, s.gap(dice))
			s.failOne(dice)
		}
	}()
	for _, f := range s.faults() {
		if s.short && ctx.Err() == nil {
			s.meet(ctx, f)
		}
	}
	for !s.short && ctx.Err() == nil {
		all := s.faults()
		s.meet(ctx, all[s.dice.IntN(len(all))])
		pause(ctx, time.Duration(s.dice.Int64N(int64(min(2*s.longest, 20*time.Second)))))
	}
	stop()
	<-failing
	<-operating
}

func (s *storm) meet(ctx context.Context, f calamity) {
	s.happened[f.name]++
	s.Logf("%s %s", time.Now().Format(time.TimeOnly), f.name)
	f.happens(ctx)
}

// The trace is that of 18,387 failures of SSDs in two years, on 12,033 nodes: a year of it passes in an hour. Shorter
// storms and smaller fleets have failures more often, so that there are some. The gaps are those of Grid'5000's fit, a
// Weibull of shape 0.48: failures come in clusters.
func (s *storm) gap(dice *rand.Rand) time.Duration {
	perHour := 18_387.0 / 2 * float64(s.machines) / 12_033
	mean := min(float64(time.Hour)/perHour, float64(10*time.Second))
	if s.every > 0 {
		mean = float64(s.every)
	}
	const shape = 0.48
	scale := mean / math.Gamma(1+1/shape)
	return time.Duration(scale * math.Pow(-math.Log(1-dice.Float64()), 1/shape))
}

// failOne turns a machine off, or has it vanish.
func (s *storm) failOne(dice *rand.Rand) {
	files, err := filepath.Glob(s.first.path("truth/instances/*[0-9a-f]"))
	s.first.must(err)
	if len(files) == 0 {
		return
	}
	file := files[dice.IntN(len(files))]
	is, err := os.ReadFile(file)
	machine := machineOf.FindSubmatch(is)
	if err != nil || machine == nil {
		return // it was removed since
	}
	s.failed++
	if dice.IntN(2) == 0 {
		text := strings.Replace(string(is), `"power":"running"`, `"power":"off"`, 1)
		s.first.must(os.WriteFile(file+".failing.new", []byte(text), 0o600)) // no listing reads it
		s.first.must(os.Rename(file+".failing.new", file))
		return
	}
	if err := os.Remove(file); err != nil {
		return
	}
	s.note(vanishes, filepath.Base(file), string(machine[1]))
}

// note writes what the test did into the provider's record.
func (s *storm) note(what, id, machine string) {
	calls, err := os.OpenFile(s.first.path("truth/calls"), os.O_APPEND|os.O_WRONLY, 0)
	s.first.must(err)
	_, err = fmt.Fprintf(calls, "%d 0 %s %s %s\n", time.Now().UnixNano(), what, id, machine)
	s.first.must(errors.Join(err, calls.Close()))
}

// calm ends all faults, and waits until all is well.
func (s *storm) calm() {
	s.first.feel("late")
	for _, name := range s.names {
		for _, w := range s.wires[name] {
			w.there.open()
			w.way.open()
		}
	}
	s.await("all machines are healthy after the storm", 2*time.Minute+time.Duration(s.machines)*time.Second)
}

// judgeRecord judges what happened by the provider's record.
func (s *storm) judgeRecord() {
	offices := (&wrecker{together: s.together, names: s.names, first: s.first}).offices()
	calls := callsOf(s.T, s.calls(s.first), s.pids)
	for _, found := range againstLaws(calls, offices) {
		s.Error(found)
	}
	changes := s.history.end(s.T)
	for _, found := range againstOwnership(changes) {
		s.Error(found)
	}
	if !slices.ContainsFunc(changes, func(c change) bool { return c.key == officeKey }) {
		s.Error("by etcd's history no server was ever the active one")
	}
	if !linearizable(calls, offices) {
		s.Error("there is no order of the calls in which each is the active server's")
	}
	has := map[string]int{}
	for _, is := range s.first.truth() {
		if m := machineOf.FindStringSubmatch(is); m != nil {
			has[m[1]]++
		}
	}
	for name, n := range has {
		if n != 1 {
			s.Errorf("L1: %s has %d instances", name, n)
		}
	}
	if len(has) != s.machines {
		s.Errorf("%d machines have an instance, want %d", len(has), s.machines)
	}
	s.Logf("%d machines failed, %d offices, %d calls, %d changes of owners, %d brakes taken off; faults: %v", s.failed,
		len(offices), len(calls), len(changes), s.braked, s.happened)
}

// calamity is a fault.
type calamity struct {
	name    string
	happens func(ctx context.Context)
}
