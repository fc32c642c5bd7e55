package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
)

const (
	many      = 300 // machines
	some      = 120 // of them, which are gone at once: so few that a listing without them is believed
	lanes     = 2   // that of repairs, and that of what listings lack
	laneWidth = 8   // questions at once in each
)

// traffic counts what the provider behind it is asked.
type traffic struct {
	provider.Provider
	mu         sync.Mutex
	gets, list tally
}

type tally struct{ now, most, sum int }

func (f *traffic) count(t *tally) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t.now, t.sum = t.now+1, t.sum+1
	t.most = max(t.most, t.now)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		t.now--
	}
}

// since forgets what was counted, and returns it.
func (f *traffic) since() (gets, lists tally) {
	f.mu.Lock()
	defer f.mu.Unlock()
	gets, lists = f.gets, f.list
	f.gets, f.list = tally{now: gets.now}, tally{now: lists.now}
	return gets, lists
}

// Get implements provider.Reader.
func (f *traffic) Get(ctx context.Context, ref provider.Ref) (fleet.Instance, error) {
	end := f.count(&f.gets)
	defer end()
	return f.Provider.Get(ctx, ref)
}

// List implements provider.Reader.
func (f *traffic) List(ctx context.Context) (provider.Listing, error) {
	end := f.count(&f.list)
	defer end()
	return f.Provider.List(ctx)
}

// crowded tells a story of a fleet of many machines, and of one of three beside it, on one provider that takes the time
// to answer.
func crowded(t *testing.T, o simulated.Options, tale func(s *story, asked *traffic)) {
	t.Helper()
	o.Latency = 200 * time.Millisecond
	spec := only(web(many), policy.Check{
		Name: "alive", Kind: policy.CheckPing, Every: 5 * time.Second, Timeout: time.Second, DownAfter: 3, UpAfter: 1,
	})
	spec.Limits.InBuild = many
	tell(t, o, spec, func(s *story) {
		beside := web(3)
		beside.Name = "db"
		s.beside = []policy.Spec{beside}
		asked := &traffic{}
		s.adapter = func(p provider.Provider) provider.Provider {
			asked.Provider = p
			return asked
		}
		s.start()
		s.await(5*time.Minute, "both stand", func() bool { return s.well(0) && s.well(1) })
		s.pass(time.Minute)
		asked.since()
		tale(s, asked)
	})
}

// well reports whether all machines of the fleet are.
func (s *story) well(of int) bool {
	for _, v := range s.hale.engine.Status()[of].Machines {
		m := v.Machine
		if m.Health.Verdict != belief.VerdictHealthy || m.Repair != nil || m.Incident != nil || !m.Current.Certified {
			return false
		}
	}
	return true
}

// healsBeside lets a machine of the other fleet crash, and returns how long that took to heal.
func (s *story) healsBeside() time.Duration {
	s.t.Helper()
	began := time.Now()
	s.inject(simulated.Crash{Instance: s.idOf("db-2")})
	s.await(time.Minute, "its failure is seen", func() bool { return !s.well(1) })
	s.await(time.Minute, "it is healed", func() bool { return s.well(1) })
	return time.Since(began)
}

// vanish removes the machines' instances.
func (s *story) vanish(ns ...int) {
	s.t.Helper()
	for _, n := range ns {
		s.inject(simulated.Vanishes{Instance: s.id(n)})
	}
}

// upTo returns the numbers from 1.
func upTo(n int) []int {
	ns := make([]int, n)
	for i := range ns {
		ns[i] = i + 1
	}
	return ns
}

// knownGone counts the machines that are believed to have lost their instance, or are built anew for that already.
func (s *story) knownGone() (n int) {
	for _, v := range s.status().Machines {
		if v.Machine.Generation > 1 || v.Sighting(v.Machine.Current.ID).Instance.Power == fleet.PowerGone {
			n++
		}
	}
	return n
}

// What is gone at once is asked about in turns, and believed gone by a few listings.
func TestManyAbsencesAreAskedAboutInTurns(t *testing.T) {
	t.Parallel()
	crowded(t, simulated.Options{}, func(s *story, asked *traffic) {
		s.vanish(upTo(some)...)
		s.await(30*time.Second, "all are known to be gone", func() bool { return s.knownGone() >= some })
		gets, lists := asked.since()
		if gets.most > lanes*laneWidth || lists.most > 2 {
			s.t.Errorf("%d questions and %d listings were under way at once", gets.most, lists.most)
		}
		if gets.sum > some+10 || lists.sum > 20 {
			s.t.Errorf("%d questions and %d listings in all", gets.sum, lists.sum)
		}
	})
}

// Where nothing is left of a fleet, no listing is believed: all are asked about again and again, but not at each poll.
// What fails in another fleet is healed as ever meanwhile.
func TestAbsencesThatNobodyBelievesAreAskedAboutSeldom(t *testing.T) {
	t.Parallel()
	crowded(t, simulated.Options{}, func(s *story, asked *traffic) {
		alone := s.healsBeside()
		s.pass(time.Minute)
		asked.since()
		s.vanish(upTo(many)...)
		if took := s.healsBeside(); took > alone+2*time.Second {
			s.t.Errorf("it is healed after %v; alone, after %v", took, alone)
		}
		s.pass(2 * time.Minute)
		gets, lists := asked.since()
		if gets.most > lanes*laneWidth || lists.most > 2 {
			s.t.Errorf("%d questions and %d listings were under way at once", gets.most, lists.most)
		}
		if gets.sum > 6*many || lists.sum > 150 || s.knownGone() > 0 {
			s.t.Errorf("%d questions, %d listings; %d believed to be gone", gets.sum, lists.sum, s.knownGone())
		}
	})
}

// A provider that says that it is asked too often is asked less and less, and about all once it answers.
func TestAProviderThatIsAskedTooOftenIsAskedLess(t *testing.T) {
	t.Parallel()
	crowded(t, simulated.Options{}, func(s *story, asked *traffic) {
		lift := s.inject(simulated.Calls{Op: provider.OpGet, Effect: simulated.Fails, Kind: fault.Throttled})
		s.vanish(upTo(some)...)
		s.pass(time.Minute)
		first, _ := asked.since()
		s.pass(time.Minute)
		second, _ := asked.since()
		if first.sum > 100 || second.sum > first.sum/2 {
			s.t.Errorf("it is asked %d times in a minute, and %d times in the next", first.sum, second.sum)
		}
		lift()
		s.await(time.Minute, "all are known to be gone", func() bool { return s.knownGone() >= some })
	})
}

// Hosts that each speak for themselves have turns of their own: one that takes questions and does not answer keeps
// nobody from another.
func TestAHostThatIsSilentKeepsNobodyFromAskingAnother(t *testing.T) {
	t.Parallel()
	crowded(t, threeHosts(), func(s *story, _ *traffic) {
		s.inject(simulated.Calls{Op: provider.OpGet, Host: "h1", Effect: simulated.Hangs})
		elsewhere := 0
		for _, v := range s.status().Machines[:some] {
			if v.Machine.Current.Host != "h1" {
				elsewhere++
			}
		}
		s.vanish(upTo(some)...)
		known := func() bool { return s.knownGone() == elsewhere }
		s.await(20*time.Second, "those elsewhere are known to be gone", known)
	})
}
