package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/api"
	"hale/internal/notify"
	"hale/internal/testbed/lab"
)

// TestS22S24S52APersonIsToldAndObeyed plays what a person is told of, and what they order, on one fleet.
func TestS22S24S52APersonIsToldAndObeyed(t *testing.T) {
	t.Parallel()
	told := receive(t)
	ladder := func(steps string) func(*settings) {
		return func(set *settings) { set.fleetYAML = attended(steps, "50 in 1h", told.URL) }
	}
	set := settings{fleet: "web", size: 3}
	ladder("[page, recreate]")(&set)
	s := newStage(t, "10.91.0.0/16", set)
	s.scene("a fleet is built without a page", func(s stage) {
		s.raise()
		s.stands()
		s.wasTold(told, "")
	})
	s.scene("S24 an alert and an act, each once", func(s stage) { toldAndHealed(s, told) })

	s.reload(func(set *settings) { set.fleetYAML = attended("[recreate]", "3 in 1h", told.URL) })
	s.scene("S22 a rebuild that fails, again and again; S24 told once, and reminded", func(s stage) {
		attemptsRunOut(s, told)
	})

	s.reload(ladder("[start, recreate]"))
	s.scene("S52 a machine is removed by order, and hale dies in the midst of it", func(s stage) {
		removedByOrder(s, told)
	})
	s.scene("S52 a removal that fails is given up, and healing goes on", func(s stage) { removalFails(s, told) })
	s.scene("S52 an update that fails, and one that does not", func(s stage) { updateFails(s, told) })
	s.scene("another memory, in place", func(s stage) { sizeInPlace(s, told) })
	s.books()
}

// attended is a fleet with these steps and a webhook.
func attended(steps, attempts, url string) string {
	return `      seed: true
    checks:
      alive: {ping: {}, every: 500ms, timeout: 450ms, down_after: 3}
      page: {http: {path: /healthz}, every: 1s, timeout: 900ms, down_after: 3}
    build_within: 1m
    on_external_stop: heal
    repair: {attempts: ` + attempts + `, backoff: 1s, steps: ` + steps + `}
    update: {canary: 1, soak: 1s}
    notify: {to: [person], remind_every: 1m}
notify:
  person: {webhook: {url: "` + url + `", allow_addresses: [127.0.0.1]}}`
}

// receiver is the server behind the webhook.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	messages []notify.Message
}

func receive(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		var m notify.Message
		body, err := io.ReadAll(q.Body)
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		if err != nil {
			t.Errorf("a message that cannot be read: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		// One that comes twice has the same key: that is promised when hale dies in between.
		if !slices.ContainsFunc(r.messages, func(other notify.Message) bool { return other.Key == m.Key }) {
			r.messages = append(r.messages, m)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// about lists what it was told of a machine; of all, if none is named.
func (r *receiver) about(machine string) []notify.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.messages), func(m notify.Message) bool {
		return machine != "" && m.Machine != machine
	})
}

// forget lets a scene begin with nothing told.
func (r *receiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = nil
}

// wasTold waits until the person was told all that hale has to say, and checks that it was just this of the machine, of
// one incident.
func (s stage) wasTold(told *receiver, machine string, want ...notify.Event) []notify.Message {
	s.Helper()
	s.await("no message waits or is missing", func() error {
		f, err := s.fleet()
		if n := len(told.about(machine)); err == nil && (f.Messages.Waiting+f.Messages.Dead > 0 || n < len(want)) {
			err = fmt.Errorf("%d messages arrived, %+v", n, f.Messages)
		}
		return err
	})
	messages := told.about(machine)
	var got []notify.Event
	for _, m := range messages {
		got = append(got, m.Event)
		if m.Incident != messages[0].Incident {
			s.Errorf("messages of several incidents: %+v", messages)
		}
	}
	if !slices.Equal(got, want) {
		s.Errorf("a person was told %v, want %v: %+v", got, want, messages)
	}
	return messages
}

func toldAndHealed(s stage, told *receiver) {
	victim := s.pick()
	mark := s.journal.mark()
	s.fault(victim, lab.FaultKill)
	story := s.healed(victim, mark)
	s.wantCalls(story, "delete", "create", "certify")
	s.alone(victim, mark)
	s.wasTold(told, "", notify.EventPage, notify.EventHealed)
	told.forget()
}

// attemptsRunOut takes the file away that machines boot from. While a person is waited for, another machine is held by
// one.
func attemptsRunOut(s stage, told *receiver) {
	victim := s.pick()
	mark := s.journal.mark()
	s.must(os.Rename(s.initrd.path, s.initrd.path+".away"))
	s.fault(victim, lab.FaultKill)
	s.event("quarantine", mark, of(victim, because("quarantined", "attempts")))
	s.must(os.Rename(s.initrd.path+".away", s.initrd.path))
	s.pauses(victim, mark, time.Second, 2*time.Second)
	page := s.wasTold(told, victim, notify.EventPage)[0]

	after := s.journal.mark()
	heldByAPerson(s, victim)
	reminded := s.event("a reminder", after, of(victim, kind("reminded")))
	if early := reminded.At.Sub(page.At); early < time.Minute {
		s.Errorf("reminded after %s", early)
	}
	if n := count(s.after(after), of(victim, kind("intent"))); n > 0 {
		s.Errorf("%d calls for a machine in quarantine", n)
	}
	if out := s.says("retry", victim); !strings.Contains(out, victim) {
		s.Errorf("hale retry says %q", out)
	}
	s.healed(victim, after)
	s.stands()
	s.wasTold(told, "", notify.EventPage, notify.EventReminder, notify.EventHealed)
	told.forget()
}

// pauses checks that so many attempts were made, and how long it was from the end of one to the next.
func (s stage) pauses(machine string, mark int, want ...time.Duration) {
	s.Helper()
	events := s.after(mark)
	at := func(k string) []time.Time {
		var out []time.Time
		for _, e := range events {
			if e.Machine == machine && e.Kind == k {
				out = append(out, e.At)
			}
		}
		return out
	}
	begun, ended := at("repair-started"), at("repair-ended")
	if len(begun) != len(want)+1 || len(ended) != len(begun) {
		s.Fatalf("%d attempts, %d of them ended; want %d", len(begun), len(ended), len(want)+1)
	}
	for i, least := range want {
		if pause := begun[i+1].Sub(ended[i]); pause < least {
			s.Errorf("attempt %d began %s after the one before, want %s", i+2, pause, least)
		}
	}
}

// heldByAPerson takes a machine out of hale's hands, over a death of hale, and gives it back switched off.
func heldByAPerson(s stage, other string) {
	victim := s.pick()
	for victim == other {
		victim = s.pick()
	}
	s.says("hold", victim, "--for", "2h", "--reason", "kernel upgrade")
	mark := s.journal.mark()
	s.fault(victim, lab.FaultDestroy)
	s.event("held", mark, of(victim, because("held", "hold")))
	s.hale.kill()
	s.raise()
	s.await("hale sees that it is off", func() error {
		if m := s.machine(victim); m.Waiting.Code != "hold" {
			return fmt.Errorf("%+v", m)
		}
		return nil
	})
	s.idle(quiet)
	if n := count(s.after(mark), of(victim, kind("intent"))); n > 0 {
		s.Errorf("%d calls for a machine that is held", n)
	}
	if out := s.says("holds"); !strings.Contains(out, victim) || !strings.Contains(out, "kernel upgrade") {
		s.Errorf("hale holds says %q", out)
	}
	s.says("release", victim)
	s.healed(victim, mark)
}

// planned matches the name of a plan that waits.
var planned = regexp.MustCompile(`(?m)^plan (\S+) waits to be confirmed: (.*)$`)

// plan reloads a changed configuration that needs a person's word, and returns the plan's name as hale apply prints it.
func (s stage) plan(change func(*settings), want ...string) string {
	s.Helper()
	s.reload(change)
	return s.waits(want...)
}

func (s stage) waits(want ...string) string {
	s.Helper()
	out := s.says("apply")
	found := planned.FindStringSubmatch(out)
	if found == nil {
		s.Fatalf("no plan waits:\n%s", out)
	}
	for _, w := range want {
		if !strings.Contains(out, w) {
			s.Errorf("hale apply does not say %q:\n%s", w, out)
		}
	}
	return found[1]
}

// noFailure checks that the machine had no failure since the mark, and that hale sent no page.
func (s stage) noFailure(machine string, mark int, told *receiver) {
	s.Helper()
	for _, k := range []string{"incident-opened", "paged", "quarantined"} {
		if n := count(s.after(mark), of(machine, kind(k))); n > 0 {
			s.Errorf("%d events %q of %s", n, k, machine)
		}
	}
	s.wasTold(told, "")
}

func removedByOrder(s stage, told *receiver) {
	plan := s.plan(func(set *settings) { set.size = 2 }, "from 3 to 2 machines", "would remove web-3")
	mark := s.journal.mark()
	s.idle(quiet)
	s.untouched(mark)
	s.says("apply", "--confirm", plan, "--reason", "fewer visitors")
	s.event("it is powered off", mark, of("web-3", intent("power-off")))
	s.hale.kill()
	s.raise()
	if count(s.before(mark, s.event("hale's next life", mark, because("owner", "took-over"))),
		because("change", "size-down")) > 0 {
		run.again("the removal was over before hale died")
	}
	s.event("it has left", mark, of("web-3", because("change", "size-down")))
	s.stands()
	s.noFailure("web-3", mark, told)
	if out := s.says("apply"); !strings.Contains(out, "Nothing waits") {
		s.Errorf("hale apply says %q", out)
	}

	mark = s.journal.mark()
	s.last = ""
	victim := s.pick()
	s.fault(victim, lab.FaultKill)
	s.wantCalls(s.healed(victim, mark), "start")
}

// removalFails puts a folder where libvirt keeps the machine's definition, so that it cannot be removed.
func removalFails(s stage, told *receiver) {
	definition := filepath.Join(s.lab.Info().Dir, "etc", "qemu", "web-2.xml")
	s.must(os.Rename(definition, definition+".away"))
	s.must(os.MkdirAll(filepath.Join(definition, "in-the-way"), 0o700))
	old := s.machine("web-2")
	mark := s.journal.mark()
	s.says("delete", "web-2", "--reason", "bad host")
	s.event("it is given up", mark, of("web-2", because("paged", "given-up")))
	s.must(os.RemoveAll(definition))
	s.must(os.Rename(definition+".away", definition))
	s.event("it is healed", mark, of("web-2", kind("verified")))
	s.stands()
	if out := s.says("apply"); !strings.Contains(out, "Nothing waits") {
		s.Errorf("hale apply says %q", out)
	}
	if now := s.machine("web-2"); now.Instance != old.Instance {
		s.Errorf("%s became %s", old.Instance, now.Instance)
	}
	if pages := told.about("web-2"); len(pages) == 0 || pages[0].Event != notify.EventPage ||
		pages[0].Reason != "given-up" {
		s.Errorf("a person was told %+v", pages)
	}
	told.forget()

	mark = s.journal.mark()
	s.fault("web-2", lab.FaultKill)
	s.wantCalls(s.healed("web-2", mark), "start")
}

// updateFails brings a template from which nothing can be built at first.
func updateFails(s stage, told *receiver) {
	plan := s.plan(func(set *settings) { set.release++ }, "another template",
		"would replace web-1", "would replace web-2")
	mark := s.journal.mark()
	s.must(os.Rename(s.initrd.path, s.initrd.path+".away"))
	s.says("apply", "--confirm", plan)
	failed := s.event("a person is told", mark, because("paged", "update-stopped")).Machine
	s.event("the update stops", mark, because("change", "update-stopped"))
	s.must(os.Rename(s.initrd.path+".away", s.initrd.path))
	s.healed(failed, mark)
	s.isOfRelease(failed, "")
	others := s.machines()
	delete(others, failed)
	for other := range others {
		s.fault(other, lab.FaultKill)
		s.wantCalls(s.healed(other, mark), "start") // and nothing before that: it kept its template
		s.isOfRelease(other, "")
	}
	s.stands()
	s.wasTold(told, failed, notify.EventPage, notify.EventHealed)

	plan = s.waits("another template")
	mark = s.journal.mark()
	s.says("apply", "--confirm", plan)
	s.event("the update is over", mark, because("change", "updated"))
	s.stands()
	for m := range s.machines() {
		s.isOfRelease(m, s.settings.released())
		s.wantCalls(slices.DeleteFunc(s.after(mark), func(e api.Event) bool { return e.Machine != m }), "power-off",
			"delete", "create", "certify")
	}
	told.forget()
}

// isOfRelease checks the end of the command line in the machine's definition.
func (s stage) isOfRelease(machine, release string) {
	s.Helper()
	s.isDefinedWith(machine, fmt.Sprintf("hale.name=%s%s</cmdline>", machine, release))
}

func (s stage) isDefinedWith(machine, want string) {
	s.Helper()
	definition, err := s.lab.Virsh(s.within(moment), "dumpxml", machine)
	s.must(err)
	if !strings.Contains(definition, want) {
		s.Errorf("%s has no %s", machine, want)
	}
}

// sizeInPlace gives each machine another memory: it is off for a moment, and stays the instance that it was.
func sizeInPlace(s stage, told *receiver) {
	plan := s.plan(func(set *settings) { set.memory = lab.GuestMemoryMiB + 4 }, "another template")
	mark, before := s.journal.mark(), map[string]api.Machine{}
	for m := range s.machines() {
		before[m] = s.machine(m)
	}
	s.says("apply", "--confirm", plan)
	s.event("the update is over", mark, because("change", "updated"))
	s.stands()
	for m, was := range before {
		s.isDefinedWith(m, fmt.Sprintf("<memory unit='KiB'>%d</memory>", s.settings.memory<<10))
		if is := s.machine(m); is.Instance != was.Instance {
			s.Errorf("%s was %s and is %s", m, was.Instance, is.Instance)
		}
		s.wantCalls(slices.DeleteFunc(s.after(mark), func(e api.Event) bool { return e.Machine != m }), "power-off",
			"adjust", "start")
		s.noFailure(m, mark, told)
	}
	told.forget()
}
