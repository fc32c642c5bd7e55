package health_test

import (
	"fmt"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/health"
	"hale/internal/core/policy"

	"pgregory.net/rapid"
)

// grown draws a tree in which each term stands once, so that what is not known can be tried out both ways.
func grown(t *rapid.T, depth int, next *int) policy.Condition {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		*next++
		return term(fleet.CheckName(fmt.Sprint("c", *next)))
	}
	c := policy.Condition{
		Op: rapid.SampledFrom([]policy.ConditionOp{policy.OpAny, policy.OpAll, policy.OpAtLeast}).Draw(t, "op"),
	}
	for range rapid.IntRange(1, 3).Draw(t, "of") {
		c.Of = append(c.Of, grown(t, depth-1, next))
	}
	if c.Op == policy.OpAtLeast {
		c.N = rapid.IntRange(1, len(c.Of)).Draw(t, "n")
	}
	return c
}

// plainly evaluates a condition with known terms only.
func plainly(c policy.Condition, is map[fleet.CheckName]bool) bool {
	n := 0
	for _, of := range c.Of {
		if plainly(of, is) {
			n++
		}
	}
	switch c.Op {
	case policy.OpAny:
		return n > 0
	case policy.OpAll:
		return n == len(c.Of)
	case policy.OpAtLeast:
		return n >= c.N
	case policy.OpTerm:
	}
	return is[c.Term]
}

// The dumb twin tries every way in which the unknown terms may turn out: known is what is the same in all of them.
func TestUnknownIsWhatCouldGoBothWays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		terms := 0
		c := grown(t, 3, &terms)
		truths, unknown := map[fleet.CheckName]health.Truth{}, []fleet.CheckName{}
		for i := range terms {
			name := fleet.CheckName(fmt.Sprint("c", i+1))
			truths[name] = rapid.SampledFrom([]health.Truth{health.True, health.False, health.Unknown}).Draw(t, "truth")
			if truths[name] == health.Unknown && len(unknown) < 10 {
				unknown = append(unknown, name)
			} else if truths[name] == health.Unknown {
				truths[name] = health.False
			}
		}
		yes, no := false, false
		for way := range 1 << len(unknown) {
			is := map[fleet.CheckName]bool{}
			for name, truth := range truths {
				is[name] = truth == health.True
			}
			for i, name := range unknown {
				is[name] = way&(1<<i) != 0
			}
			if plainly(c, is) {
				yes = true
			} else {
				no = true
			}
		}
		want := health.Unknown
		if !no {
			want = health.True
		} else if !yes {
			want = health.False
		}
		if got := health.Evaluate(c, func(n fleet.CheckName) health.Truth { return truths[n] }); got != want {
			t.Fatalf("%+v with %v is %v, want %v", c, truths, got, want)
		}
	})
}

// The dumb twin walks from each check in as many steps as there are checks.
func TestOnlyTheRootSpeaks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "checks")
		checks, states := make([]policy.Check, n), make([]fleet.CheckState, n)
		name := func(i int) fleet.CheckName { return fleet.CheckName(fmt.Sprint("c", i)) }
		for i := range checks {
			checks[i].Name = name(i)
			states[i] = fleet.CheckState{
				Check:    name(i),
				Standing: rapid.SampledFrom([]fleet.Standing{up, failing, down, unknown}).Draw(t, "standing"),
			}
			for d := range i { // no circles
				if rapid.IntRange(0, 2).Draw(t, "depends") == 0 {
					checks[i].DependsOn = append(checks[i].DependsOn, name(d))
				}
			}
		}
		muted := rapid.Uint64Range(0, 1<<n-1).Draw(t, "muted")
		got := health.Heed(checks, health.Doubted{Muted: muted}, states)
		reach := map[fleet.CheckName]map[fleet.CheckName]bool{}
		for range n {
			for _, c := range checks {
				if reach[c.Name] == nil {
					reach[c.Name] = map[fleet.CheckName]bool{}
				}
				for _, d := range c.DependsOn {
					reach[c.Name][d] = true
					for further := range reach[d] {
						reach[c.Name][further] = true
					}
				}
			}
		}
		for i := range states {
			want := states[i].Standing
			if want == down && muted&(1<<i) != 0 {
				want = unknown
			}
			for k := range states {
				if want == down && reach[name(i)][name(k)] &&
					(states[k].Standing == down || states[k].Standing == failing) {
					want = unknown
				}
			}
			if got[i].Standing != want {
				t.Fatalf("%s is %s, want %s: %+v of %+v", name(i), got[i].Standing, want, states, checks)
			}
		}
	})
}

func TestACircleEndsAllTheSame(t *testing.T) {
	t.Parallel()
	checks := []policy.Check{
		{Name: "a", DependsOn: []fleet.CheckName{"b"}},
		{Name: "b", DependsOn: []fleet.CheckName{"a", "b"}},
	}
	states := []fleet.CheckState{{Check: "a", Standing: down}, {Check: "b", Standing: up}}
	if got := health.Heed(checks, health.Doubted{}, states); got[0].Standing != unknown {
		t.Errorf("%+v: it depends on itself", got)
	}
}

// S09: at its hours, and until it had the time to speak afresh, a check is not heeded.
func TestS09AfterItsHoursACheckSpeaksAfresh(t *testing.T) {
	t.Parallel()
	checks := []policy.Check{{Name: "alive"}, {Name: "page", Every: 10 * time.Second, Timeout: time.Second,
		DownAfter: 3,
		NotEvery:  []policy.Hours{{From: 2 * time.Hour, To: 4 * time.Hour, Zone: time.UTC}}}}
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const settle = 31 * time.Second
	for at, c := range map[time.Duration]struct {
		muted uint64
		next  time.Duration
	}{
		0:                    {0, 2 * time.Hour},
		2*time.Hour - 1:      {0, 2 * time.Hour},
		2 * time.Hour:        {2, 2*time.Hour + settle},
		3 * time.Hour:        {2, 4 * time.Hour},
		4 * time.Hour:        {2, 4*time.Hour + settle},
		4*time.Hour + 30e9:   {2, 4*time.Hour + settle},
		4*time.Hour + settle: {0, 24*time.Hour + 2*time.Hour},
		23 * time.Hour:       {0, 26 * time.Hour},
	} {
		var next fleet.Instant
		now := fleet.Now{Mono: fleet.Instant(at), Wall: day.Add(at)}
		muted := health.Muted(checks, now.Watched(&next))
		if muted != c.muted || time.Duration(next) > c.next || next <= now.Mono {
			t.Errorf("at %s: muted %b until %s, want %b until %s at the latest",
				at, muted, time.Duration(next), c.muted, c.next)
		}
	}
}

// Who knows nothing for the only reason that a check is not heeded is not blind.
func TestMutedIsNotBlind(t *testing.T) {
	t.Parallel()
	muted := fleet.CheckState{Check: "page", Standing: unknown, Result: fleet.ResultNotEvery}
	state := func(s fleet.Standing) fleet.CheckState {
		return fleet.CheckState{Check: "alive", Standing: s, Result: fleet.ResultLocal}
	}
	for reason, c := range map[string]struct {
		cond    policy.Condition
		checks  []fleet.CheckState
		lost    bool // the provider says nothing
		verdict belief.Verdict
		muted   bool
	}{
		"the other one is well": {
			any3("page", "alive"), []fleet.CheckState{state(up), muted}, false, belief.VerdictUnknown, true,
		},
		"the other one is unknown": {
			any3("page", "alive"),
			[]fleet.CheckState{state(unknown), muted},
			false,
			belief.VerdictUnknown,
			false,
		},
		"the other one is down": {
			any3("page", "alive"), []fleet.CheckState{state(down), muted}, false, belief.VerdictUnhealthy, false,
		},
		"both are needed, one is": {
			all3("page", "alive"), []fleet.CheckState{state(down), muted}, false, belief.VerdictUnknown, true,
		},
		"both are needed, none is": {
			all3("page", "alive"), []fleet.CheckState{state(up), muted}, false, belief.VerdictHealthy, false,
		},
		"the provider is not heard": {
			any3("page", "provider"), []fleet.CheckState{muted}, true, belief.VerdictUnknown, false,
		},
	} {
		seen := seen(fleet.PowerRunning, "")
		m := machine()
		h := health.Judge(&m, &health.Evidence{
			Spec:       &policy.Spec{UnhealthyWhen: c.cond},
			Now:        now,
			Checks:     c.checks,
			Epoch:      7,
			Seen:       seen,
			ProviderUp: !c.lost,
		})
		if h.Verdict != c.verdict || h.Muted() != c.muted {
			t.Errorf("%s: %+v, want %s, muted %v", reason, h, c.verdict, c.muted)
		}
	}
}

// An unproven check that fails says nothing, and explains no other's failure; its success counts.
func TestL08AnUnprovenCheckSaysNothing(t *testing.T) {
	t.Parallel()
	checks := []policy.Check{{Name: "db"}, {Name: "page", DependsOn: []fleet.CheckName{"db"}}}
	for name, c := range map[string]struct {
		db, page    fleet.Standing // as they are
		dbIs, page2 fleet.Standing // as they are heeded
	}{
		"down":                       {db: down, page: up, dbIs: unknown, page2: up},
		"failing":                    {db: failing, page: up, dbIs: unknown, page2: up},
		"up":                         {db: up, page: up, dbIs: up, page2: up},
		"it explains no other check": {db: down, page: down, dbIs: unknown, page2: down},
	} {
		states := []fleet.CheckState{
			{Check: "db", Standing: c.db, Result: fleet.ResultRefused},
			{Check: "page", Standing: c.page},
		}
		got := health.Heed(checks, health.Doubted{Unproven: []fleet.CheckName{"db"}}, states)
		if got[0].Standing != c.dbIs || got[1].Standing != c.page2 {
			t.Errorf("%s: db is %s and page %s", name, got[0].Standing, got[1].Standing)
		}
		if got[0].Result == fleet.ResultUnproven != (c.dbIs == unknown) || states[0].Standing != c.db {
			t.Errorf("%s: %+v", name, got[0])
		}
	}
}
