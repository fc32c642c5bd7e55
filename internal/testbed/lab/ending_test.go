package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"hale/internal/testbed/lab"
)

// process is a number and its start time, which together are never given away again.
type process struct {
	pid   int
	start string
}

// inside lists the processes that share the PID namespace of the warden.
func inside(t *testing.T, warden int) []process {
	t.Helper()
	namespace := func(pid int) string {
		ns, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)) // empty if it ended meanwhile
		return ns
	}
	want := namespace(warden)
	if want == "" {
		t.Fatalf("the warden %d does not run", warden)
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var out []process
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && namespace(pid) == want {
			out = append(out, process{pid, startOf(pid)})
		}
	}
	return out
}

// startOf returns the state-independent identity of a process, or "" if there is none or it is a zombie.
func startOf(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// pid (comm) state … ; the 22nd field is the start time. No comm here contains blanks.
	var fields [22]string
	args := make([]any, len(fields))
	for i := range fields {
		args[i] = &fields[i]
	}
	if _, err := fmt.Sscan(string(data), args...); err != nil || fields[2] == "Z" {
		return ""
	}
	return fields[21]
}

// gone waits until none of the processes runs.
func (s *stage) gone(processes []process) {
	s.Helper()
	s.await("end of the lab's processes", func() error {
		for _, p := range processes {
			if p.start != "" && startOf(p.pid) == p.start {
				return fmt.Errorf("process %d still runs", p.pid)
			}
		}
		return nil
	})
}

// hold starts a lab in a temporary folder, puts a link to it where the test looks, and waits to be
// killed; it returns only if something goes wrong before.
func hold(link string) error {
	if err := lab.EnterOwnNetwork(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := lab.Start(ctx, lab.Options{})
	if err != nil {
		return err
	}
	if err := os.Symlink(l.Info().Dir, link); err != nil {
		return err
	}
	<-ctx.Done()
	return errors.Join(ctx.Err(), l.Close())
}

func TestLabDiesWithAKilledProgram(t *testing.T) {
	t.Parallel()
	s := &stage{T: t}
	link := filepath.Join(t.TempDir(), "lab")
	holder := exec.Command("/proc/self/exe")
	holder.Env = append(os.Environ(), envHolder+"="+link, "HALE_LAB_NETWORK=") // with a network of its own
	holder.Stderr = os.Stderr
	s.must(holder.Start())
	t.Cleanup(func() { holder.Process.Kill() })
	s.await("lab of another program", func() (err error) {
		s.Lab, err = lab.Attach(s.Context(), link)
		return err
	})
	everyone := inside(t, s.Info().PID)
	if len(everyone) < 3 { // warden, libvirtd, dnsmasq
		t.Fatalf("processes in the lab: %v, want at least three", everyone)
	}

	s.must(holder.Process.Kill())
	holder.Wait() // reports the kill
	s.gone(everyone)
	if _, err := os.Stat(s.Info().Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

func TestDetachedLabIsFoundAgainAndClosed(t *testing.T) {
	t.Parallel()
	s := &stage{T: t}
	dir := t.TempDir()
	started, err := lab.Start(s.Context(), lab.Options{Dir: dir, Detached: true})
	s.must(err)
	t.Cleanup(func() { started.Close() })
	here, err := os.Readlink("/proc/self/ns/net")
	s.must(err)
	if started.Info().Network == here {
		t.Error("a detached lab shares the network of the program that started it")
	}

	s.Lab, err = lab.Attach(s.Context(), dir)
	s.must(err)
	s.virsh("net-info", "default")
	everyone := inside(t, s.Info().PID)
	if err := lab.Wipe(s.Context(), dir); err == nil {
		t.Error("Wipe removed a running lab")
	}
	s.must(s.Close())
	s.gone(everyone)
	s.must(lab.Wipe(s.Context(), dir))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	if _, err := lab.Attach(s.Context(), dir); err == nil {
		t.Error("Attach found a lab that has ended")
	}
}

func TestStartRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	long := filepath.Join(t.TempDir(), fmt.Sprintf("%090d", 0))
	if _, err := lab.Start(ctx, lab.Options{Dir: long}); err == nil {
		t.Error("a folder too long for sockets was taken")
	}
	if _, err := lab.ParseFault("nosuch"); err == nil {
		t.Error("an unknown fault was parsed")
	}
	for _, f := range lab.Faults() {
		if got, err := lab.ParseFault(string(f)); err != nil || got != f {
			t.Errorf("ParseFault(%q) = %q, %v", f, got, err)
		}
	}
}
