package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/lab"
)

// TestHaleAndLibvirtdDieDuringRepairs plays builds that never stand, and sudden death of hale and of libvirtd in every
// step of a repair, on one machine.
func TestHaleAndLibvirtdDieDuringRepairs(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.98.0.0/16", settings{
		fleet: "db", size: 1, checks: []string{"alive", "page"}, ladder: replaceOnly, stop: "heal", build: time.Minute,
	})
	s.scene("S71 killed while the first instance is created", killedInTheFirstBuild)
	s.restart(func(set *settings) { set.build = 6 * time.Second })
	s.scene("S15 builds that never get an address, and that serve nothing", buildsThatNeverStand)

	recreate := []death{
		{at: "look", fault: lab.FaultHang, until: kind("step-chosen"), missed: kind("look")},
		{at: "power-off", fault: lab.FaultLinkDown, until: intent("power-off"), missed: intent("delete")},
		{at: "delete", fault: lab.FaultKill, until: intent("delete"), missed: outcome("create")},
		{at: "create", fault: lab.FaultKill, until: intent("create"), most: 300 * time.Millisecond,
			missed: outcome("create")},
		{at: "create, between claim and start", fault: lab.FaultKill, until: intent("create"), then: defined,
			missed: outcome("create")},
		{at: "verify", fault: lab.FaultKill, until: outcome("create"), most: time.Second, missed: kind("verified")},
		{at: "certify", fault: lab.FaultKill, freeze: because("address", "new-address"), until: intent("certify"),
			missed: kind("certified")},
	}
	s.dice.Shuffle(len(recreate), func(i, k int) { recreate[i], recreate[k] = recreate[k], recreate[i] })
	for _, d := range recreate {
		s.scene("S71 killed in "+d.at, d.play)
	}
	for _, at := range []string{"power-off", "create", "verify"} {
		s.scene("libvirtd killed in "+at, libvirtdDiesIn(at))
	}
	s.restart(func(set *settings) { set.build, set.ladder = 6*time.Second, replaceSoon })
	s.scene("libvirtd killed in create, before it knows the process", libvirtdForgets)

	// Whether a reset was sent before hale died cannot be observed: the ladder goes on soon if it was not.
	s.restart(func(set *settings) { set.ladder = impatient })
	for _, d := range []death{
		{at: "start", fault: lab.FaultKill, until: intent("start"), missed: outcome("start")},
		{at: "reboot", fault: lab.FaultHang, until: intent("reboot"), missed: kind("verified")},
	} {
		s.scene("S71 killed in "+d.at, d.play)
	}
}

func killedInTheFirstBuild(s stage) {
	s.raise()
	s.event("the first create", 0, intent("create"))
	s.pause(300 * time.Millisecond)
	s.hale.kill()
	s.raise()
}

// buildsThatNeverStand takes two builds that cannot become healthy, one after the other, and then one that can.
func buildsThatNeverStand(s stage) {
	victim := s.pick()
	mark := s.journal.mark()
	s.must(s.initrd.yield("nodhcp"))
	s.fault(victim, lab.FaultKill)
	first := s.event("the first build is created", mark, outcome("create"))
	s.must(s.initrd.yield("nohttp"))
	mark = s.expires(mark, first)
	second := s.event("the second build is created", mark, outcome("create"))
	s.must(s.initrd.yield("none"))
	s.expires(mark, second)
	s.restart(func(set *settings) { set.build = time.Minute }) // a well one may take its time on a busy machine
	s.stands()
	if m := s.machine(victim); m.Instance == first.Instance || m.Instance == second.Instance {
		s.Errorf("a build that was over stands: %+v", m)
	}
}

// markAfter is the place in the journal right after the event.
func (s stage) markAfter(e api.Event) int {
	return slices.IndexFunc(s.after(0), func(other api.Event) bool { return other.Seq == e.Seq }) + 1
}

// expires checks that the build that was created is left alone until its time is over, and then removed. It returns the
// place in the journal right after that.
func (s stage) expires(mark int, created api.Event) int {
	s.Helper()
	over := s.event("the build's time is over", mark, because("step-failed", "not-verified"))
	if lived := over.At.Sub(created.At); lived < s.settings.build {
		s.Errorf("given up after %s; it has %s", lived, s.settings.build)
	}
	removed := s.event("the remnant is removed", mark, func(e api.Event) bool {
		return e.Kind == "outcome" && e.Op == "delete" && e.Instance == created.Instance && e.Outcome == "done"
	})
	for _, e := range s.after(mark) {
		if e.Kind == "intent" && e.Instance == created.Instance && e.At.Before(over.At) && e.Op != "create" {
			s.Errorf("%s of a build that had time left", e.Op)
		}
	}
	return s.markAfter(removed)
}

// death is hale's, by kill -9, at one moment of a repair.
type death struct {
	at     string
	fault  lab.Fault
	freeze match // libvirtd is frozen at this event, so that what comes next takes until it is thawed
	until  match // the moment begins with this event …
	then   func(stage, string)
	most   time.Duration // … and hale is killed within this time of it
	missed match         // after this event the moment is over
}

// deaths is how often the moment is tried for.
const deaths = 4

func (d death) play(s stage) {
	for try := 1; ; try++ {
		mark := s.journal.mark()
		died := d.die(s)
		if count(s.before(mark, died), d.missed) == 0 {
			return
		}
		if try == deaths {
			s.Errorf("hale was never killed in %s, in %d tries", d.at, try)
			return
		}
		run.again("the moment of " + d.at + " had passed")
		s.stands()
	}
}

// die lets the machine fail and kills hale in the midst of the repair. It returns what tells hale's next life.
func (d death) die(s stage) api.Event {
	victim := s.pick()
	mark := s.journal.mark()
	s.fault(victim, d.fault)
	if d.freeze != nil {
		s.event("the moment to freeze libvirtd", mark, of(victim, d.freeze))
		s.freeze()
	}
	s.event("the moment of "+d.at, mark, of(victim, d.until))
	if d.then != nil {
		d.then(s, victim)
	}
	if d.most > 0 {
		s.pause(d.most)
	}
	s.hale.kill()
	if d.freeze != nil {
		s.must(s.lab.ThawLibvirtd(s.within(moment)))
	}
	mark = s.journal.mark()
	s.pause(200 * time.Millisecond)
	s.raise()
	return s.event("hale's next life", mark, because("owner", "took-over"))
}

// defined returns as soon as libvirtd has written the machine's definition down.
func defined(s stage, machine string) {
	s.Helper()
	s.catch(machine+" is defined", func() bool {
		_, err := os.Stat(filepath.Join(s.lab.Info().Dir, "etc", "qemu", machine+".xml"))
		return err == nil
	})
}

// catch returns as soon as something is so that does not stay so for long.
func (s stage) catch(what string, is func() bool) {
	s.Helper()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	ctx := s.within(moment)
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Fatalf("not within %s: %s", moment, what)
		}
	}
}

// status is the file in which libvirtd keeps what the next libvirtd must know of a domain that runs.
func (s stage) status(machine string) string {
	return filepath.Join(s.lab.Info().Dir, "run", "qemu", machine+".xml")
}

// startingForEver reports whether libvirtd is about to start the machine and has not written down a process: if it dies
// now, the next one believes in that start until a person removes the file.
func (s stage) startingForEver(machine string) bool {
	text, err := os.ReadFile(s.status(machine))
	return err == nil && bytes.Contains(text, []byte("pid='0'"))
}

// before returns the events between the mark and one event.
func (s stage) before(mark int, end api.Event) []api.Event {
	return slices.DeleteFunc(s.after(mark), func(e api.Event) bool { return e.Seq >= end.Seq })
}

// libvirtdDiesIn kills libvirtd in the midst of a repair, and starts it again a little later.
func libvirtdDiesIn(at string) func(stage) {
	return func(s stage) {
		victim := s.pick()
		mark := s.journal.mark()
		s.fault(victim, lab.FaultHang)
		if at == "verify" {
			s.event("the replacement boots", mark, of(victim, outcome("create")))
			s.pause(time.Second)
		} else {
			s.event("the call of "+at, mark, of(victim, intent(at)))
			s.pause(100 * time.Millisecond)
		}
		s.must(s.lab.KillLibvirtd(s.within(moment)))
		if s.startingForEver(victim) { // which is a scene of its own
			s.must(os.Remove(s.status(victim)))
		}
		s.pause(time.Second)
		s.must(s.lab.StartLibvirtd(s.within(moment)))
		s.healed(victim, mark)
	}
}

// libvirtdForgets kills libvirtd in the moments in which it starts a domain and does not know its process yet. The next
// one does not end that domain for anybody: hale has no proof, builds nothing, and calls a person, who mends libvirtd
// and starts the machine.
func libvirtdForgets(s stage) {
	victim := s.pick()
	for try := 1; ; try++ {
		mark := s.journal.mark()
		s.fault(victim, lab.FaultHang)
		s.event("the create", mark, of(victim, intent("create")))
		s.catch(victim+" has a status file", func() bool {
			_, err := os.Stat(s.status(victim))
			return err == nil
		})
		s.must(s.lab.KillLibvirtd(s.within(moment)))
		forgotten := s.startingForEver(victim)
		s.must(s.lab.StartLibvirtd(s.within(moment)))
		if forgotten {
			break
		}
		if try == deaths {
			s.Fatalf("libvirtd was never killed in time, in %d tries", try)
		}
		run.again("the moment had passed")
		s.stands()
	}

	mark := s.journal.mark()
	s.event("a person is called", mark, of(victim, because("paged", "no-proof")))
	for _, e := range s.after(mark) {
		if e.Kind == "intent" && e.Op != "power-off" {
			s.Errorf("%s without proof that the instance is off", e.Op)
		}
	}
	why, err := s.hale.command(s.within(moment), "why", victim)
	if err != nil || !strings.Contains(why, "/run/libvirt/qemu/"+victim+".xml") {
		s.Errorf("hale why does not say how to mend it (%v):\n%s", err, why)
	}
	s.must(s.lab.KillLibvirtd(s.within(moment)))
	s.must(os.Remove(s.status(victim)))
	s.must(s.lab.StartLibvirtd(s.within(moment)))
	_, err = s.lab.Virsh(s.within(moment), "start", victim)
	s.must(err)
}
