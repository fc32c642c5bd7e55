package e2e

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/internal/testbed/etcdtest"
	"hale/internal/testbed/lab"
)

// sharedLab is the lab as a provider, and the state of all servers in an etcd server.
const sharedLab = `  lab: {type: libvirt, uri: %q, state_dir: %q, poll: 1s}
state: {etcd: {endpoints: [%q]}}`

// TestS16S17S54TwoServersLookAfterRealMachines has two servers look after the same machines. The active one is killed
// in the midst of a repair, and later stands still while a machine fails: each time the other one goes on, and each
// machine is healed once.
func TestS16S17S54TwoServersLookAfterRealMachines(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.117.0.0/16", settings{
		fleet: "web", size: 3, checks: []string{"alive", "page"}, ladder: impatient, stop: "heal", build: time.Minute,
	})
	etcd := etcdtest.Start(t).URL
	s.settings.providerYAML = fmt.Sprintf(sharedLab, s.lab.URI(), s.lab.Info().Images, etcd)
	s.configure(func(*settings) {})
	s.hale.flags = []string{"--server", "hale-a"}
	other := s.second("hale-b")
	s.raise()
	s.stands()
	s.must(other.start())
	s.isStandby(other)

	s.scene("S54 the active server is killed in the midst of a repair", func(s stage) { other = s.dies(other) })
	s.scene("S16 S17 the active server stands still while a machine fails", func(s stage) { s.standsStill(other) })
}

// second returns another server with the same configuration.
func (s stage) second(name string) *controller {
	s.Helper()
	c, err := newController()
	s.must(err)
	s.Cleanup(func() {
		if err := c.close(); err != nil {
			s.Error(err)
		}
	})
	c.flags = []string{"--server", name}
	text, err := os.ReadFile(s.hale.path("hale.yaml"))
	s.must(err)
	s.must(os.WriteFile(c.path("hale.yaml"), text, 0o600))
	return c
}

// isStandby returns when the server says that it stands by.
func (s stage) isStandby(c *controller) {
	s.Helper()
	s.await("the other server stands by", func() error {
		_, err := c.client.Status(s.Context())
		if err == nil || !strings.Contains(err.Error(), "it stands by") {
			return fmt.Errorf("it says: %v", err) //nolint:errorlint // there may be none
		}
		return nil
	})
}

// follows has the stage listen to the other server from now on, once that one looks after the fleet, and returns the
// one that it listened to.
func (s stage) follows(next *controller) *controller {
	s.Helper()
	last := s.hale
	s.journal.end()
	s.hale, s.journal = next, follow(next.client)
	began := time.Now()
	s.await("the other server looks after the fleet", func() error {
		f, err := s.fleet()
		if err == nil && !f.Acting {
			return errors.New(f.NotActing.Text)
		}
		return err
	})
	s.Logf("the other server looked after the fleet after %s", time.Since(began).Round(100*time.Millisecond))
	return last
}

// dies kills the active server right after it noted a call, and starts it again once the other one has healed the
// machine.
func (s stage) dies(other *controller) *controller {
	victim := s.pick()
	mark := s.journal.mark()
	s.fault(victim, lab.FaultKill)
	s.event("the first server repairs", mark, of(victim, intent("start")))
	s.hale.kill()
	dead := s.follows(other)
	s.stands()
	if n := heals(s.after(0), victim); n != 1 {
		s.Errorf("%d heals of %s, want 1", n, victim)
	}
	s.must(dead.start())
	s.isStandby(dead)
	return dead
}

// standsStill pauses the active server before a machine fails, until the other one has healed that.
func (s stage) standsStill(other *controller) {
	s.must(s.hale.cmd.Process.Signal(syscall.SIGSTOP))
	victim := s.pick()
	s.fault(victim, lab.FaultKill)
	before := heals(s.after(0), victim)
	paused := s.follows(other)
	s.await(victim+" is healed", func() error {
		if heals(s.after(0), victim) == before {
			return errors.New("no repair of it began")
		}
		return nil
	})
	s.stands()
	s.must(paused.cmd.Process.Signal(syscall.SIGCONT))
	s.isStandby(paused)
	if n := heals(s.after(0), victim); n != before+1 {
		s.Errorf("%d heals of %s, want %d", n, victim, before+1)
	}
}
