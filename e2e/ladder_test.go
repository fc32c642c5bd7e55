package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/lab"
)

// TestS48S58EveryStepMakesItsOwnCall plays faults that one step of the ladder cures each, and no gentler one.
func TestS48S58EveryStepMakesItsOwnCall(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.92.0.0/16", settings{
		fleet:     "web",
		size:      2,
		fleetYAML: laddered("[reboot: {mode: soft}]", "heal"),
	})
	s.raise()
	s.stands()

	s.scene("S48 a soft reboot asks the guest", askedToReboot)
	s.climb("[reboot: {mode: soft, verify_within: 3s}, reboot: {mode: hard}]")
	s.scene("S48 a hard one resets a guest that does not listen", resetWhenItDoesNotListen)
	s.climb("[reboot: {mode: soft, verify_within: 3s}, reboot: {mode: hard, verify_within: 3s}, rebuild, recreate]")
	s.scene("S48 a rebuild is the same instance, with proof that it was off", rebuiltAsTheSame)
	s.climb("[rebuild, recreate]")
	s.scene("S48 a recreate is another instance, by the template", recreatedByTheTemplate)

	all := kept{instance: true, process: true, boot: true}
	s.climb("[start, resume, reboot, recreate]")
	s.scene("S58 a person paused it, and the policy says heal", resumed(func(s stage, victim string) {
		s.fault(victim, lab.FaultSuspend)
	}, all))
	s.scene("S58 it is paused by an unknown cause", resumed(func(s stage, victim string) {
		_, err := s.lab.Virsh(s.within(moment), "qemu-monitor-command", victim, `{"execute":"stop"}`)
		s.must(err)
	}, all))
	s.scene("S58 it suspended itself", resumed(func(s stage, victim string) {
		s.fault(victim, lab.FaultSleep)
	}, kept{instance: true, process: true})) // the lab's guest boots anew when it is woken
	s.reload(func(set *settings) { set.fleetYAML = laddered("[start, resume, reboot, recreate]", "hold") })
	s.scene("S58 a person paused it, and a stop by a person is no failure", leftPaused)
	s.books()
}

// laddered is a fleet with these steps.
func laddered(steps, stop string) string {
	return `      seed: true
    checks:
      alive: {ping: {}, every: 500ms, timeout: 450ms, down_after: 3}
      page: {http: {path: /healthz}, every: 1s, timeout: 900ms, down_after: 3}
    build_within: 1m
    on_external_stop: ` + stop + `
    repair: {attempts: 50 in 1h, backoff: 500ms, steps: ` + steps + `}`
}

// climb gives the fleet another ladder.
func (s stage) climb(steps string) {
	s.Helper()
	s.reload(func(set *settings) { set.fleetYAML = laddered(steps, "heal") })
}

// reload changes the configuration while hale runs, and returns what hale says of it.
func (s stage) reload(change func(*settings)) string {
	s.Helper()
	s.configure(change)
	return s.says("reload")
}

// says runs a command as a person types it.
func (s stage) says(args ...string) string {
	s.Helper()
	out, err := s.hale.command(s.within(patience), args...)
	s.must(err)
	return out
}

// body is what a machine is made of, as it is seen from outside.
type body struct {
	hale api.Machine
	page lab.Page
	pid  int
}

func (s stage) body(machine string) body {
	s.Helper()
	page, err := s.lab.AwaitPage(s.within(patience), machine)
	s.must(err)
	return body{s.machine(machine), page, s.process(machine)}
}

// process is the machine's QEMU.
func (s stage) process(machine string) int {
	s.Helper()
	processes, err := s.lab.Processes(s.within(moment))
	s.must(err)
	at := slices.IndexFunc(processes, func(p lab.Process) bool { return p.Domain == machine })
	if at < 0 {
		s.Fatalf("%s has no process", machine)
	}
	return processes[at].PID
}

// kept is what a machine still has after a repair.
type kept struct{ instance, process, boot bool }

// became checks what a machine kept, and nothing else.
func (s stage) became(victim string, old body, k kept) body {
	s.Helper()
	s.stands()
	now := s.body(victim)
	for what, c := range map[string]struct{ want, is bool }{
		"instance":   {k.instance, now.hale.Instance == old.hale.Instance},
		"generation": {k.instance, now.hale.Generation == old.hale.Generation},
		"address":    {k.instance, now.hale.Address == old.hale.Address},
		"process":    {k.process, now.pid == old.pid},
		"boot":       {k.boot, now.page.BootID == old.page.BootID},
	} {
		if c.want != c.is {
			s.Errorf("it kept its %s: %v, want %v\nbefore: %+v\nafter: %+v", what, c.is, c.want, old, now)
		}
	}
	return now
}

// outlasts checks that a step was given up no earlier than its time after its call.
func (s stage) outlasts(story []api.Event, op string, least time.Duration) {
	s.Helper()
	called := slices.IndexFunc(story, outcome(op))
	if called < 0 {
		s.Errorf("no event says how %s went", op)
		return
	}
	story = story[called:]
	over := slices.IndexFunc(story, because("step-failed", "not-verified"))
	if over < 0 {
		s.Errorf("no event says that %s was not enough", op)
		return
	}
	if took := story[over].At.Sub(story[0].At); took < least {
		s.Errorf("%s had %s to help, want %s", op, took, least)
	}
}

func askedToReboot(s stage) {
	victim := s.pick()
	old, mark := s.body(victim), s.journal.mark()
	s.fault(victim, lab.FaultHang)
	s.wantCalls(s.healed(victim, mark), "soft-reboot")
	s.became(victim, old, kept{instance: true, process: true})
	s.alone(victim, mark)
}

func resetWhenItDoesNotListen(s stage) {
	victim := s.pick()
	old, mark := s.body(victim), s.journal.mark()
	s.fault(victim, lab.FaultDeaf)
	s.fault(victim, lab.FaultHang)
	story := s.healed(victim, mark)
	s.wantCalls(story, "soft-reboot", "reboot")
	s.outlasts(story, "soft-reboot", 3*time.Second)
	// Whatever is asked of it, it goes on as it is, and pings are answered, until it is reset.
	looks := field(story, because("look", "confirmed"), func(e api.Event) string { return e.Check + " " + e.Result })
	if want := []string{"page timeout", "page timeout"}; !slices.Equal(looks, want) {
		s.Errorf("what the looks before the two saw: %v, want %v", looks, want)
	}
	s.became(victim, old, kept{instance: true, process: true})
	s.alone(victim, mark)
}

// rebuiltAsTheSame pulls a cable, which stays out over reboots of whatever kind. A new process has a new one.
func rebuiltAsTheSame(s stage) {
	victim := s.pick()
	old, mark := s.body(victim), s.journal.mark()
	s.fault(victim, lab.FaultLinkDown)
	story := s.healed(victim, mark)
	s.wantCalls(story, "soft-reboot", "reboot", "power-off", "rebuild")
	s.outlasts(story, "reboot", 3*time.Second)
	s.inOrder(story, "incident-opened", "proof", "verified", "incident-closed")
	s.became(victim, old, kept{instance: true})
	s.alone(victim, mark)
}

// recreatedByTheTemplate takes a file away that the instance needs to start, so that a rebuild fails at once.
func recreatedByTheTemplate(s stage) {
	victim := s.pick()
	old, mark := s.body(victim), s.journal.mark()
	s.must(os.Remove(s.seedOf(old.hale)))
	s.fault(victim, lab.FaultLinkDown)
	story := s.healed(victim, mark)
	s.wantCalls(story, "power-off", "rebuild", "delete", "create", "certify")
	if count(story, because("step-failed", "call-failed")) != 1 {
		s.Error("no event says that the rebuild failed")
	}
	now := s.became(victim, old, kept{})
	if now.hale.Generation != old.hale.Generation+1 {
		s.Errorf("generation %d follows %d", now.hale.Generation, old.hale.Generation)
	}
	definition, err := s.lab.Virsh(s.within(moment), "dumpxml", victim)
	s.must(err)
	for _, want := range []string{
		fmt.Sprintf("<memory unit='KiB'>%d</memory>", lab.GuestMemoryMiB<<10),
		s.initrd.path,
		"hale.name=" + victim,
	} {
		if !strings.Contains(definition, want) {
			s.Errorf("its definition has no %s:\n%s", want, definition)
		}
	}
	s.alone(victim, mark)
}

// resumed is a machine that stands still, with all that it had in its memory: it goes on where it was.
func resumed(still func(s stage, victim string), k kept) func(stage) {
	return func(s stage) {
		victim := s.pick()
		old, mark := s.body(victim), s.journal.mark()
		still(s, victim)
		story := s.healed(victim, mark)
		s.wantSteps(story, "resume")
		s.wantCalls(story, "resume")
		s.became(victim, old, k)
		s.alone(victim, mark)
	}
}

func leftPaused(s stage) {
	victim := s.pick()
	old, mark := s.body(victim), s.journal.mark()
	s.fault(victim, lab.FaultSuspend)
	s.event("held", mark, of(victim, because("held", "paused")))
	s.idle(quiet)
	s.untouched(mark)
	s.fault(victim, lab.FaultResume)
	s.event("it is well again", mark, of(victim, because("incident-closed", "recovered")))
	s.untouched(mark)
	s.became(victim, old, kept{instance: true, process: true, boot: true})
}
