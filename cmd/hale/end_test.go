package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/nettest"
)

// ending is hale with fleets of three on an exec provider, which is told to end again and again at a bad moment.
type ending struct {
	*testing.T
	fleets int
	mood   string // of the provider when hale is told to end, as testdata/truth.sh knows them
	moment moment
	goesOn bool // in the end hale is started once more, to put right what there is
	dice   *rand.Rand
	dir    string // the folder of hale and of the provider
	env    []string
	inside []string // the words by which a program is run in hale's network; none: in the test's
	binary string   // empty: that of the tests
	client *api.Client
	hale   *exec.Cmd
	ended  chan struct{} // closed when it has ended
}

// moment is what hale is in when it is told to end.
type moment string

const (
	builds  moment = "builds"
	repairs moment = "repairs"
	amnesty moment = "amnesty"
)

// How long an end may take, where that is what is measured, and where the machine is busy with other tests.
const (
	judged  = 3 * time.Second
	lenient = 20 * time.Second
)

// TestHaleEndsSoon tells hale to end while it builds, repairs, or has just begun, with a provider that is well, slow,
// silent, or answers that it cannot now. It ends soon each time, and says so while it does. Its next start goes on: all
// machines are healthy in the end, and none is there twice. HALE_ENDS is how often each is tried (make ends).
func TestHaleEndsSoon(t *testing.T) {
	t.Parallel()
	times, within := 1, lenient
	combinations := []ending{
		{fleets: 100, mood: "well", moment: builds},
		{fleets: 30, mood: "transient", moment: builds},
		{fleets: 30, mood: "silent", moment: builds},
		{fleets: 1, mood: "silent", moment: builds, goesOn: true},
	}
	if said := os.Getenv("HALE_ENDS"); said != "" {
		var err error
		if times, err = strconv.Atoi(said); err != nil {
			t.Fatalf("HALE_ENDS=%s: %v; write how often", said, err)
		}
		within, combinations = judged, nil
		for _, fleets := range []int{1, 30, 100, 1000} {
			for _, mood := range []string{"well", "silent", "transient"} {
				for _, m := range []moment{builds, repairs, amnesty} {
					combinations = append(combinations, ending{fleets: fleets, mood: mood, moment: m,
						goesOn: fleets <= 30})
				}
			}
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, e := range combinations {
		t.Run(fmt.Sprintf("%d fleets, %s, %s", e.fleets, e.mood, e.moment), func(t *testing.T) {
			e.T, e.dice = t, rand.New(rand.NewPCG(seed, uint64(e.fleets)))
			n := times
			if e.fleets == 1000 {
				n = 1
			}
			e.repeat(n, within)
		})
	}
}

func (e *ending) repeat(times int, within time.Duration) {
	page := e.listen()
	var longest, sum time.Duration
	for i := range times {
		if i == 0 || e.moment != amnesty {
			e.begin(page)
		}
		e.prepare()
		took := e.end(within)
		longest, sum = max(longest, took), sum+took
	}
	log, err := os.ReadFile(e.path("log"))
	e.must(err)
	e.Logf("%d ends: %v on average, %v at most; %d times something was not waited for", times,
		(sum / time.Duration(times)).Round(time.Millisecond), longest.Round(time.Millisecond),
		strings.Count(string(log), "without waiting any longer"))
	if e.goesOn {
		e.feel("well")
		e.start()
		e.await("all are healthy", func(s api.Status) bool { return e.healthy(s) == 3*e.fleets })
		e.end(within)
		e.wantEachOnce()
	}
}

// begin makes a world without machines, and a hale that knows nothing. A folder of a short name: a socket's path is
// limited.
func (e *ending) begin(page int) {
	dir, err := os.MkdirTemp("", "hale-ends-")
	e.must(err)
	e.dir, e.client = dir, api.Dial(filepath.Join(dir, "sock"))
	e.Cleanup(func() {
		e.client.Close()
		e.must(os.RemoveAll(dir))
	})
	e.must(os.MkdirAll(e.path("truth/instances"), 0o755))
	program, err := filepath.Abs("testdata/truth.sh")
	e.must(err)
	var b strings.Builder
	fmt.Fprintf(&b, "providers: {lab: {type: exec, command: [%q], env: {TRUTH: %q}, poll: 1s}}\nfleets:\n", program,
		e.path("truth"))
	for i := range e.fleets {
		fmt.Fprintf(&b, "  f%d: {provider: lab, size: 3, checks: {page: {tcp: {port: %d}}}}\n", i, page)
	}
	e.must(os.WriteFile(e.path("hale.yaml"), []byte(b.String()), 0o600))
}

// listen is the page of all machines.
func (e *ending) listen() (port int) {
	l, err := net.Listen("tcp", "0.0.0.0:0") // all of 127.0.0.0/8 is this machine
	e.must(err)
	nettest.Serve(e, l, func(context.Context, net.Conn) {})
	return l.Addr().(*net.TCPAddr).Port
}

func (e *ending) path(name string) string { return filepath.Join(e.dir, name) }

// feel sets the provider's mood.
func (e *ending) feel(mood string) { e.write(e.path("truth/mood"), mood+"\n") }

// write replaces a file in one step: the provider may be reading it.
func (e *ending) write(file, text string) {
	e.must(os.WriteFile(e.path("new"), []byte(text), 0o600))
	e.must(os.Rename(e.path("new"), file))
}

func (e *ending) start(args ...string) {
	e.startProgram(e.program(), args...)
}

// startProgram starts another hale than the one that is tested.
func (e *ending) startProgram(program string, args ...string) {
	run := []string{"run", e.path("hale.yaml"), "--data-dir", e.path("data"), "--socket", e.path("sock")}
	e.run(e.command(program, append(run, args...)...))
}

// command is a program where hale runs.
func (e *ending) command(program string, args ...string) *exec.Cmd {
	all := append(append(slices.Clone(e.inside), program), args...)
	return exec.Command(all[0], all[1:]...)
}

// run starts a hale.
func (e *ending) run(cmd *exec.Cmd) {
	log, err := os.OpenFile(e.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	e.must(err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(os.Environ(), e.env...)
	e.must(cmd.Start())
	ended := make(chan struct{})
	go func() { // ends with the process
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		close(ended)
	}()
	e.hale, e.ended = cmd, ended
	e.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it has ended
		<-ended
	})
}

// program is hale.
func (e *ending) program() string {
	if e.binary != "" {
		return e.binary
	}
	program, err := exec.LookPath("hale")
	e.must(err)
	return program
}

// prepare starts hale, and returns at the moment, with the provider in its mood.
func (e *ending) prepare() {
	if e.moment != builds {
		e.populate()
	}
	switch e.moment {
	case builds:
		e.feel("slow")
		e.start()
		e.await("something is built",
			func(s api.Status) bool { return count(s, func(f api.Fleet) int { return f.InBuild }) > 0 })
	case repairs:
		e.await("something is repaired", func(s api.Status) bool {
			e.turnOff()
			return count(s, func(f api.Fleet) int { return f.InRepair }) > 0
		})
	case amnesty:
		e.feel(e.mood)
		e.start()
		e.await("it is up", func(api.Status) bool { return true })
	}
	if e.mood != "well" {
		e.feel(e.mood)
	}
	select {
	case <-time.After(time.Duration(e.dice.IntN(1500)) * time.Millisecond):
	case <-e.ended:
		e.Fatalf("hale ended by itself")
	}
}

// populate has hale build what there is to be. It goes on running for repairs, which it does slowly.
func (e *ending) populate() {
	if len(e.truth()) > 0 {
		return // by an earlier try
	}
	e.feel("well")
	e.start()
	e.await("all are healthy", func(s api.Status) bool { return e.healthy(s) == 3*e.fleets })
	if e.moment == amnesty {
		e.end(lenient)
		return
	}
	e.feel("slow")
}

// turnOff has a machine of every tenth fleet, and of one at least, be off.
func (e *ending) turnOff() {
	for i := 0; i < e.fleets; i += 10 {
		name := fmt.Sprintf("f%d-1", i)
		for file, is := range e.truth() {
			if strings.Contains(is, `"machine":"`+name+`"`) {
				e.write(file, strings.Replace(is, `"power":"running"`, `"power":"off"`, 1))
			}
		}
	}
}

// truth returns the provider's files.
func (e *ending) truth() map[string]string {
	files, err := filepath.Glob(e.path("truth/instances/*[0-9a-f]"))
	e.must(err)
	all := map[string]string{}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil { // else it was deleted since
			all[f] = string(b)
		}
	}
	return all
}

var machineOf = regexp.MustCompile(`"machine":"([^"]*)"`)

// wantEachOnce wants each machine to have one instance.
func (e *ending) wantEachOnce() {
	e.Helper()
	has := map[string]int{}
	for _, is := range e.truth() {
		if m := machineOf.FindStringSubmatch(is); m != nil {
			has[m[1]]++
		}
	}
	for name, n := range has {
		if n != 1 {
			e.Errorf("%s has %d instances", name, n)
		}
	}
	if len(has) != 3*e.fleets {
		e.Errorf("%d machines have an instance, want %d", len(has), 3*e.fleets)
	}
}

// end tells hale to end, and returns how long that took. What it answers meanwhile does not pass for how things stand.
func (e *ending) end(within time.Duration) time.Duration {
	e.Helper()
	told := time.Now()
	e.must(e.hale.Process.Signal(syscall.SIGTERM))
	limit := time.NewTimer(within)
	defer limit.Stop()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-e.ended:
			if !e.hale.ProcessState.Success() {
				e.Fatalf("hale ended with %v", e.hale.ProcessState)
			}
			return time.Since(told)
		case <-look.C:
			asked := time.Since(told)
			if s, err := e.client.Status(e.Context()); err == nil && !s.Stopping && asked > time.Second {
				e.Fatalf("%v after it was told to end, hale answers as if it worked", asked)
			}
		case <-limit.C:
			e.Fatalf("hale has not ended after %v", within)
		}
	}
}

func (e *ending) await(what string, holds func(api.Status) bool) {
	e.Helper()
	e.until(what, func() bool {
		s, err := e.client.Status(e.Context())
		return err == nil && holds(s)
	})
}

// until waits for what holds while hale runs.
func (e *ending) until(what string, holds func() bool) {
	e.Helper()
	limit := time.NewTimer(2*patience + time.Duration(e.fleets)*time.Second)
	defer limit.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-e.ended:
			log, _ := os.ReadFile(e.path("log"))
			e.Fatalf("hale ended by itself: %s", log)
		case <-limit.C:
			e.Fatalf("not in time: %s", what)
		}
		if holds() {
			return
		}
	}
}

func (e *ending) healthy(s api.Status) int {
	return count(s, func(f api.Fleet) int { return f.Healthy })
}

func count(s api.Status, of func(api.Fleet) int) int {
	n := 0
	for _, f := range s.Fleets {
		n += of(f)
	}
	return n
}

func (e *ending) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}
