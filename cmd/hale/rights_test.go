package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
)

// lacking is a hale that lacks something on its own server.
type lacking struct {
	*testing.T
	dir    string
	client *api.Client
	log    bytes.Buffer // to be read when hale has ended
	end    func()
}

// starts runs hale by the words before its own, with the configuration in which TRUTH and DIR stand for folders.
func (l *lacking) starts(by []string, config string) {
	l.Helper()
	var err error
	l.dir, err = os.MkdirTemp("", "hale-lacks-") // a short name: a socket's path is limited
	l.must(err)
	l.must(os.MkdirAll(filepath.Join(l.dir, "truth", "instances"), 0o755))
	truth, err := filepath.Abs("testdata/truth.sh")
	l.must(err)
	program, err := exec.LookPath("hale")
	l.must(err)
	config = strings.NewReplacer("PROVIDER",
		fmt.Sprintf("{type: exec, command: [%q], env: {TRUTH: %q}, poll: 1s}", truth, l.dir+"/truth"),
		"DIR", l.dir).
		Replace(config)
	l.must(os.WriteFile(l.dir+"/hale.yaml", []byte(config), 0o600))
	args := append(
		slices.Clone(by),
		program,
		"run",
		l.dir+"/hale.yaml",
		"--data-dir",
		l.dir+"/data",
		"--socket",
		l.dir+"/sock",
	)
	ctx, stop := context.WithCancel(context.WithoutCancel(l.Context()))
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = lenient
	cmd.Stdout, cmd.Stderr = &l.log, &l.log
	l.must(cmd.Start())
	l.client = api.Dial(l.dir + "/sock")
	l.end = func() {
		stop()
		_ = cmd.Wait() // what matters was said before
	}
	l.Cleanup(func() {
		l.client.Close()
		l.end()
		l.must(os.RemoveAll(l.dir))
	})
}

func (l *lacking) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// await asks until the troubles are as wanted.
func (l *lacking) await(what string, as func([]api.Trouble) bool) {
	l.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	for {
		s, err := l.client.Status(l.Context())
		if err == nil && as(s.Troubles) {
			return
		}
		if time.Now().After(deadline) {
			l.end()
			l.Fatalf("%s: never; the last answer has %+v (%v); the log is\n%s", what, s.Troubles, err, l.log.String())
		}
		<-tick.C
	}
}

func about(part, said string) func([]api.Trouble) bool {
	return func(all []api.Trouble) bool {
		for _, t := range all {
			if t.Part == part && strings.Contains(t.Text, said) && t.Advice != "" && !t.Since.IsZero() {
				return true
			}
		}
		return false
	}
}

// A hale without the right to ping says so at once, and not minutes later that its machines or its provider failed. It
// runs in a network of its own, in which the kernel lets no group ping, and without any capability.
func TestHaleSaysAtOnceThatItMayNotPing(t *testing.T) {
	t.Parallel()
	l := &lacking{T: t}
	l.starts([]string{"unshare", "--map-root-user", "--net", "setpriv", "--bounding-set=-all", "--inh-caps=-all"},
		"providers: {lab: PROVIDER}\nfleets: {web: {provider: lab, size: 1, checks: {up: {ping: {}}}}}\n")
	l.await("status says that hale may not ping", about(api.TroublePing, "may not send pings"))
	l.end()
	up, said := strings.Index(l.log.String(), "hale is up"), strings.Index(l.log.String(), "hale may not send pings")
	if said < 0 || up < 0 || said > up {
		t.Errorf("the log does not say so at the start:\n%s", l.log.String())
	}
}

func TestStatusSaysWhichSecretAndWhichPortHaleLacks(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	l := &lacking{T: t}
	l.starts(nil, "providers: {lab: {type: simulated, boot: 100ms}}\n"+
		"heartbeats: {listen: \""+taken.Addr().String()+"\"}\n"+
		"notify: {ops: {webhook: {url: {file: DIR/url}}}}\n"+
		"fleets: {web: {provider: lab, size: 1, notify: [ops], checks: {page: {tcp: {port: 80}}}}}\n")
	l.await("the port is taken", about(api.TroubleHeartbeats, "address already in use"))
	l.await("the secret cannot be read", about(api.TroubleTarget, "no message reaches target ops"))
	l.must(os.WriteFile(l.dir+"/url", []byte("http://127.0.0.1:1/\n"), 0o600))
	l.await("the address is refused", about(api.TroubleTarget, "write allow_addresses: [127.0.0.1]"))
	l.must(os.WriteFile(l.dir+"/url", []byte("http://hook.invalid/\n"), 0o600))
	l.must(taken.Close())
	l.await("nothing is lacking any more", func(all []api.Trouble) bool { return len(all) == 0 })
}
