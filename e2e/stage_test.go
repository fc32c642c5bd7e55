package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/lab"
)

const (
	// patience is how long anything may take on a machine that does other things, too.
	patience = 90 * time.Second
	// moment is how long an answer may take.
	moment = 15 * time.Second
	// quiet is for how long nothing must happen, where nothing must.
	quiet = 2 * time.Second

	pollEvery = 50 * time.Millisecond
)

// stage is one lab with one fleet and the hale that cares for it, in the hands of one test or scene.
type stage struct {
	testing.TB
	*props
}

// props are what a stage keeps from scene to scene.
type props struct {
	lab      *lab.Lab
	hale     *controller
	journal  *journal
	watchman *watchman
	initrd   *initrd
	dice     *rand.Rand
	settings settings
	last     string // the last victim
	key      string // of the guests' signatures, where they sign
	expected map[string]int
}

// newStage starts a lab in the given /16. hale is not started.
func newStage(t testing.TB, subnet string, set settings) stage {
	t.Helper()
	guest, err := lab.BuildGuest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(t.Context(), lab.Options{Guest: guest, Subnet: netip.MustParsePrefix(subnet)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newController()
	if err != nil {
		t.Fatal(errors.Join(err, l.Close()))
	}
	s := stage{t, &props{lab: l, hale: c, dice: run.dice(t.Name()), settings: set, expected: map[string]int{}}}
	s.journal = follow(c.client)
	s.watchman = watch(l)
	t.Cleanup(func() {
		s.watchman.end()
		s.journal.end()
		if err := errors.Join(c.close(), l.Close()); err != nil {
			t.Error(err)
		}
	})
	s.initrd, err = newInitrd(c.path("initrd"), guest)
	s.must(err)
	s.configure(func(*settings) {})
	return s
}

// scene plays one scene and then looks from outside whether all is well. A test ends with its first failed scene: what
// follows would say nothing.
func (s stage) scene(name string, play func(s stage)) {
	s.Helper()
	run.scene()
	test, ok := s.TB.(*testing.T)
	if !ok {
		s.Fatal("a scene is part of a test")
	}
	ok = test.Run(name, func(t *testing.T) {
		in := stage{t, s.props}
		defer func() {
			if t.Failed() {
				in.diagnose()
			}
		}()
		mark := in.journal.mark()
		play(in)
		in.stands()
		in.allWell()
		in.lawful()
		for m := range in.machines() {
			in.expected[m] += heals(in.after(mark), m)
		}
	})
	if !ok {
		s.FailNow()
	}
}

func (s stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// within returns a context for something that should be quick.
func (s stage) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), d)
	s.Cleanup(cancel)
	return ctx
}

// machines lists the machines that all fleets have, or may have.
func (s stage) machines() map[string]bool {
	all := map[string]bool{}
	for _, name := range s.settings.fleets() {
		for n := range max(s.settings.size, s.settings.most) {
			all[fmt.Sprintf("%s-%d", name, n+1)] = true
		}
	}
	return all
}

// pick chooses a victim, and not the last one again where there is a choice.
func (s stage) pick() string {
	n := s.dice.IntN(s.settings.size)
	name := func() string { return fmt.Sprintf("%s-%d", s.settings.fleet, n%s.settings.size+1) }
	if name() == s.last {
		n++
	}
	s.last = name()
	return s.last
}

// pause is a random time up to most.
func (s stage) pause(most time.Duration) {
	s.Helper()
	s.idle(time.Duration(s.dice.Int64N(int64(most) + 1)))
}

// idle lets the time pass.
func (s stage) idle(d time.Duration) {
	s.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.Context().Done():
	}
}

// configure changes the configuration file. hale sees it at its next start.
func (s stage) configure(change func(*settings)) {
	s.Helper()
	change(&s.settings)
	s.must(os.WriteFile(s.hale.path("hale.yaml"), []byte(s.settings.render(s.lab, s.initrd.path)), 0o600))
}

// raise starts hale and waits until it owns the fleet and shows its machines: those come a moment after the event.
func (s stage) raise() {
	s.Helper()
	mark := s.journal.mark()
	s.must(s.hale.start())
	for _, name := range s.settings.fleets() {
		s.event("hale owns fleet "+name, mark, func(e api.Event) bool {
			return e.Fleet == name && because("owner", "took-over")(e)
		})
	}
	s.await("hale shows its machines", func() error {
		fleets, err := s.fleets()
		for _, f := range fleets {
			if len(f.Machines) < s.settings.size {
				return fmt.Errorf("%d machines of %s", len(f.Machines), f.Name)
			}
		}
		return err
	})
}

// restart ends hale in good order and starts it with a changed configuration.
func (s stage) restart(change func(*settings)) {
	s.Helper()
	s.must(s.hale.stop(s.within(moment)))
	s.configure(change)
	s.raise()
}

func (s stage) after(mark int) []api.Event {
	events, _ := s.journal.since(mark)
	return events
}

// event awaits the first event after the mark that is meant.
func (s stage) event(what string, mark int, m match) api.Event {
	s.Helper()
	return s.eventWithin(patience, what, mark, m)
}

func (s stage) eventWithin(d time.Duration, what string, mark int, m match) api.Event {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), d)
	defer cancel()
	e, err := s.journal.first(ctx, mark, m)
	if err != nil {
		s.Fatalf("not within %s: %s", d, what)
	}
	return e
}

// await polls until try succeeds.
func (s stage) await(what string, try func() error) {
	s.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			s.Fatalf("not within %s: %s: %v", patience, what, err)
		}
	}
}

// fleets returns the fleets as hale sees them.
func (s stage) fleets() ([]api.Fleet, error) {
	ctx, cancel := context.WithTimeout(s.Context(), moment)
	defer cancel()
	status, err := s.hale.client.Status(ctx)
	if err == nil && len(status.Fleets) != len(s.settings.fleets()) {
		err = fmt.Errorf("%d fleets", len(status.Fleets))
	}
	return status.Fleets, err
}

// fleet returns the fleet as hale sees it: the first one, where there are several.
func (s stage) fleet() (api.Fleet, error) {
	fleets, err := s.fleets()
	if err != nil {
		return api.Fleet{}, err
	}
	i := slices.IndexFunc(fleets, func(f api.Fleet) bool { return f.Name == s.settings.fleet })
	if i < 0 {
		return api.Fleet{}, fmt.Errorf("there is no fleet %s", s.settings.fleet)
	}
	return fleets[i], nil
}

// machine returns one machine as hale sees it.
func (s stage) machine(name string) api.Machine {
	s.Helper()
	fleets, err := s.fleets()
	s.must(err)
	for _, f := range fleets {
		for _, m := range f.Machines {
			if m.Name == name {
				return m
			}
		}
	}
	s.Fatalf("hale knows no %s", name)
	return api.Machine{}
}

// freeze freezes libvirtd, and makes sure that it is thawed at the scene's end.
func (s stage) freeze() {
	s.Helper()
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), moment)
		defer cancel()
		if err := s.lab.ThawLibvirtd(ctx); err != nil {
			s.Error(err)
		}
	})
	s.must(s.lab.FreezeLibvirtd(s.within(moment)))
}

// stands waits until hale has nothing left to do, and everything is healthy.
func (s stage) stands() {
	s.Helper()
	s.await("the fleet stands", func() error {
		fleets, err := s.fleets()
		for _, f := range fleets {
			err = errors.Join(err, unsettled(f))
		}
		return err
	})
}

// unsettled says what is left to be done.
func unsettled(f api.Fleet) error {
	switch {
	case !f.Acting:
		return errors.New("not acting: " + f.NotActing.Text)
	case f.Provider.Standing != "up":
		return errors.New("the provider is " + f.Provider.Standing)
	case f.Brake.Engaged:
		return errors.New("the brake is on")
	case len(f.Machines) != f.Size:
		return fmt.Errorf("%d machines of %d", len(f.Machines), f.Size)
	}
	for _, m := range f.Machines {
		switch {
		case m.Verdict != "healthy" || !m.Certified:
			return fmt.Errorf("%s is %s (certified: %v) %s", m.Name, m.Verdict, m.Certified, m.Text)
		case m.Repair != nil || m.Incident != nil || m.Quarantine != nil || m.Waiting.Code != "" || len(m.Strays) > 0:
			return fmt.Errorf("%s has open business: %+v", m.Name, m)
		}
	}
	return nil
}

// healed waits until the machine's incident after the mark is closed by a repair, and returns what happened to it.
func (s stage) healed(machine string, mark int) []api.Event {
	s.Helper()
	s.event(machine+" is healed", mark, of(machine, because("incident-closed", "healed")))
	return slices.DeleteFunc(s.after(mark), func(e api.Event) bool { return e.Machine != machine })
}

// alone checks that of all machines only this one was repaired, and once.
func (s stage) alone(machine string, mark int) {
	s.Helper()
	for m := range s.machines() {
		want := 0
		if m == machine {
			want = 1
		}
		if n := heals(s.after(mark), m); n != want {
			s.Errorf("%d heals of %s, want %d", n, m, want)
		}
	}
}

// untouched checks that hale ordered nothing since the mark.
func (s stage) untouched(mark int) {
	s.Helper()
	if ops := calls(s.after(mark)); len(ops) > 0 {
		s.Errorf("hale ordered %v", ops)
	}
}

// diagnose shows what a person would look at first.
func (s stage) diagnose() {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), moment)
	defer cancel()
	for m := range s.machines() {
		why, err := s.hale.command(ctx, "why", m)
		s.Logf("hale why %s (%v):\n%s", m, err, tail(why, 40))
	}
	var b strings.Builder
	events := s.after(0)
	for _, e := range events[max(0, len(events)-60):] {
		fmt.Fprintf(&b, "%s %s\n", e.At.Format("15:04:05.000"), e.Text)
	}
	s.Logf("the last events:\n%s", b.String())
	if log, err := os.ReadFile(s.hale.path("log")); err == nil {
		lines := slices.DeleteFunc(strings.Split(string(log), "\n"), func(l string) bool {
			return strings.Contains(l, "msg=record")
		})
		s.Logf("the end of hale's log, without the events:\n%s", tail(strings.Join(lines, "\n"), 40))
	}
	if domains, err := s.lab.Domains(ctx); err == nil {
		s.Logf("domains: %+v", domains)
	}
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
