package program_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/program"
	"hale/internal/program/programtest"
)

// script writes a real one.
func script(t *testing.T, text string) string {
	t.Helper()
	return programtest.Script(t, "apply", text)
}

func TestACommandGetsWhatItIsGivenAndNothingElse(t *testing.T) {
	t.Parallel()
	path := script(t, `echo "$1 $2 $SITE [$HOME]"; echo worse >&2; cat; exit 3`)
	r, err := program.Here{}.Run(t.Context(), program.Job{
		Machine: "web-2",
		Args:    []string{path, "10.0.0.2,", "a b"},
		Env:     []policy.Variable{{Name: "SITE", Value: "x y"}},
	})
	if err != nil || r.Code != 3 || r.Output != "10.0.0.2, a b x y []\nworse\n" {
		t.Errorf("%+v, %v", r, err)
	}
}

// When its time is over, a command is killed with all that it started, and what it said until then is kept.
func TestACommandIsKilledWithEverythingThatItStarted(t *testing.T) {
	t.Parallel()
	pid := filepath.Join(t.TempDir(), "pid")
	path := script(t, `sleep 600 & echo begun; echo $! >"$1.new"; mv "$1.new" "$1"; wait`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		await(ctx, func() bool {
			_, err := os.Stat(pid)
			return err == nil
		})
	}()
	r, err := program.Here{}.Run(ctx, program.Job{Args: []string{path, pid}})
	if !fault.Is(err, fault.Permanent) || r.Output != "begun\n" {
		t.Errorf("%+v, %v", r, err)
	}
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	patient, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if !await(patient, func() bool { return gone(child) }) {
		t.Errorf("what it started lives on as %d", child)
	}
}

// await polls until the condition holds, and reports whether it did before ctx ended.
func await(ctx context.Context, holds func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// gone reports whether the process ended, reaped or not.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(text), ") Z ")
}

// token is longer than what is cut off at once.
const token = "correct-horse\tbattery-staple"

func TestS75ACommandsSecretIsInItsEnvironmentOnly(t *testing.T) {
	t.Parallel()
	where := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(where, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	half := len(token) / 2
	for name, c := range map[string]struct{ script, want string }{
		"it is there":                     {`test "$TOKEN" = "` + token + `" && echo yes`, "yes\n"},
		"it is said":                      {`echo "with $TOKEN, and $TOKEN"`, "with [secret], and [secret]\n"},
		"it is said as it will be shown":  {`echo "$TOKEN" | tr '\t' ' '`, "[secret]\n"},
		"it is said with something in it": {`printf 'correct-\001horse battery\007-staple'`, "[secret]"},
		"it is in no process's arguments": {`tr '\0' ' ' < /proc/self/cmdline | grep -c horse`, "0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := program.Job{
				Args: []string{script(t, c.script)},
				Env:  []policy.Variable{{Name: "TOKEN", Secret: fleet.Secret{File: where}}},
			}
			if r, err := (program.Here{}).Run(t.Context(), job); err != nil || r.Output != c.want {
				t.Errorf("it says %q, %v, want %q", r.Output, err, c.want)
			}
		})
	}
	t.Run("it is cut in two", func(t *testing.T) {
		t.Parallel()
		d := program.Digest{Hide: []string{token}}
		_, _ = d.Write([]byte(strings.Repeat("a", 8<<10-half) + token[:half])) // it cannot fail
		_, _ = d.Write([]byte(strings.Repeat("b", 9<<10)))
		_, _ = d.Write([]byte(token[half:] + strings.Repeat("c", 16<<10-len(token)+half)))
		got := d.String()
		if strings.Contains(got, token[:half]) || strings.Contains(got, token[half:]) ||
			!strings.Contains(got, "a[secret]\n[9216 bytes left out]\n[secret]c") {
			t.Errorf("%q", strings.Trim(got, "abc"))
		}
	})
}

// TestS75ACommandWithoutItsSecretIsNotRun: nothing was done, and the error says neither where the secret is kept nor
// what is there.
func TestS75ACommandWithoutItsSecretIsNotRun(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	for where, why := range map[fleet.Secret]string{
		{File: filepath.Join(t.TempDir(), "gone")}: "the secret of TOKEN cannot be read: there is no such file",
		{
			Env: "HALE_TEST_NOT_SET",
		}: "the secret of TOKEN cannot be read: the environment variable is not set",
	} {
		_, err := program.Here{}.Run(t.Context(), program.Job{
			Args: []string{script(t, `touch "$1"`), ran},
			Env:  []policy.Variable{{Name: "TOKEN", Secret: where}},
		})
		if !errors.As(err, new(program.NoSecret)) || err.Error() != why {
			t.Errorf("%v, want %s", err, why)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it was run all the same")
	}
}

func TestAProgramThatIsNotThereIsAPersonsBusiness(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"missing":        {"/nonexistent/ansible-playbook"},
		"not executable": {plain},
		"nothing":        nil,
	} {
		if _, err := (program.Here{}).Run(t.Context(), program.Job{Args: args}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOfALongOutputTheBeginningAndTheEndAreKept(t *testing.T) {
	t.Parallel()
	var d program.Digest
	for i := range 100_000 {
		if _, err := d.Write([]byte("line " + strconv.Itoa(i) + "\x00\t\xff\n")); err != nil {
			t.Fatal(err)
		}
	}
	got := d.String()
	if len(got) > 25<<10 || !strings.HasPrefix(got, "line 0 \nline 1 \n") || !strings.HasSuffix(got, "line 99999 \n") {
		t.Errorf("%d bytes: %.40q … %q", len(got), got, got[len(got)-40:])
	}
	if !strings.Contains(got, " bytes left out]") || strings.ContainsAny(got, "\x00\t") || !utf8.ValidString(got) {
		t.Error("it does not say what is missing, or keeps what no terminal should see")
	}
	var short program.Digest
	_, _ = short.Write([]byte("all of it")) // it cannot fail
	if short.String() != "all of it" {
		t.Errorf("%q", short.String())
	}
}
