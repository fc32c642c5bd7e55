package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/adapters"
	"hale/internal/app/fencing"
	"hale/internal/config"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/fence"
	"hale/internal/kinds"
	"hale/internal/notify"
	notified "hale/internal/notify/memory"
	"hale/internal/probe"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/secret"
	"hale/internal/state"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
)

// mines panic at every nth call, half of them when what was asked for is done.
type mines struct {
	every       int64
	calls, gone atomic.Int64
}

func (m *mines) step(deed func()) {
	if m.calls.Add(1)%m.every != 0 {
		deed()
		return
	}
	if m.gone.Add(1)%2 == 0 {
		deed()
	}
	panic("boom")
}

// minedProvider panics in the calls that heal.
type minedProvider struct {
	provider.Provider
	*mines
}

func (m minedProvider) List(ctx context.Context) (l provider.Listing, err error) {
	m.step(func() { l, err = m.Provider.List(ctx) })
	return l, err
}

func (m minedProvider) Get(ctx context.Context, ref provider.Ref) (i fleet.Instance, err error) {
	m.step(func() { i, err = m.Provider.Get(ctx, ref) })
	return i, err
}

func (m minedProvider) Start(ctx context.Context, ref provider.Ref) (err error) {
	m.step(func() { err = m.Provider.Start(ctx, ref) })
	return err
}

// minedTransport panics when it connects.
type minedTransport struct {
	probe.Transport
	*mines
}

func (m minedTransport) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	m.step(func() {}) // it has no connection yet that would stay open
	return m.Transport.Dial(ctx, network, address)
}

// minedTarget panics when it is told something.
type minedTarget struct {
	notify.Target
	*mines
}

func (m minedTarget) Send(ctx context.Context, msg notify.Message) (a notify.Answer, err error) {
	m.step(func() { a, err = m.Target.Send(ctx, msg) })
	return a, err
}

// minedController panics when it is asked how its host stands.
type minedController struct{ *mines }

// minedFence is the kind of a fence that is behind mines.
type minedFence struct{ mines *mines }

func (minedFence) Secrets() []secret.Secret { return nil }
func (minedFence) TellsHosts() bool         { return true }

func (f minedFence) Arm(string, fleet.HostName) kinds.Armed {
	return kinds.Armed{Controller: minedController{f.mines}}
}

func (m minedController) Power(context.Context) (p fence.Power, err error) {
	m.step(func() { p = fence.PowerOn })
	return p, nil
}

func (minedController) Off(context.Context) error { return nil }

// survivors are five fleets, each on a simulated provider of its own. What each is called is what panics there, but for
// calm.
const survivors = `
notify: {bell: {command: {command: [/bin/true]}}}
fences: {power: {command: {command: [/bin/false]}, test: 1m}}
`

var survivorNames = []fleet.Name{"calm", "adapter", "check", "target", "fence"}

func survivorsConfig(t *testing.T) *config.Config {
	t.Helper()
	providers, fleets := "providers:\n", "fleets:\n"
	for _, n := range survivorNames {
		extra := ""
		if n == "fence" {
			extra = ", hosts: [{name: h1, fence: [power]}]"
		}
		providers += fmt.Sprintf("  %ss: {type: simulated, boot: 100ms, poll: 500ms%s}\n", n, extra)
		fleets += fmt.Sprintf("  %s:\n    provider: %ss\n    size: 3\n"+
			"    checks: {page: {http: {}, every: 200ms, timeout: 150ms, down_after: 2, up_after: 1}}\n"+
			"    repair: {attempts: 100 in 1m}\n", n, n)
	}
	c, err := config.Parse("hale.yaml", []byte(providers+survivors+fleets), adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Fleets {
		if f := &c.Fleets[i]; f.Name != "target" {
			f.Notify = policy.Notify{} // the other fleets send no messages
		}
	}
	return c
}

// survival is hale as it runs, with mines laid.
type survival struct {
	t     *testing.T
	site  *site
	store state.Store
	laid  map[fleet.Name]*mines
}

// newSurvival makes the site, and lays the mines where fleets are not.
func newSurvival(t *testing.T) *survival {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s := &survival{t: t, store: memory.New(memory.Options{}).Open(nil), laid: map[fleet.Name]*mines{
		"adapter": {every: 5}, "check": {every: 20}, "target": {every: 1}, "fence": {every: 2},
	}}
	c := survivorsConfig(t)
	var err error
	if s.site, err = newSite(c, nil, log); err != nil {
		t.Fatal(err)
	}
	for i := range c.Fences {
		c.Fences[i].Settings = minedFence{s.laid["fence"]}
	}
	s.site.teller, s.site.fencing = newTeller(c, "test", "here", s.site.defects), fencing.New(c, log, s.site.defects)
	bell := listed{Target: minedTarget{&notified.Target{}, s.laid["target"]}}
	s.site.teller.targets.Store(&map[policy.TargetName]listed{"bell": bell})
	rough := adapterOf(s.site.adapters, "adapters").Provider
	for i := range s.site.adapters {
		if a := &s.site.adapters[i]; a.config.Name == "checks" {
			a.Transport = minedTransport{a.Transport, s.laid["check"]}
		}
	}
	err = s.site.staff(staffing{
		store:  s.store,
		server: "here",
		specs:  c.Fleets,
		log:    log,
		wrap: func(p provider.Provider) provider.Provider {
			if p == rough {
				return minedProvider{p, s.laid["adapter"]}
			}
			return p
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run lets hale work until stop is called.
func (s *survival) run() (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 2)
	go func() { ended <- s.site.run(ctx) }()
	go func() {
		s.site.fencing.Run(ctx)
		ended <- nil
	}()
	return func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				s.t.Error(err)
			}
		}
		s.site.close()
	}
}

func (s *survival) well(name fleet.Name) bool {
	for _, f := range s.site.engine.Status() {
		if f.Spec.Name != name {
			continue
		}
		for _, v := range f.Machines {
			m := v.Machine
			if m.Health.Verdict != belief.VerdictHealthy || m.Repair != nil || m.Incident != nil ||
				!m.Current.Certified {
				return false
			}
		}
		return f.Acting == "" && len(f.Machines) == f.Spec.Size
	}
	return false
}

// crash ends a machine of the fleet, and returns what tells whether it is healed.
func (s *survival) crash(name fleet.Name, n int) (healed func() bool) {
	s.t.Helper()
	world := adapterOf(s.site.adapters, fleet.ProviderName(name+"s")).world
	i, ok := world.Instance(name.Machine(n))
	if !ok {
		return func() bool { return false }
	}
	if _, err := world.Inject(simulated.Crash{Instance: i.ID}); err != nil {
		s.t.Fatal(err)
	}
	return func() bool {
		is, ok := world.Instance(name.Machine(n))
		return ok && is.Power == fleet.PowerRunning && s.well(name)
	}
}

func (s *survival) await(what string, within time.Duration, holds func() bool) {
	s.t.Helper()
	over := time.NewTimer(within)
	defer over.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-over.C:
			s.t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// TestHaleOutlivesWhatPanics runs hale with an adapter, a check, a target and the controller of a fence that panic now
// and then, for twenty seconds, or for as long as HALE_SURVIVE says (make survive). The calm fleet is healed all the
// time, the others in the end, and each place is one record and one page.
func TestHaleOutlivesWhatPanics(t *testing.T) {
	t.Parallel()
	lasts := 20 * time.Second
	if said := os.Getenv("HALE_SURVIVE"); said != "" {
		var err error
		if lasts, err = time.ParseDuration(said); err != nil {
			t.Fatalf("HALE_SURVIVE=%s: %v; write 20s or 10m", said, err)
		}
	}
	s := newSurvival(t)
	stop := s.run()
	defer stop()
	s.await("the fleets stand", time.Minute, func() bool { return s.well("calm") && s.well("target") })
	world := adapterOf(s.site.adapters, "targets").world
	first, _ := world.Instance("target-1")
	full := simulated.Paused{Instance: first.ID, By: fleet.StopIOError} // which a person is told of
	lift, err := world.Inject(full)
	if err != nil {
		t.Fatal(err)
	}
	heals := 0
	for end := time.Now().Add(lasts); time.Now().Before(end); heals++ {
		if heals%5 == 0 && s.well("adapter") && s.well("check") {
			s.crash("adapter", 1)
			s.crash("check", 2)
		}
		s.site.fencing.Test(t.Context(), "fences", "h1")
		s.await("the calm fleet is healed", time.Minute, s.crash("calm", heals%3+1))
	}
	lift()
	for _, m := range s.laid {
		m.calls.Store(-1 << 40) // no panic from here on
	}
	for _, name := range survivorNames {
		s.await(string(name)+" is well in the end", 2*time.Minute, func() bool { return s.well(name) })
	}
	t.Logf("%d heals of the calm fleet in %v", heals, lasts)
	for name, why := range map[fleet.Name]fleet.Reason{
		"adapter": fleet.ReasonProviderPanicked, "check": fleet.ReasonCheckPanicked, "fence": fleet.ReasonFencePanicked,
		"target": fleet.ReasonTargetPanicked, "calm": "",
	} {
		s.wantConfessed(name, why)
	}
}

// wantConfessed wants one record and one page, for the reason, or none of any.
func (s *survival) wantConfessed(name fleet.Name, why fleet.Reason) {
	s.t.Helper()
	records, _, err := journal.Read(s.t.Context(), s.store, name)
	if err != nil {
		s.t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range records {
		if strings.HasSuffix(string(r.Reason), "-panicked") {
			got[string(r.Kind)+" "+string(r.Reason)]++
		}
	}
	switch {
	case why == "" && len(got) == 0:
	case why != "" && len(got) == 2 && got["defect "+string(why)] == 1 && got["paged "+string(why)] == 1:
	default:
		s.t.Errorf("%s: %v, want one record and one page of %q", name, got, why)
	}
	if n := s.laid[name]; n != nil {
		s.t.Logf("%s panicked %d times", name, n.gone.Load())
	}
}
