package external_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/program/programtest"
	"hale/internal/provider"
	"hale/internal/provider/external"
	"hale/internal/secret"
)

// said is what a program with every ability says of itself.
const said = `{"result": {"contract": 1, "name": "t", "abilities": ["resume", "soft-reboot", "rebuild", "keep", "snapshot", "adjust", "ping-guest", "usage", "console", "screenshot", "starts", "disks", "watch"]}}`

// script writes a program that describes itself, and runs the text for every other operation, which is in $op, with the
// request in $request.
func script(t *testing.T, text string) []string {
	t.Helper()
	return []string{programtest.Script(t, "provider",
		"read -r request\nop=${request#*operation\\\":\\\"}\nop=${op%%\\\"*}\n"+
			`[ "$op" = describe ] && { echo '`+said+"'; exit 0; }\n"+text)}
}

func open(t *testing.T, o external.Options) *external.Provider {
	t.Helper()
	p, err := external.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

var (
	ref   = provider.Ref{ID: "i-1", Mark: fleet.Mark{Installation: "x", Fleet: "web", Machine: "web-1", Generation: 2}}
	order = provider.Blueprint{Ref: ref, Name: "web-1", Template: policy.Template{Memory: 1 << 20, CPUs: 1}}
	name  = fleet.SnapshotName{Installation: "x", Machine: "web-1", ID: "s-1"}
)

// changes is every call that changes something.
func changes(p *external.Provider) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"start":         func(ctx context.Context) error { return p.Start(ctx, ref) },
		"reboot":        func(ctx context.Context) error { return p.Reboot(ctx, ref) },
		"power-off":     func(ctx context.Context) error { return p.PowerOff(ctx, ref) },
		"create":        func(ctx context.Context) error { return p.Create(ctx, order) },
		"delete":        func(ctx context.Context) error { return p.Delete(ctx, ref) },
		"certify":       func(ctx context.Context) error { return p.Certify(ctx, ref) },
		"resume":        func(ctx context.Context) error { return p.Resume(ctx, ref) },
		"soft-reboot":   func(ctx context.Context) error { return p.RebootSoft(ctx, ref) },
		"rebuild":       func(ctx context.Context) error { return p.Rebuild(ctx, order) },
		"adjust":        func(ctx context.Context) error { return p.Adjust(ctx, order) },
		"keep":          func(ctx context.Context) error { return p.Keep(ctx, ref, "web-1") },
		"restore":       func(ctx context.Context) error { return p.Restore(ctx, ref, "web-1") },
		"snapshot":      func(ctx context.Context) error { _, err := p.Snapshot(ctx, ref, name); return err },
		"note-start":    func(ctx context.Context) error { return p.NoteStart(ctx, "hale", "1-a") },
		"forget-start":  func(ctx context.Context) error { return p.ForgetStart(ctx, "hale", "1-a") },
		"drop-snapshot": func(ctx context.Context) error { return p.DropSnapshot(ctx, name) },
	}
}

// reads is every call that only looks.
func reads(p *external.Provider) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"identity":   func(ctx context.Context) error { _, err := p.Identity(ctx); return err },
		"list":       func(ctx context.Context) error { _, err := p.List(ctx); return err },
		"get":        func(ctx context.Context) error { _, err := p.Get(ctx, ref); return err },
		"ping-guest": func(ctx context.Context) error { return p.PingGuest(ctx, ref) },
		"usage":      func(ctx context.Context) error { _, err := p.Usage(ctx, []provider.Ref{ref}); return err },
		"console":    func(ctx context.Context) error { _, err := p.Console(ctx, ref, 10); return err },
		"starts":     func(ctx context.Context) error { _, err := p.Starts(ctx, "hale"); return err },
		"screenshot": func(ctx context.Context) error { _, err := p.Screenshot(ctx, ref, 10); return err },
	}
}

// Whatever a program does, a change without a plain answer has an unknown outcome: it may have taken effect.
func TestAChangeWithoutAPlainAnswerHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		read fault.Kind // of calls that only look
		want string
	}{
		"it says nothing": {"exit 0", fault.Transient, "exit code 0 and without an answer"},
		"it fails": {
			"echo 'no such socket' >&2; exit 3",
			fault.Transient,
			"exit code 3 and without an answer; it said: no such socket",
		},
		"it is killed":             {"kill -9 $$", fault.Transient, "a signal"},
		"it says what is no JSON":  {"echo Hello, world", fault.Permanent, `begins with "Hello, world"`},
		"it says half":             {`printf '{"result": {'`, fault.Permanent, `begins with "{\"result\": {"`},
		"it says two things":       {`echo '{"result": {}} {"result": {}}'`, fault.Permanent, "not one JSON object"},
		"it has both":              {`echo '{"result": {}, "error": {"kind": "transient"}}'`, fault.Permanent, "both"},
		"it has neither":           {`echo '{}'`, fault.Permanent, "neither"},
		"a result that is null":    {`echo '{"result": null}'`, fault.Permanent, "neither"},
		"a kind that there is not": {`echo '{"error": {"kind": "oops"}}'`, fault.Permanent, `kind is "oops"`},
		"the lease is hale's": {
			`echo '{"error": {"kind": "lease lost"}}'`,
			fault.Permanent,
			`kind is "lease lost"`,
		},
		"a result, and it fails":    {`echo '{"result": {}}'; exit 1`, fault.Transient, "ended with exit code 1"},
		"a result of another shape": {`echo '{"result": []}'`, fault.Permanent, "cannot be read"},
		"far too much": {
			"yes '{\"result\": {}}' | head -c 70000000",
			fault.Permanent,
			"longer than 64 MiB",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, external.Options{Command: script(t, c.text)})
			few := map[string]bool{"create": true, "list": true}
			for op, call := range changes(p) {
				if name == "far too much" && !few[op] {
					continue
				}
				if err := call(t.Context()); !fault.Is(err, fault.UnknownOutcome) ||
					!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "external."+op) {
					t.Errorf("%s: %.300v", op, err)
				}
			}
			for op, call := range reads(p) {
				if name == "far too much" && !few[op] {
					continue
				}
				if err := call(t.Context()); !fault.Is(err, c.read) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %.300v", op, err)
				}
			}
		})
	}
}

// Each change takes effect and its answer does not come in time: the outcome is unknown, it was done once, and the
// program is gone with all that it started.
func TestAChangeThatTakesEffectAndTimesOutIsDoneOnceAndLeavesNoProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := open(t,
		external.Options{
			Parallel: 20,
			Command:  script(t, `echo $$ >>"$DIR/$op"; sleep 600 & echo $! >>"$DIR/$op"; wait`),
			Env:      []secret.Named{{Name: "DIR", Plain: dir}},
		})
	if _, err := p.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for op, call := range changes(p) {
		calls.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer cancel()
				if !eventually(t, func() bool { return len(lines(t, filepath.Join(dir, op))) == 2 }) {
					t.Errorf("%s never took effect", op)
				}
			}()
			if err := call(ctx); !fault.Is(err, fault.UnknownOutcome) {
				t.Errorf("%s: %v", op, err)
			}
			pids := lines(t, filepath.Join(dir, op))
			if len(pids) != 2 || !eventually(t, func() bool { return gone(t, pids[0]) && gone(t, pids[1]) }) {
				t.Errorf("%s left processes, of %q", op, pids)
			}
		})
	}
	calls.Wait()
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	return strings.Fields(string(text))
}

func gone(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Error(err)
	}
	if syscall.Kill(n, 0) != nil {
		return true
	}
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || strings.Contains(string(text), ") Z ")
}

func eventually(t *testing.T, holds func() bool) bool {
	t.Helper()
	tick, end := time.NewTicker(5*time.Millisecond), time.NewTimer(30*time.Second)
	defer tick.Stop()
	defer end.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end.C:
			return false
		}
	}
	return true
}

func TestWhatAProgramSaysIsReadWithCare(t *testing.T) {
	t.Parallel()
	instance := `"id": "i-1", "name": "web-1", "power": "running"`
	for name, c := range map[string]struct{ list, want string }{
		"nothing is there":      {`{"instances": []}`, ""},
		"one":                   {`{"instances": [{` + instance + `}]}`, ""},
		"no id":                 {`{"instances": [{"name": "web-1", "power": "off"}]}`, "has no id"},
		"no name":               {`{"instances": [{"id": "i-1", "power": "off"}]}`, "has no name"},
		"an unknown power":      {`{"instances": [{"id": "i-1", "name": "n", "power": "up"}]}`, `power is "up"`},
		"an unknown stop":       {`{"instances": [{` + instance + `, "stop": "whim"}]}`, `stop is "whim"`},
		"gone is hale's to say": {`{"instances": [{"id": "i-1", "name": "n", "power": "gone"}]}`, `power is "gone"`},
		"no address":            {`{"instances": [{` + instance + `, "address": "nowhere"}]}`, "nowhere"},
		"half a mark":           {`{"instances": [{` + instance + `, "mark": {"machine": "web-1"}}]}`, "mark lacks"},
		"twice":                 {`{"instances": [{` + instance + `}, {` + instance + `}]}`, "there twice"},
		"an unnamed host":       {`{"instances": [{` + instance + `, "host": "h9"}]}`, `host "h9"`},
		"no hosts":              {`{"instances": [], "hosts": []}`, "names no host"},
		"a host twice":          {`{"instances": [], "hosts": [{"name": "a"}, {"name": "a"}]}`, "there twice"},
		"one host is down": {
			`{"instances": [], "hosts": [{"name": "a"}, {"name": "b", "error": {"kind": "transient", "message": "m"}}]}`,
			"",
		},
		"on a host that is down": {
			`{"instances": [{` + instance +
				`, "host": "b"}], "hosts": [{"name": "a"}, {"name": "b", "error": {"kind": "transient"}}]}`,
			"not among",
		},
		"all hosts are down": {
			`{"instances": [], "hosts": [{"name": "b", "error": {"kind": "transient", "message": "power cut"}}]}`,
			"power cut",
		},
		"a host's odd error": {
			`{"instances": [], "hosts": [{"name": "b", "error": {"kind": "oops"}}]}`,
			`kind is "oops"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, external.Options{Command: script(t, `echo '{"result": `+c.list+`}'`)})
			_, err := p.List(t.Context())
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestAnAnswerAboutAnotherInstanceIsNone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"another id":   `{"instance": {"id": "i-2", "name": "n", "power": "off"}}`,
		"another host": `{"instance": {"id": "i-1", "host": "h", "name": "n", "power": "off"}}`,
		"none":         `{}`,
	} {
		p := open(t, external.Options{Command: script(t, `echo '{"result": `+answer+`}'`)})
		if _, err := p.Get(t.Context(), ref); !fault.Is(err, fault.Permanent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAProgramsOwnErrorKeepsItsKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []fault.Kind{
		fault.NotFound, fault.Conflict, fault.Throttled, fault.Quota, fault.Transient, fault.Permanent, fault.NoSpace,
		fault.UnknownOutcome, fault.Locked,
	} {
		p := open(t, external.Options{
			Command: script(t, fmt.Sprintf(`echo '{"error": {"kind": %q, "message": "so it is"}}'; exit 1`, kind)),
		})
		if err := p.Create(t.Context(), order); !fault.Is(err, kind) || !strings.Contains(err.Error(), "so it is") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestWhatAProgramDoesNotHaveItIsNotAskedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := script(t, `echo "$op" >>"$DIR/asked"; echo '{"result": {}}'`)
	text, err := os.ReadFile(plain[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := programtest.Write(plain[0],
		strings.Replace(string(text), said, `{"result": {"contract": 1, "name": "t", "abilities": []}}`,
			1)); err != nil {
		t.Fatal(err)
	}
	p := open(t, external.Options{Command: plain, Env: []secret.Named{{Name: "DIR", Plain: dir}}})
	worded := []string{"resume", "soft-reboot", "rebuild", "adjust", "keep", "restore", "snapshot", "drop-snapshot"}
	wordless := provider.Cannot(p) // the contract has no word for these
	for _, op := range worded {
		if slices.Contains(wordless, fleet.Op(op)) {
			t.Errorf("before it is asked it is said to lack %q", op)
		}
	}
	if err := p.Start(t.Context(), ref); err != nil {
		t.Error(err)
	}
	for _, op := range worded {
		if err := changes(p)[op](t.Context()); !fault.Is(err, fault.Unsupported) {
			t.Errorf("%s: %v", op, err)
		}
	}
	with := order
	with.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 20}}
	if err := p.Create(t.Context(), with); !fault.Is(err, fault.Unsupported) {
		t.Errorf("a disk with data: %v", err)
	}
	if lacks := provider.Cannot(p); len(lacks) != len(worded)+len(wordless) {
		t.Errorf("it lacks %q", lacks)
	}
	if asked := lines(t, filepath.Join(dir, "asked")); len(asked) != 1 || asked[0] != "start" {
		t.Errorf("it was asked for %q", asked)
	}
}

func TestAProgramThatIsNotThereOrSpeaksOtherwiseChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command []string
		want    fault.Kind
	}{
		"missing":         {[]string{"/nonexistent/provider"}, fault.Transient},
		"another version": {[]string{"/bin/echo", `{"result": {"contract": 2, "name": "t"}}`}, fault.Invalid},
		"an odd ability": {
			[]string{"/bin/echo", `{"result": {"contract": 1, "name": "t", "abilities": ["fly"]}}`},
			fault.Invalid,
		},
		"no words": {[]string{"/bin/true"}, fault.Transient},
	} {
		p := open(t, external.Options{Command: c.command})
		for op, call := range changes(p) {
			if err := call(t.Context()); !fault.Is(err, c.want) {
				t.Errorf("%s: %s: %v", name, op, err)
			}
		}
	}
}

// TestS75AProgramsSecretsAreInItsEnvironmentAndNowhereElse: not in arguments, logs or errors, whatever the program
// says.
func TestS75AProgramsSecretsAreInItsEnvironmentAndNowhereElse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("hunter2-and-more"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, err := secret.File(path)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o := external.Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Env:    []secret.Named{{Name: "TOKEN", Secret: kept}},
		Command: script(t,
			`[ "$op" = list ] && [ "$TOKEN" = hunter2-and-more ] && { echo '{"result": {"instances": []}}'; exit; }
echo "my token is $TOKEN" >&2; [ "$op" = start ] && { echo "$TOKEN"; exit; }; echo "{\"error\": {\"kind\": \"permanent\", \"message\": \"$TOKEN is refused\"}}"`),
	}
	p := open(t, o)
	if _, err := p.List(t.Context()); err != nil {
		t.Error(err)
	}
	said := fmt.Sprint(p.Start(t.Context(), ref), p.Reboot(t.Context(), ref), log.String())
	if strings.Contains(said, "hunter2") || strings.Count(said, "[secret]") < 4 {
		t.Error(said)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), ref); !fault.Is(err, fault.Unauthorised) {
		t.Errorf("without its secret: %v", err)
	}
}

func TestWhatAProgramComplainsOfIsLoggedWithinBounds(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := open(t, external.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Command: script(t, `seq 1 1000 >&2; head -c 100000 /dev/zero | tr '\0' x >&2; echo '{"result": {}}'`)})
	if err := p.Start(t.Context(), ref); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "\n"); n != 20 || log.Len() > 10_000 ||
		!strings.Contains(log.String(), "more than hale logs") {
		t.Errorf("%d lines, %d bytes", n, log.Len())
	}
}

func TestAMistypedKeyIsSaidOnceAndAnErrorInAnExamination(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	command := script(t,
		`echo '{"result": {"instances": [{"id": "i-1", "name": "n", "power": "running", "adress": "10.0.0.1"}]}}'`)
	p := open(t, external.Options{Command: command, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		if _, err := p.List(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if strings.Count(log.String(), "adress") != 1 {
		t.Error(log.String())
	}
	strict := open(t, external.Options{Command: command, Strict: true})
	if _, err := strict.List(t.Context()); err == nil || !strings.Contains(err.Error(), `unknown field "adress"`) {
		t.Error(err)
	}
}

// A call that finds no place waits for one, and has changed nothing when its time is over.
func TestOnlySoManyProgramsRunAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := open(t, external.Options{Parallel: 1, Env: []secret.Named{{Name: "DIR", Plain: dir}},
		Command: script(t,
			`[ "$op" = list ] && { echo '{"result": {"instances": []}}'; exit; }; echo "$op" >>"$DIR/begun"; sleep 600`)})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- p.Start(ctx, ref) }()
	if !eventually(t, func() bool { return len(lines(t, filepath.Join(dir, "begun"))) == 1 }) {
		t.Fatal("the first never began")
	}
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if err := p.Delete(short, ref); !fault.Is(err, fault.Transient) {
		t.Errorf("the second: %v", err)
	}
	if _, err := p.List(t.Context()); err != nil {
		t.Errorf("reads have places of their own: %v", err)
	}
	cancel()
	if err := <-first; !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("the first: %v", err)
	}
	if begun := lines(t, filepath.Join(dir, "begun")); len(begun) != 1 {
		t.Errorf("begun: %q", begun)
	}
}

// A watch that ends is begun again; a line that is no event ends it; and it notices that hale is gone.
func TestAWatchIsBegunAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := open(t, external.Options{Env: []secret.Named{{Name: "DIR", Plain: dir}}, Command: script(t, `
echo x >>"$DIR/runs"
case $(wc -l <"$DIR/runs") in
1) echo '{}'; exit 1 ;;
2) echo nonsense; sleep 600 ;;
*) echo '{"instance": "i-7"}'; cat; echo x >>"$DIR/alone" ;;
esac`)})
	heard := make(chan provider.Event, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Watch(ctx, func(e provider.Event) { heard <- e }) }()
	for _, want := range []provider.Event{{}, {Instance: "i-7"}} {
		if got := <-heard; got != want {
			t.Errorf("heard %+v, want %+v", got, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if alone := lines(t, filepath.Join(dir, "alone")); len(alone) != 0 {
		t.Error("its standard input was closed while it was wanted")
	}
}

// TestAMarkCountsOnItsInstanceOnly: whatever a program gives back, a mark that names another instance is none, and
// one that an older hale wrote counts.
func TestAMarkCountsOnItsInstanceOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instance string
		counts   bool
	}{
		"its own":         {`, "instance": "i-1"`, true},
		"an older hale's": {"", true},
		"another's":       {`, "instance": "i-9"`, false},
	} {
		mark := `{"installation": "x", "machine": "web-1", "generation": 2` + c.instance + `}`
		one := `{"id": "i-1", "name": "web-1", "power": "off", "mark": ` + mark + `}`
		p := open(t, external.Options{Command: script(t, `case $op in
get) echo '{"result": {"instance": `+one+`}}' ;;
*) echo '{"result": {"instances": [`+one+`]}}' ;;
esac`)})
		seen, err := p.Get(t.Context(), ref)
		if err != nil || (seen.Mark.Machine == "web-1") != c.counts {
			t.Errorf("%s: %+v, %v", name, seen, err)
		}
		l, err := p.List(t.Context())
		if err != nil || len(l.Instances) != 1 || l.Instances[0].Mark != seen.Mark {
			t.Errorf("%s: listed as %+v, %v", name, l, err)
		}
	}
}

// TestAProgramHearsWhichHostsNeedNotAnswer: hosts that say that they are independent, and an order that excuses one
// of them; what is built bears a mark that names it.
func TestAProgramHearsWhichHostsNeedNotAnswer(t *testing.T) {
	t.Parallel()
	p := open(t, external.Options{Command: script(t, `case $op in
list) echo '{"result": {"instances": [], "hosts": [{"name": "a", "independent": true}, {"name": "b"}]}}'; exit 0 ;;
esac
case "$request" in
*'"excused":["b","c"]'*'"instance":"i-1"'* | *'"instance":"i-1"'*'"excused":["b","c"]'*) echo '{"result": {}}' ;;
*) echo '{"error": {"kind": "transient", "message": "b does not answer"}}' ;;
esac`)})
	l, err := p.List(t.Context())
	if err != nil || len(l.Hosts) != 2 || !l.Hosts[0].Independent || l.Hosts[1].Independent {
		t.Errorf("%+v, %v", l, err)
	}
	o := order
	if err := p.Create(t.Context(), o); !fault.Is(err, fault.Transient) {
		t.Errorf("without an excused host: %v", err)
	}
	o.Excused = []fleet.HostName{"b", "c"}
	if err := p.Create(t.Context(), o); err != nil {
		t.Errorf("with the others excused: %v", err)
	}
}

// What instances use is what the program counts; nonsense is no answer.
func TestUsageIsWhatTheProgramCounts(t *testing.T) {
	t.Parallel()
	read := func(answer string) (map[fleet.InstanceID]provider.Usage, error) {
		p := open(t, external.Options{Command: script(t,
			`case "$request" in *'"instances":[{"id":"i-1","host":"h"}]'*) ;; *) exit 9;; esac
echo '{"result": {"usage": `+answer+`}}'`)})
		return p.Usage(t.Context(), []provider.Ref{{ID: "i-1", Host: "h"}})
	}
	all, err := read(`{"i-1": {"cpu_seconds": 30, "processors": 4, "memory_percent": 40.5, "sent_bytes": 7},
		"i-2": {"cpu_percent": 12}, "i-3": {}}`)
	if err != nil || len(all) != 3 || time.Since(all["i-1"].At) > time.Minute {
		t.Fatalf("%v, %v", all, err)
	}
	want := map[policy.Usage]provider.Amount{
		policy.UsageCPU: {Value: 750, Counts: true}, policy.UsageMemory: {Value: 40.5},
		policy.UsageSent: {Value: 7, Counts: true},
	}
	if !maps.Equal(all["i-1"].Of, want) || all["i-2"].Of[policy.UsageCPU] != (provider.Amount{Value: 12}) {
		t.Errorf("%v", all)
	}
	for _, answer := range []string{
		`{"i-1": {"cpu_percent": -1}}`, `{"i-1": {"cpu_seconds": 1}}`, `{"i-1": {"cpu_percent": "much"}}`,
		`{"i-1": {"cpu_seconds": 1, "processors": 1, "cpu_percent": 1}}`, `[]`,
	} {
		if all, err := read(answer); !fault.Is(err, fault.Permanent) {
			t.Errorf("%s: %v, %v", answer, all, err)
		}
	}
}
