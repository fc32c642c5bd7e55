package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/gauge/command"
	"hale/internal/gauge/gaugetest"
	"hale/internal/program/programtest"
)

// metric is read by a program of the shell.
func metric(t *testing.T, script string, env ...policy.Variable) policy.Metric {
	t.Helper()
	return policy.Metric{Name: "queue", Command: policy.Command{
		Args: []string{programtest.Script(t, "read", script)}, Env: env}}
}

// bench is a program that prints what lies in a file, or does what its fault is.
func bench(t *testing.T) gaugetest.Bench {
	t.Helper()
	const secret = "s3cret-of-the-queue"
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write("fault", "")
	write("secret", secret)
	m := metric(t, `echo "the password is $PASSWORD" >&2
case "$(cat "$DIR/fault")" in
"") cat "$DIR/said";;
"`+string(gaugetest.Hangs)+`") sleep 1000;;
"`+string(gaugetest.Nonsense)+`") echo "$PASSWORD many";;
"`+string(gaugetest.Endless)+`") while :; do echo 12345678901234567890; done;;
"`+string(gaugetest.Empty)+`") echo "# nothing";;
*) exit 3;;
esac`, policy.Variable{Name: "DIR", Value: dir},
		policy.Variable{Name: "PASSWORD", Secret: fleet.Secret{File: filepath.Join(dir, "secret")}})
	return gaugetest.Bench{
		Reader: command.New("web", m), Secret: secret,
		Says: func(all ...gaugetest.Named) {
			var said strings.Builder
			for _, v := range all {
				fmt.Fprintf(&said, "%s %v\n", v.Name, v.Value)
			}
			write("said", said.String())
		},
		Break: func(f gaugetest.Fault) { write("fault", string(f)) },
	}
}

func TestProgramsPassTheExam(t *testing.T) {
	t.Parallel()
	gaugetest.Run(t, bench)
}

func TestWhatAProgramPrintsIsReadStrictly(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]float64{
		"7":                        7,
		"  7.5  \n\n":              7.5,
		"# of the queue\n3 # jobs": 3,
		"1e3":                      1000,
		"web-1 4\n":                4,
		"10.0.0.3 5":               5,
	} {
		r, err := command.New("web", metric(t, "cat <<'END'\n"+said+"\nEND")).Read(t.Context(), gaugetest.Machines())
		v, weighed := gauge.Weigh(&policy.Metric{}, r)
		if err != nil || weighed != nil || v.Value != want {
			t.Errorf("%q is %v, %v, %v, want %v", said, v, err, weighed, want)
		}
	}
	for said, kind := range map[string]fault.Kind{
		"7 %":         fault.Invalid,
		"7,5":         fault.Invalid,
		"load 7 high": fault.Invalid,
		"seven":       fault.Invalid,
		"7\noops":     fault.Invalid,
		"":            fault.NotFound,
		"other-1 7":   fault.NotFound,
	} {
		r, err := command.New("web", metric(t, "cat <<'END'\n"+said+"\nEND")).Read(t.Context(), gaugetest.Machines())
		if !fault.Is(err, kind) {
			t.Errorf("%q is %v, %v, want %s", said, r, err, kind)
		}
	}
}

func TestAProgramKnowsWhichFleetAsks(t *testing.T) {
	t.Parallel()
	m := metric(t, `test "$HALE_FLEET" = web && test -z "$HOME" && echo 1`)
	if r, err := command.New("web", m).Read(t.Context(), nil); err != nil || len(r.Whole) != 1 {
		t.Errorf("%v, %v", r, err)
	}
}

func TestAnExitCodeIsNoNumber(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"echo 7; exit 1", "echo 7; kill -9 $$"} {
		if r, err := command.New("web", metric(t, script)).Read(t.Context(), nil); !fault.Is(err, fault.Transient) {
			t.Errorf("%s: %v, %v", script, r, err)
		}
	}
	m := policy.Metric{Command: policy.Command{Args: []string{filepath.Join(t.TempDir(), "none")}}}
	if r, err := command.New("web", m).Read(t.Context(), nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("no program: %v, %v", r, err)
	}
	m = metric(t, "echo 7", policy.Variable{Name: "X", Secret: fleet.Secret{File: filepath.Join(t.TempDir(), "none")}})
	if r, err := command.New("web", m).Read(t.Context(), nil); !fault.Is(err, fault.Permanent) {
		t.Errorf("no secret: %v, %v", r, err)
	}
}

// What the program started dies with it, so that a beat leaves nothing behind.
func TestWhatAProgramStartedIsKilledWithIt(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "child")
	m := metric(t, `sleep 1000 & echo $! >"`+out+`"; echo 7`)
	if r, err := command.New("web", m).Read(t.Context(), nil); err != nil || len(r.Whole) != 1 {
		t.Fatalf("%v, %v", r, err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for syscall.Kill(child, 0) == nil { // until it is reaped
		select {
		case <-t.Context().Done():
			t.Fatal("it lives on")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
