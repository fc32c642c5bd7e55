package program_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hale/internal/program"
)

// asParent is set in a copy of the test that runs a program and is killed.
const asParent = "HALE_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) == "" {
		os.Exit(m.Run())
	}
	_, err := program.Run(context.Background(), program.Process{Args: []string{"sh", "-c", "echo $$; exec sleep 1000"},
		Output: os.Stdout})
	if err != nil {
		os.Exit(1)
	}
}

// Who is killed can end nothing itself: the programs that it runs end with it.
func TestProgramsOfAKilledProcessEnd(t *testing.T) {
	t.Parallel()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), asParent+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	program, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(program)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	ended := []unix.PollFd{{Fd: int32(program), Events: unix.POLLIN}}
	if n, err := unix.Poll(ended, 10_000); n != 1 || err != nil {
		said, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		t.Errorf("program %d goes on: %q (%v)", pid, bytes.ReplaceAll(said, []byte{0}, []byte(" ")), err)
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}
