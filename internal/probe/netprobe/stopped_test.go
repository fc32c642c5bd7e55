package netprobe_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/probe/netprobe"
)

// stoppedMode and stoppedPort, in the environment, make the test binary the process that TestStoppedProcess stops.
const (
	stoppedMode = "HALE_NETPROBE_STOPPED_MODE"
	stoppedPort = "HALE_NETPROBE_STOPPED_PORT"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(stoppedMode); mode != "" {
		if err := stoppedProcess(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	m.Run()
}

// stoppedProcess watches, or looks at, one page until its standard input ends, and says what it learned.
func stoppedProcess(mode string) error {
	port, err := strconv.Atoi(os.Getenv(stoppedPort))
	if err != nil {
		return err
	}
	target := page("127.0.0.1", port, policy.HTTPCheck{})
	target.Spec.Every, target.Spec.Timeout = time.Second, 900*time.Millisecond
	target.Spec.DownAfter = 3 // a single failure is an edge all the same, and the standing outlasts the stop
	n := netprobe.Network()
	defer n.Close()
	e := netprobe.New(n, netprobe.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	// Owned by this function, which waits for it.
	go func() { ended <- e.Run(ctx) }()
	if mode == "look" {
		got := e.Look(ctx, target)
		fmt.Fprintf(os.Stdout, "%s %s\n", got.Standing, got.Result)
	} else {
		e.Set(target)
		_, _ = io.Copy(io.Discard, os.Stdin)
		for _, edge := range e.Standings() {
			fmt.Fprintf(os.Stdout, "%s %s after %d edges\n", edge.Standing, edge.Result, edge.Seq)
		}
	}
	cancel()
	return <-ended
}

// TestStoppedProcess stops hale with a probe in flight for longer than the probe's timeout, which began before and
// ended meanwhile. What the target did is unknown, so it has not failed, although a single failure would be told.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	for mode, tc := range map[string]struct {
		before int // answers until the stop
		want   string
	}{
		"watch": {2, "up ok after 1 edges\n"},
		"look":  {0, "unknown late\n"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			process := startStopped(t, mode, portOf(t, listener.Addr().String()))

			for range tc.before {
				serve(t, accept(t, listener))
			}
			held := accept(t, listener)
			defer held.Close()
			process.signal(t, syscall.SIGSTOP)
			stopped := time.NewTimer(1500 * time.Millisecond)
			<-stopped.C
			process.signal(t, syscall.SIGCONT)
			if mode == "watch" {
				serve(t, accept(t, listener))
				serve(t, accept(t, listener))
			}
			process.stdin.Close()
			output, err := io.ReadAll(process.stdout)
			if err != nil || string(output) != tc.want {
				t.Errorf("%q, error %v; want %q", output, err, tc.want)
			}
			if err := process.cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

type stopped struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
}

func startStopped(t *testing.T, mode string, port int) stopped {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), stoppedMode+"="+mode, stoppedPort+"="+strconv.Itoa(port))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return stopped{cmd, stdin, stdout}
}

func (s stopped) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

func accept(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	if l, ok := l.(*net.TCPListener); ok {
		if err := l.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func serve(t *testing.T, conn net.Conn) {
	t.Helper()
	defer conn.Close()
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}
