package main

import (
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hale/internal/testbed/etcdtest"
)

// TestMain makes the real main a command of the scripts. More tests than usual go on at once: they wait for leases more
// than they compute.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.NumCPU())); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"hale": main, etcdtest.Program: etcdtest.Serve})
}

// patience is the longest that a script awaits anything.
const patience = 60 * time.Second

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("HALE_SOCKET", "")
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			_, port, err := net.SplitHostPort(free.Addr().String())
			e.Setenv("API_PORT", port)
			return errors.Join(err, free.Close())
		},
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"await": await},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// await runs a command again and again until its output matches: await PATTERN COMMAND ARG…
// The output is left for stdout, as exec's is.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await PATTERN COMMAND ARG…")
	}
	pattern, err := regexp.Compile("(?s)" + args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		command := exec.CommandContext(ctx, args[1], args[2:]...)
		command.Dir = ts.MkAbs(".")
		command.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "HALE_SOCKET="+ts.Getenv("HALE_SOCKET"))
		out, err := command.CombinedOutput()
		if pattern.Match(out) {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("%q never matched; the last output (%v) was:\n%s", args[0], err, out)
		case <-tick.C:
		}
	}
}
