package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/notify/command"
	"hale/internal/notify/notifytest"
	"hale/internal/program/programtest"
	"hale/internal/secret"
)

const token = "s3cr3t-t0k3n"

// script is a real program. Each message that it takes is a file of its own, named by when it came.
const script = `#!/bin/sh
set -eu
test "$TOKEN" = ` + token + ` || { echo "who are you?"; exit 1; }
if test -e "$DIR/hang"; then echo $$ > "$DIR/pid"; sleep 1000 & sleep 1000; fi
if test -e "$DIR/refuse"; then echo "I do not want it from $TOKEN"; exit 1; fi
if mkdir "$DIR/trouble2/once" 2>/dev/null || mkdir "$DIR/trouble1/once" 2>/dev/null; then echo "not now"; exit 75; fi
cat > "$DIR/$$.tmp"
mv "$DIR/$$.tmp" "$DIR/$(date +%s%N).$$.json"
echo "thanks, $TOKEN $1"
`

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func target(t *testing.T, dir string) command.Options {
	t.Helper()
	tools := t.TempDir()
	write(t, filepath.Join(tools, "token"), token+"\n", 0o600)
	s, err := secret.File(filepath.Join(tools, "token"))
	if err != nil {
		t.Fatal(err)
	}
	if err := programtest.Write(filepath.Join(tools, "tell"), script); err != nil {
		t.Fatal(err)
	}
	return command.Options{
		Name: "tool", Command: []string{filepath.Join(tools, "tell"), "$TOKEN; exit 3"}, Timeout: time.Minute,
		Env: []secret.Named{{Name: "DIR", Plain: dir}, {Name: "TOKEN", Secret: s}},
	}
}

func taken(t *testing.T, dir string) (out []notify.Message) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		var m notify.Message
		if err = errors.Join(err, json.Unmarshal(data, &m)); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

func TestACommandPassesTheExam(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T) notifytest.Stage {
		t.Helper()
		dir := t.TempDir()
		return notifytest.Stage{
			Target: command.New(target(t, dir)), Secret: token,
			Taken: func() []notify.Message { return taken(t, dir) },
			Trouble: func(n int) {
				for i := range n {
					if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("trouble%d", i+1)), 0o700); err != nil {
						t.Fatal(err)
					}
				}
			},
			// A program that says no may say yes the next time: only one that cannot be run is a refusal.
			Refuse: func() {
				files, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "tell"))
				if err != nil || len(files) != 1 {
					t.Fatalf("%v, %v", files, err)
				}
				if err := os.Remove(files[0]); err != nil {
					t.Fatal(err)
				}
			},
			Hang: func() { write(t, filepath.Join(dir, "hang"), "", 0o600) },
		}
	})
}

func TestAProgramThatTakesTooLongIsKilledWithItsChildren(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "hang"), "", 0o600)
	o := target(t, dir)
	o.Timeout = 500 * time.Millisecond
	_, err := command.New(o).Send(t.Context(), notifytest.Message(1))
	if !fault.Is(err, fault.UnknownOutcome) || !strings.Contains(err.Error(), "500ms") {
		t.Errorf("got %v", err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for tick := time.NewTicker(10 * time.Millisecond); ; { // its orphans are reaped by another process
		if left := alive(t, pid); len(left) == 0 {
			tick.Stop()
			return
		} else if ctx.Err() != nil {
			tick.Stop()
			t.Fatalf("processes of group %d live on: %v", pid, left)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// alive returns the processes of a group that still run.
func alive(t *testing.T, group int) (left []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats {
		data, err := os.ReadFile(s)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		if f := strings.Fields(rest); len(f) > 2 && f[2] == strconv.Itoa(group) && f[0] != "Z" {
			left = append(left, string(data))
		}
	}
	return left
}

func TestS75ASecretIsNotAmongTheArguments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "hang"), "", 0o600)
	o := target(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := command.New(o).Send(ctx, notifytest.Message(1))
		ended <- err
	}()
	limit := time.Now().Add(30 * time.Second)
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		if _, err := os.Stat(filepath.Join(dir, "pid")); err == nil {
			tick.Stop()
			break
		}
		if time.Now().After(limit) {
			t.Fatal("the program never began")
		}
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if data, err := os.ReadFile(l); err == nil && strings.Contains(string(data), token) {
			t.Errorf("%s: %q", l, data)
		}
	}
	cancel()
	if err := <-ended; err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("got %v", err)
	}
}

func TestWhatAProgramFindsAndSays(t *testing.T) {
	t.Parallel()
	send := func(o command.Options) (notify.Answer, error) {
		o.Name, o.Timeout = "tool", time.Minute
		return command.New(o).Send(t.Context(), notifytest.Message(1))
	}
	sh := func(script string) command.Options {
		return command.Options{Command: []string{"/bin/sh", "-c", script}}
	}
	for name, c := range map[string]struct {
		o    command.Options
		kind fault.Kind
		says string
	}{
		"it reads nothing": {o: sh("exit 0"), says: "exit code 0"},
		"it knows what it is about": {o: sh(`echo "$HALE_KEY $HALE_EVENT $HALE_MACHINE $HALE_INCIDENT"`),
			says: "exit code 0 3f2a1b2c-web-1 page web-2 web-2/3"},
		"it knows nothing else": {
			o:    sh(`env | grep -v -e ^HALE_ -e ^PATH= -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | grep -c = || true`),
			says: "0",
		},
		"it talks without end":     {o: sh("yes | head -c 10000000; exit 4"), kind: fault.Transient, says: "y y"},
		"it says no":               {o: sh("echo no >&2; exit 3"), kind: fault.Transient, says: "exit code 3 no"},
		"it dies":                  {o: sh("kill -9 $$"), kind: fault.Transient, says: "a signal killed it"},
		"it leaves a child behind": {o: sh("sleep 1000 & echo done"), says: "exit code 0 done"},
		"it is not there": {o: command.Options{Command: []string{"/nowhere/tell"}}, kind: fault.NotFound,
			says: "/nowhere/tell"},
		"it may not be run": {o: command.Options{Command: []string{"/etc/passwd"}}, kind: fault.Unauthorised,
			says: "/etc/passwd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			answer, err := send(c.o)
			said := answer.Said
			if err != nil {
				said = err.Error()
			}
			if fault.KindOf(err) != c.kind || !strings.Contains(said, c.says) || len(said) > 400 {
				t.Errorf("%v: %q", err, said)
			}
			if time.Since(began) > 45*time.Second {
				t.Error("it was waited for")
			}
		})
	}
}
