package netprobe_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/probetest"
)

var refused = syscall.ECONNREFUSED

func script(command ...string) probe.Target {
	return probe.Target{
		ID: probe.ID{Machine: "web-7", Check: "own"}, Instance: "4711", Address: netip.MustParseAddr("10.0.0.1"),
		Spec: &policy.Check{
			Name: "own", Kind: policy.CheckExec, Every: 20 * time.Second, Timeout: 10 * time.Second, DownAfter: 1,
			UpAfter: 1, Exec: policy.ExecCheck{Command: command},
		},
	}
}

// TestExitCodes runs real scripts: own ones, and such as monitoring plugins are.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	e := start(t, network(t), netprobe.Options{})
	for name, tc := range map[string]struct {
		script  string
		warning policy.Warning
		want    string
	}{
		"well": {"exit 0", "", "up, ok: "},
		"a plugin that is content": {`echo "DISK OK - free space: / 3326 MB (56%);| /=2643MB;5948;5958;0;5968"`,
			"", "up, ok: DISK OK - free space: / 3326 MB (56%);"},
		"a script says no": {"exit 1", "", "down, exit: exit code 1"},
		"a warning counts": {`echo "LOAD WARNING - 5.02"; exit 1`, "",
			"down, exit: exit code 1: LOAD WARNING - 5.02"},
		"a warning counts, as said": {`echo "LOAD WARNING - 5.02"; exit 1`, policy.WarningFails,
			"down, exit: exit code 1: LOAD WARNING - 5.02"},
		"a warning is none": {`echo "LOAD WARNING - 5.02"; exit 1`, policy.WarningOK,
			"up, ok: LOAD WARNING - 5.02"},
		"critical": {`echo "LOAD CRITICAL"; exit 2`, policy.WarningOK,
			"down, exit: exit code 2: LOAD CRITICAL"},
		"it cannot tell": {`echo "UNKNOWN - no such device"; exit 3`, policy.WarningOK,
			"unknown, undecided: UNKNOWN - no such device"},
		"any other code": {"exit 4", policy.WarningOK, "down, exit: exit code 4"},
		"its own program is missing": {"no-such-program", "",
			"unknown, local: exit code 127: own: 1: no-such-program: not found"},
		"a program that is no program": {"exit 126", "", "unknown, local: exit code 126"},
		"a signal kills it":            {"kill -9 $$", "", "unknown, local: a signal ended the program"},
		"binary output":                {`printf '\n\n\001\377a\tb\n'; exit 2`, "", "down, exit: exit code 2: a b"},
		"a line without end": {`head -c 100000 /dev/zero | tr '\0' x; exit 2`, "",
			"down, exit: exit code 2: " + strings.Repeat("x", 120) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := script("sh", "-c", tc.script, "own")
			target.Spec.Exec.Warning = tc.warning
			s := e.Look(t.Context(), target)
			if got := fmt.Sprintf("%s, %s: %s", s.Standing, s.Result, s.Detail); got != tc.want {
				t.Errorf("look says %q, want %q", got, tc.want)
			}
		})
	}
}

// TestPlaceholders: what stands in braces is replaced once, in arguments and environment, and nothing of it is read by
// a shell.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := probetest.NewTransport()
		e := start(t, x, netprobe.Options{})
		target := script("ask", "{ip}", "--name={name}", "{id}", "{fleet}/{number}", "{other} $HOME",
			"{meta.role}@{host}")
		target.Instance, target.Host = "{name}; rm -rf /", "h1"
		target.Metadata = fleet.MetadataOf(map[string]string{"role": "$(id) {ip}"})
		target.Spec.Exec.Env = []policy.Variable{{Name: "URL", Value: "http://{ip}/{name}"}}
		if got := e.Look(t.Context(), target); got.Standing != fleet.StandingUp {
			t.Fatalf("look says %+v", got)
		}
		want := []string{
			"ask", "10.0.0.1", "--name=web-7", "{name}; rm -rf /", "web/7", "{other} $HOME", "$(id) {ip}@h1",
		}
		got := x.Programs()[0]
		if !slices.Equal(got.Args, want) || !slices.Equal(got.Env, []string{"URL=http://10.0.0.1/web-7"}) {
			t.Errorf("ran %q with %q", got.Args, got.Env)
		}
	})
}

// TestAProgramIsNotRunWithAnUnknownValue: a program that needs an unknown value is not run, and that is no failure of
// the machine.
func TestAProgramIsNotRunWithAnUnknownValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := probetest.NewTransport()
		e := start(t, x, netprobe.Options{})
		for placeholder, why := range map[string]string{"{meta.rack}": "{meta.rack}", "{host}": "{host}"} {
			target := script("ask", "{ip}")
			target.Metadata = fleet.MetadataOf(map[string]string{"role": "db"})
			target.Spec.Exec.Env = []policy.Variable{{Name: "WHERE", Value: "in " + placeholder}}
			got := e.Look(t.Context(), target)
			if got.Standing != fleet.StandingUnknown || got.Result != fleet.ResultNoMetadata || got.Detail != why {
				t.Errorf("%s: look says %+v", placeholder, got)
			}
		}
		if ran := x.Programs(); len(ran) > 0 {
			t.Errorf("ran %+v", ran)
		}
	})
}

// TestWhatAnInstanceBearsIsNoOption: a value that a program would take for an option is not given to it, and that is
// no failure of the machine.
func TestWhatAnInstanceBearsIsNoOption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := probetest.NewTransport()
		e := start(t, x, netprobe.Options{})
		target := script("ssh", "{meta.peer}", "uptime")
		target.Metadata = fleet.MetadataOf(map[string]string{"peer": "-oProxyCommand=touch /tmp/x"})
		got := e.Look(t.Context(), target)
		if got.Standing != fleet.StandingUnknown || got.Result != fleet.ResultUnfit ||
			got.Detail != "{meta.peer} of web-7" {
			t.Errorf("look says %+v", got)
		}
		if ran := x.Programs(); len(ran) > 0 {
			t.Errorf("ran %+v", ran)
		}
	})
}

// TestAProgramIsToldWhatIsNew: another host, or other metadata, begin the check anew where its program is told them,
// and nowhere else.
func TestAProgramIsToldWhatIsNew(t *testing.T) {
	t.Parallel()
	for argument, restarts := range map[string]bool{"{host}": true, "{meta.role}": true, "{name}": false} {
		synctest.Test(t, func(t *testing.T) {
			x := probetest.NewTransport()
			e := start(t, x, netprobe.Options{})
			target := script("ask", "{ip}", argument)
			target.Spec.Every = time.Hour
			role := func(r string) fleet.Metadata { return fleet.MetadataOf(map[string]string{"role": r}) }
			target.Host, target.Metadata = "h1", role("web")
			e.Set(target)
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			before := len(x.Programs())
			target.Host, target.Metadata = "h2", role("db")
			e.Set(target)
			time.Sleep(time.Minute)
			synctest.Wait()
			if again := len(x.Programs()) > before; again != restarts {
				t.Errorf("%s: asked at once: %t", argument, again)
			}
		})
	}
}

// TestEnvironment: the program has what the check gives it, and nothing of hale's own.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	e := start(t, network(t), netprobe.Options{})
	target := script("sh", "-c", `env | grep -v '^PWD=\|^_=\|^SHLVL=' | sort | tr '\n' ' '; exit 2`)
	target.Spec.Exec.Env = []policy.Variable{{Name: "PATH", Value: "/usr/bin:/bin"}, {Name: "WHO", Value: "{name}"}}
	if got := e.Look(t.Context(), target); got.Detail != "exit code 2: PATH=/usr/bin:/bin WHO=web-7" {
		t.Errorf("look says %+v", got)
	}
}

// TestNothingOutlivesAProgram: what it leaves behind in its group dies with it, though it holds no pipe.
func TestNothingOutlivesAProgram(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	n := network(t)
	code, _, err := n.Run(t.Context(), probe.Program{Args: []string{
		"sh",
		"-c",
		`sleep 1000 >/dev/null 2>&1 & echo $! >"$0"`,
		file,
	}})
	if err != nil || code != 0 {
		t.Fatalf("code %d, error %v", code, err)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "gone: the child", func() bool { return !alive(t, strings.TrimSpace(string(pid))) })
}
