package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hale/api"

	"golang.org/x/sys/unix"
)

// TestAFullDataFolderIsToldWithoutTheStore fills the disk of the data folder, and crashes one of six machines: a page
// reaches the target, status and why say the truth, and hale goes on when there is room.
func TestAFullDataFolderIsToldWithoutTheStore(t *testing.T) {
	t.Parallel()
	e := &ending{T: t, fleets: 2}
	page := e.listen()
	e.begin(page)
	e.must(os.MkdirAll(e.path("data"), 0o700))
	if err := unix.Mount("tmpfs", e.path("data"), "tmpfs", 0, "size=900m,mode=0700"); err != nil {
		t.Fatalf("mount a tmpfs (this test needs root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(e.path("data"), unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	e.tells("pager")
	e.feel("well")
	e.start()
	e.await("all are healthy", func(s api.Status) bool { return e.healthy(s) == 6 && s.Store == nil })

	e.ballast(300 << 20)
	e.await("there is a warning before it is full", func(s api.Status) bool {
		return s.Store != nil && s.Store.Takes && s.Store.Low != "" && e.healthy(s) == 6
	})
	e.awaitTold("page store-low")

	e.ballast(1 << 20)
	e.await("it is full", func(s api.Status) bool {
		return s.Store != nil && (strings.HasPrefix(s.Store.Low, "0 MiB") || strings.HasPrefix(s.Store.Low, "1 MiB"))
	})
	e.turnOff()
	e.await("status says what hale sees", func(s api.Status) bool {
		return e.healthy(s) == 5 && s.Fleets[0].FromMemory && !s.Fleets[0].Acting &&
			!s.Fleets[0].NotActingSince.IsZero()
	})
	e.awaitTold("page store-full")
	why := e.says("why", "f0-1")
	for _, want := range []string{"f0-1 is unhealthy", "not written down", "the data folder's disk is full"} {
		if !strings.Contains(why, want) {
			t.Errorf("why lacks %q:\n%s", want, why)
		}
	}
	if said := e.says("status"); !strings.Contains(said, "takes nothing since") ||
		!strings.Contains(said, "NOT ACTING for") {
		t.Errorf("status says\n%s", said)
	}

	e.must(os.Remove(e.path("data/ballast")))
	e.await(
		"hale goes on",
		func(s api.Status) bool { return e.healthy(s) == 6 && s.Store == nil && s.Fleets[0].Acting },
	)
	e.awaitTold("healed store-takes")
	e.awaitTold("healed store-room")
	if told := e.told(); len(told) != 4 {
		t.Errorf("the target was told %q, want two pages and their ends", told)
	}
	e.end(lenient)
}

// tells has hale tell a command, which writes down what it is told.
func (e *ending) tells(names ...string) {
	old, err := os.ReadFile(e.path("hale.yaml"))
	e.must(err)
	text := "notify:\n"
	for _, n := range names {
		text += fmt.Sprintf(
			"  %s: {command: {command: [/bin/sh, -c, %q]}}\n",
			n,
			fmt.Sprintf("cat >> %s; echo >> %[1]s", e.path("told")),
		)
	}
	e.must(os.WriteFile(e.path("hale.yaml"), append([]byte(text), old...), 0o600))
}

// told returns what the targets were told: the event and the reason of each message.
func (e *ending) told() []string {
	b, err := os.ReadFile(e.path("told"))
	if err != nil {
		return nil // nothing yet
	}
	var all []string
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, `"event":"`) {
			all = append(all, between(line, `"event":"`)+" "+between(line, `"reason":"`))
		}
	}
	return all
}

func between(line, begin string) string {
	_, after, _ := strings.Cut(line, begin)
	is, _, _ := strings.Cut(after, `"`)
	return is
}

func (e *ending) awaitTold(what string) {
	e.Helper()
	e.await("the target is told: "+what, func(api.Status) bool {
		for _, is := range e.told() {
			if is == what {
				return true
			}
		}
		return false
	})
}

// ballast fills the data folder's disk until so many bytes are free.
func (e *ending) ballast(leave uint64) {
	e.Helper()
	f, err := os.OpenFile(e.path("data/ballast"), os.O_CREATE|os.O_WRONLY, 0o600)
	e.must(err)
	defer f.Close()
	for step := int64(64 << 20); step >= 4096; {
		var fs unix.Statfs_t
		e.must(unix.Statfs(e.path("data"), &fs))
		size, err := f.Seek(0, 2)
		e.must(err)
		if fs.Bavail*uint64(fs.Bsize) < leave+uint64(step) || unix.Fallocate(int(f.Fd()), 0, size, step) != nil {
			step /= 2
		}
	}
}

// says runs a command of hale against the one that runs, and returns what it says.
func (e *ending) says(args ...string) string {
	program, err := exec.LookPath("hale")
	e.must(err)
	cmd := exec.Command(program, append(args, "--socket", e.path("sock"))...)
	cmd.Dir = filepath.Dir(e.path("sock"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		e.Logf("hale %s: %v", args, err)
	}
	return string(out)
}
