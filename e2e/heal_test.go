package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/lab"
)

// TestAFleetOfThreeIsHealed plays the failures of single machines, and of libvirtd, on one fleet.
func TestAFleetOfThreeIsHealed(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.97.0.0/16", settings{
		fleet: "web", size: 3, checks: []string{"alive"}, ladder: replaceOnly, stop: "heal", build: time.Minute,
	})
	s.scene("a fleet is built and certified", func(s stage) {
		s.raise()
		s.stands()
		s.speaks()
	})
	s.scene("S01 three failed pings make one heal, and S14 in order", theCableIsPulled)
	s.scene("S14 what is off already is not powered off", offAlready)
	s.scene("S14, S42 what is gone already is only built", goneAlready)
	s.scene("the last words of a guest that panics are kept", lastWords)

	s.restart(func(set *settings) { set.checks, set.ladder = []string{"alive", "page", "port"}, fullLadder })
	s.scene("S03 an answer of 503", sickPage(lab.FaultHTTP503, "status"))
	s.scene("S03 no answer", sickPage(lab.FaultHang, "timeout"))
	s.scene("S04 a closed port on one machine", onlyTheOneWithTheClosedPort)
	for _, c := range stops() {
		s.scene("S42 "+c.name, c.play)
	}
	s.scene("S49 cured by the reboot, S19 on another address", curedByTheReboot)

	s.restart(func(set *settings) { set.ladder, set.stop = impatient, "" })
	s.scene("S49 not cured by the reboot", notCuredByTheReboot)
	s.scene("S42 stopped by a person", stoppedByAPerson)
	s.scene("S21 libvirtd killed, and a machine that fails meanwhile", libvirtdKilled)
	s.scene("S21 libvirtd frozen", libvirtdFrozen)

	s.restart(func(set *settings) { set.downAfter = 60 })
	s.scene("S19 a machine that boots by itself and gets another address", anotherAddress)
	s.books()
}

// speaks checks that the command line says what the socket says.
func (s stage) speaks() {
	s.Helper()
	ctx := s.within(moment)
	printed, err := s.hale.printedStatus(ctx)
	s.must(err)
	if len(printed.Fleets) != 1 || printed.Fleets[0].Healthy != s.settings.size {
		s.Errorf("hale status --json: %+v", printed)
	}
	for m := range s.machines() {
		_, err := s.hale.command(ctx, "why", m)
		s.must(err)
	}
}

// books checks at the end that each machine was healed as often as the scenes wanted, and never in between.
func (s stage) books() {
	s.Helper()
	for m, want := range s.expected {
		if got := heals(s.after(0), m); got != want {
			s.Errorf("%s was healed %d times, and %d were called for", m, got, want)
		}
	}
}

// inOrder checks that events of these kinds are among them, in this order.
func (s stage) inOrder(events []api.Event, kinds ...string) {
	s.Helper()
	rest := events
	for i, k := range kinds {
		at := slices.IndexFunc(rest, kind(k))
		if at < 0 {
			s.Errorf("no event %q after %v", k, kinds[:i])
			return
		}
		rest = rest[at+1:]
	}
}

func (s stage) wantCalls(events []api.Event, want ...string) {
	s.Helper()
	if got := calls(events); !slices.Equal(got, want) {
		s.Errorf("calls %v, want %v", got, want)
	}
}

func (s stage) wantSteps(events []api.Event, want ...string) {
	s.Helper()
	if got := steps(events); !slices.Equal(got, want) {
		s.Errorf("steps %v, want %v", got, want)
	}
}

// fault makes a fault happen.
func (s stage) fault(machine string, f lab.Fault) {
	s.Helper()
	s.must(s.lab.Break(s.within(moment), machine, f))
}

func theCableIsPulled(s stage) {
	victim := s.pick()
	old, mark, begin := s.machine(victim), s.journal.mark(), time.Now()
	s.fault(victim, lab.FaultLinkDown)
	bad := s.event("the verdict", mark, of(victim, verdict("unhealthy")))
	if bad.Check != "alive" || bad.Result != "timeout" {
		s.Errorf("the verdict rests on %s, %s", bad.Check, bad.Result)
	}
	if early := begin.Add(2*pingEvery - 100*time.Millisecond); bad.At.Before(early) {
		s.Errorf("the verdict after %s: three probes take longer", bad.At.Sub(begin))
	}
	story := s.healed(victim, mark)
	s.wantCalls(story, "power-off", "delete", "create", "certify")
	s.inOrder(story, "verdict", "incident-opened", "repair-started", "step-chosen", "look", "intent", "outcome",
		"proof",
		"intent", "outcome", "intent", "outcome", "verified", "certified", "repair-ended", "incident-closed")
	s.stands()
	s.alone(victim, mark)
	now := s.machine(victim)
	if now.Address == old.Address || now.Instance == old.Instance || now.Generation != old.Generation+1 {
		s.Errorf("before: %+v\nafter: %+v", old, now)
	}
	// Probing goes on there: it sees the next failure.
	mark = s.journal.mark()
	s.fault(victim, lab.FaultLinkDown)
	s.healed(victim, mark)
	s.alone(victim, mark)
}

func offAlready(s stage) {
	victim := s.pick()
	mark := s.journal.mark()
	s.fault(victim, lab.FaultKill)
	s.wantCalls(s.healed(victim, mark), "delete", "create", "certify")
	s.alone(victim, mark)
}

func goneAlready(s stage) {
	victim := s.pick()
	mark := s.journal.mark()
	s.fault(victim, lab.FaultUndefine) // it runs on, and goes with its process
	s.fault(victim, lab.FaultDestroy)
	story := s.healed(victim, mark)
	if bad := story[slices.IndexFunc(story, verdict("unhealthy"))]; bad.Cause != "gone" {
		s.Errorf("cause %q, want gone", bad.Cause)
	}
	s.wantCalls(story, "delete", "create", "certify") // the delete sweeps up its files
	s.alone(victim, mark)
}

// sickPage is a machine with a sick page, a working network and an open port; the reboot cures it.
func sickPage(f lab.Fault, result string) func(stage) {
	return func(s stage) {
		victim := s.pick()
		mark := s.journal.mark()
		s.fault(victim, f)
		bad := s.event("the verdict", mark, of(victim, verdict("unhealthy")))
		if bad.Check != "page" || bad.Result != result {
			s.Errorf("the verdict rests on %s, %s; want page, %s", bad.Check, bad.Result, result)
		}
		story := s.healed(victim, mark)
		s.wantSteps(story, "reboot")
		s.wantCalls(story, "reboot")
		s.alone(victim, mark)
	}
}

func onlyTheOneWithTheClosedPort(s stage) {
	victim := s.pick()
	boots := map[string]string{}
	for m := range s.machines() {
		page, err := s.lab.ReadPage(s.within(moment), m)
		s.must(err)
		boots[m] = page.BootID
	}
	mark := s.journal.mark()
	s.fault(victim, lab.FaultNoHTTP)
	bad := s.event("the verdict", mark, of(victim, verdict("unhealthy")))
	if bad.Result != "refused" || bad.Check == "alive" {
		s.Errorf("the verdict rests on %s, %s", bad.Check, bad.Result)
	}
	s.healed(victim, mark)
	s.alone(victim, mark)
	for m, boot := range boots {
		page, err := s.lab.AwaitPage(s.within(patience), m)
		s.must(err)
		if again := page.BootID != boot; again != (m == victim) {
			s.Errorf("%s booted anew: %v", m, again)
		}
	}
}

type stop struct {
	name, cause, step string
	faults            []lab.Fault
}

func stops() []stop {
	return []stop{
		{"the guest panics", "crashed", "start", []lab.Fault{lab.FaultPanic}},
		{"the guest shuts down, and the policy says heal", "shutdown", "start", []lab.Fault{lab.FaultOff}},
		{"its process is killed", "crashed", "start", []lab.Fault{lab.FaultKill}},
		{"it is destroyed, and the policy says heal", "stopped", "start", []lab.Fault{lab.FaultDestroy}},
	}
}

func (c stop) play(s stage) {
	victim := s.pick()
	old, mark := s.machine(victim), s.journal.mark()
	for _, f := range c.faults {
		s.fault(victim, f)
	}
	story := s.healed(victim, mark)
	s.wantCalls(story, c.step)
	// A listing may catch the domain on its way, crashed and still there, and the ladder then looks there first: what
	// counts is what it is when hale acts.
	story = story[:slices.IndexFunc(story, intent(c.step))+1]
	slices.Reverse(story)
	if bad := story[slices.IndexFunc(story, verdict("unhealthy"))]; bad.Cause != c.cause {
		s.Errorf("cause %q, want %q", bad.Cause, c.cause)
	}
	if chosen := steps(story); chosen[0] != c.step {
		s.Errorf("step %s, want %s", chosen[0], c.step)
	}
	s.alone(victim, mark)
	if now := s.machine(victim); now.Instance != old.Instance {
		s.Errorf("instance %s became %s", old.Instance, now.Instance)
	}
}

// elsewhere is an address of the lab that it does not assign by itself.
func (s stage) elsewhere() netip.Addr {
	b := s.lab.Info().Subnet.Addr().As4()
	b[2], b[3] = 222, byte(2+s.dice.IntN(250))
	return netip.AddrFrom4(b)
}

func curedByTheReboot(s stage) {
	victim, addr := s.pick(), s.elsewhere()
	s.must(s.lab.Readdress(s.within(moment), victim, addr))
	mark := s.journal.mark()
	s.fault(victim, lab.FaultNoNet)
	story := s.healed(victim, mark)
	s.wantSteps(story, "reboot")
	s.alone(victim, mark)
	if now := s.machine(victim); now.Address != addr.String() {
		s.Errorf("hale looks at %s; it has moved to %s", now.Address, addr)
	}
}

func notCuredByTheReboot(s stage) {
	victim := s.pick()
	mark := s.journal.mark()
	s.fault(victim, lab.FaultLinkDown) // the cable stays out over a reboot; a new machine has a new one
	story := s.healed(victim, mark)
	s.wantSteps(story, "reboot", "recreate")
	s.wantCalls(story, "reboot", "power-off", "delete", "create", "certify")
	if count(story, because("step-skipped", "not-off")) != 1 ||
		count(story, because("step-failed", "not-verified")) != 1 {
		s.Error("no event says why start was skipped, or that the reboot did not help")
	}
	s.alone(victim, mark)
}

func stoppedByAPerson(s stage) {
	victim := s.pick()
	mark := s.journal.mark()
	s.fault(victim, lab.FaultDestroy)
	s.event("held", mark, of(victim, because("held", "stopped-by-person")))
	s.idle(quiet)
	s.untouched(mark)
	if m := s.machine(victim); m.Waiting.Code != "stopped-by-person" || m.Cause != "stopped" {
		s.Errorf("held as %+v", m)
	}
	_, err := s.lab.Virsh(s.within(moment), "start", victim)
	s.must(err)
	s.event("it is well again", mark, of(victim, because("incident-closed", "recovered")))
	s.untouched(mark)
}

func libvirtdKilled(s stage) {
	victim := s.pick()
	mark := s.journal.mark()
	s.must(s.lab.KillLibvirtd(s.within(moment)))
	s.event("the provider is down", mark, because("provider", "down"))
	s.fault(victim, lab.FaultKill)
	bad := s.event("the verdict by the checks", mark, of(victim, verdict("unhealthy")))
	if bad.Cause != "checks" {
		s.Errorf("cause %q while the provider is silent, want checks", bad.Cause)
	}
	s.event("held", mark, of(victim, because("held", "provider-down")))
	s.idle(quiet)
	s.untouched(mark)
	s.judgedOnly(victim, mark)
	s.must(s.lab.StartLibvirtd(s.within(moment)))
	s.healed(victim, mark)
	s.alone(victim, mark)
	s.oneOutage(mark)
}

func libvirtdFrozen(s stage) {
	mark := s.journal.mark()
	s.freeze()
	s.event("the provider is down", mark, because("provider", "down"))
	s.idle(quiet)
	s.judgedOnly("", mark)
	s.must(s.lab.ThawLibvirtd(s.within(moment)))
	s.event("the provider is up", mark, because("provider", "up"))
	s.untouched(mark)
	s.oneOutage(mark)
}

// judgedOnly checks that no other machine has another verdict than healthy.
func (s stage) judgedOnly(machine string, mark int) {
	s.Helper()
	for m := range s.machines() {
		if m != machine && count(s.after(mark), of(m, kind("verdict"))) > 0 {
			s.Errorf("%s was judged because libvirtd was silent", m)
		}
	}
	f, err := s.fleet()
	s.must(err)
	for _, m := range f.Machines {
		if m.Name != machine && m.Verdict != "healthy" {
			s.Errorf("%s is %s because libvirtd is silent", m.Name, m.Verdict)
		}
	}
}

func (s stage) oneOutage(mark int) {
	s.Helper()
	for _, standing := range []string{"down", "up"} {
		s.event("the provider is "+standing, mark, because("provider", standing))
		if n := count(s.after(mark), because("provider", standing)); n != 1 {
			s.Errorf("%d events say that the provider is %s, want one", n, standing)
		}
	}
}

func anotherAddress(s stage) {
	victim, addr := s.pick(), s.elsewhere()
	old, mark := s.machine(victim), s.journal.mark()
	s.must(s.lab.Readdress(s.within(moment), victim, addr))
	s.fault(victim, lab.FaultReboot)
	s.event("the new address", mark, of(victim, because("address", "new-address")))
	s.await("it is healthy there", func() error {
		m := s.machine(victim)
		for _, c := range m.Checks {
			if c.Standing != "up" || m.Address != addr.String() {
				return fmt.Errorf("%s at %s: %s", c.Name, m.Address, c.Standing)
			}
		}
		return nil
	})
	s.untouched(mark)
	if now := s.machine(victim); now.Instance != old.Instance || count(s.after(mark), kind("incident-opened")) > 0 {
		s.Error("a machine that moved was taken for a dead one")
	}
}
