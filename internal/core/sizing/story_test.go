package sizing_test

import (
	"math"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/resized"
	"hale/internal/core/sizing"
)

// began is when the stories begin, on the owner's clock.
const began = fleet.Instant(10 * time.Hour)

// bounded is the policy of a fleet of 2 to 10 machines with a metric of each sort.
func bounded(opinions ...policy.Opinion) *policy.Sizing {
	return &policy.Sizing{
		Min: 2, Max: 10, Mode: policy.ModeAct,
		Metrics: []policy.Metric{
			{Name: "load", Every: 15 * time.Second, Late: time.Minute, Most: 1000},
			{Name: "queue", Every: 15 * time.Second, Late: time.Minute, Most: 1e6},
		},
		Opinions: opinions,
		Up:       policy.Pace{Most: 4, MostPercent: 100}, Down: policy.Pace{Stabilise: 5 * time.Minute, Most: 1},
	}
}

// busy keeps the load of each machine at 50.
func busy() policy.Opinion {
	return policy.Opinion{Name: "busy", Kind: policy.OpinionTarget, Metric: "load", Target: 50, PerMachine: true,
		Tolerance: 0.1}
}

// stage is a case on which readings are played.
type stage struct {
	t     *testing.T
	hours sizing.Hours
	sizing.Case
}

func newStage(t *testing.T, p *policy.Sizing, size int) *stage {
	t.Helper()
	wall := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	return &stage{t: t, Case: sizing.Case{Policy: p, Size: size, Now: fleet.Now{Mono: began, Wall: wall}}}
}

// pass lets time go by.
func (s *stage) pass(d time.Duration) {
	s.Now.Mono, s.Now.Wall = s.Now.Mono.Add(d), s.Now.Wall.Add(d)
}

// read plays a reading of the metric, 15 s after the last.
func (s *stage) read(m fleet.MetricName, values ...float64) {
	for _, v := range values {
		s.pass(15 * time.Second)
		s.now(m, v)
	}
}

// now plays a reading of the metric at this moment.
func (s *stage) now(m fleet.MetricName, v float64) {
	g := fleet.Gauged(s.Gauges, m)
	if g == nil {
		s.Gauges = append(s.Gauges, fleet.Gauge{Metric: m})
		g = &s.Gauges[len(s.Gauges)-1]
	}
	g.Points = append(g.Points, fleet.Point{At: s.Now.Mono, Value: v, Serving: s.Size, Size: s.Size})
}

// steady plays the same reading for a while.
func (s *stage) steady(m fleet.MetricName, v float64, d time.Duration) {
	for range int(d / (15 * time.Second)) {
		s.read(m, v)
	}
}

// moves has the fleet follow the verdict, as of now.
func (s *stage) moves() {
	size := s.judge().Size
	next := resized.State{}
	if s.Moved != nil {
		next = *s.Moved
	}
	switch {
	case size > s.Size:
		next.Up = s.Now.Mono
	case size < s.Size:
		next.Down = s.Now.Mono
	}
	s.Size, s.Moved = size, &next
}

func (s *stage) judge() sizing.Verdict { return s.hours.Judge(&s.Case) }

// wants fails the test unless the verdict is the size, for the reason.
func (s *stage) wants(size int, why fleet.Reason) {
	s.t.Helper()
	if v := s.judge(); v.Size != size || v.Why != why {
		s.t.Errorf("size %d because of %q, want %d because of %q: %+v", v.Size, v.Why, size, why, v)
	}
}

func TestATargetWantsAsManyMachinesAsKeepTheMetricThere(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy()), 4)
	s.now("load", 90)
	s.wants(8, "") // 4 x 90 = 360 is 50 for each of 8
	v := s.judge()
	if by := v.Said[v.By]; by.Value != 90 || by.Total != 360 || by.Goal != 50 || by.Wants != 8 {
		t.Errorf("its numbers are %+v", by)
	}
	fleetWide := busy()
	fleetWide.PerMachine = false
	s = newStage(t, bounded(fleetWide), 4)
	s.now("load", 260)
	s.wants(6, "")
}

func TestWithinToleranceNothingMoves(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{45.1, 50, 54.9} {
		s := newStage(t, bounded(busy()), 10-1)
		s.steady("load", v, 10*time.Minute)
		s.wants(9, "")
	}
}

// Who has just begun to look has seen no window: until then fewer machines are never wanted, but more are at once.
func TestNothingIsScaledInBeforeAWholeWindowWasSeen(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy()), 6)
	s.now("load", 10)
	s.steady("load", 10, 5*time.Minute-15*time.Second)
	s.wants(6, "")
	s.read("load", 10)
	s.wants(5, "") // one at a time
	s.moves()
	s.wants(5, fleet.ReasonCooldown)
	s.read("load", 12)
	s.wants(4, "")
}

func TestTheGreatestSizeOfTheWindowCountsOnTheWayDown(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy()), 6)
	s.steady("load", 10, 5*time.Minute)
	s.read("load", 50) // one moment of use for all six
	s.steady("load", 10, 5*time.Minute-15*time.Second)
	s.wants(6, "")
	s.steady("load", 10, 30*time.Second) // and of the reading before it, too
	s.wants(5, "")
}

func TestTheLeastSizeOfTheWindowCountsOnTheWayUp(t *testing.T) {
	t.Parallel()
	p := bounded(busy())
	p.Up.Stabilise = time.Minute
	s := newStage(t, p, 4)
	s.steady("load", 50, 5*time.Minute)
	s.read("load", 90, 90, 70, 90)
	s.wants(4, "")
	s.read("load", 90)
	s.wants(6, "") // 4 x 70, the least within the last minute, is 280
}

// A metric that is missing, late or absurd is no opinion, and then fewer machines are never wanted.
func TestAMetricThatSaysNothingScalesNothingIn(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		happens func(*stage)
		why     fleet.Reason
	}{
		"never read":   {func(s *stage) { s.Gauges = s.Gauges[:1] }, fleet.ReasonUnread},
		"late":         {func(s *stage) { s.steady("load", 10, time.Minute+15*time.Second) }, fleet.ReasonMetricSilent},
		"no number":    {func(s *stage) { s.absurd(math.NaN()) }, fleet.ReasonMetricAbsurd},
		"too much":     {func(s *stage) { s.absurd(math.Inf(1)) }, fleet.ReasonMetricAbsurd},
		"below zero":   {func(s *stage) { s.absurd(-1) }, fleet.ReasonMetricAbsurd},
		"many numbers": {func(s *stage) { s.trouble(fleet.ReasonMetricMany) }, fleet.ReasonMetricMany},
	} {
		s := newStage(t, bounded(busy(), policy.Opinion{Name: "waiting", Kind: policy.OpinionSize, Metric: "queue"}), 6)
		for range 40 {
			s.read("load", 10)
			s.now("queue", 3)
		}
		s.wants(5, "")
		c.happens(s)
		if v := s.judge(); v.Size != 6 || v.Why != fleet.ReasonNoOpinion || v.Said[1].Why != c.why {
			t.Errorf("%s: %+v", reason, v)
		}
		s.read("load", 90) // the other one still scales out
		if v := s.judge(); v.Size != 10 {
			t.Errorf("%s: nothing is scaled out: %+v", reason, v)
		}
	}
}

// absurd has the second metric say what cannot be, for as long as it may be late.
func (s *stage) absurd(v float64) {
	for range 5 {
		s.read("load", 10)
		s.now("queue", v)
	}
}

// trouble has the second metric bring nothing, for as long as it may be late.
func (s *stage) trouble(why fleet.Reason) {
	s.steady("load", 10, time.Minute+15*time.Second)
	fleet.Gauged(s.Gauges, "queue").Trouble = why
}

// One attempt that failed keeps the last reading good for more machines, and for no fewer.
func TestOneFailedAttemptHoldsTheWayDown(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy()), 6)
	s.steady("load", 10, 10*time.Minute)
	s.Gauges[0].Trouble = fleet.ReasonMetricSilent
	s.wants(6, "")
	if !s.judge().Said[0].Young {
		t.Error("it does not say that it wants no fewer for now")
	}
	s.Gauges[0].Trouble = ""
	s.wants(5, "")
	s.read("load", 90)
	s.Gauges[0].Trouble = fleet.ReasonMetricSilent
	s.wants(10, fleet.ReasonBounds)
}

func TestAGapBeginsTheWindowAnew(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy()), 6)
	s.steady("load", 10, 10*time.Minute)
	s.pass(time.Minute)
	s.read("load", 10)
	s.wants(6, "")
	s.steady("load", 10, 5*time.Minute)
	s.wants(5, "")
}

// When no machine serves, a mean over those that do says nothing: least of all that there is nothing to do.
func TestAFleetThatServesNoLoadIsNotIdle(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy()), 6)
	s.steady("load", 0, 10*time.Minute)
	for i := range s.Gauges[0].Points {
		s.Gauges[0].Points[i].Serving = 0
	}
	s.wants(6, "")
	if v := s.judge(); v.Said[0].Why != fleet.ReasonMetricSilent {
		t.Errorf("it has an opinion: %+v", v)
	}
}

func TestOfSeveralOpinionsTheGreatestCounts(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy(), policy.Opinion{Name: "waiting", Kind: policy.OpinionSize, Metric: "queue"}), 4)
	for range 40 {
		s.read("load", 10) // 1 is enough
		s.now("queue", 7)
	}
	s.wants(7, "")
	if v := s.judge(); v.Said[v.By].Opinion != "waiting" {
		t.Errorf("it is moved by %+v", v.Said[v.By])
	}
	s.now("queue", 4) // stay beats down
	s.wants(4, "")
}

func TestAStepFollowsWhenEveryReadingWasBeyondIt(t *testing.T) {
	t.Parallel()
	above, below := 80.0, 20.0
	steps := policy.Opinion{Name: "steps", Kind: policy.OpinionSteps, Metric: "load", Steps: []policy.SizeStep{
		{Above: &above, For: time.Minute, Readings: 3, Change: fleet.SizeChange{By: 2}},
		{Below: &below, For: time.Minute, Change: fleet.SizeChange{By: -1}},
	}}
	s := newStage(t, bounded(steps), 4)
	s.now("load", 90)
	s.read("load", 90, 80, 90, 90, 90, 90) // the threshold itself is not beyond it, and mixed points change nothing
	s.wants(4, "")
	s.read("load", 90)
	s.wants(6, "")
	s.moves()
	s.read("load", 90, 90, 90, 90)
	s.wants(6, "") // what was read before the size moved says nothing of it
	s.read("load", 90)
	s.wants(8, "")
	s.Coming = 2
	s.wants(6, "") // what was added is not there yet
	s.Coming = 0
	s.steady("load", 10, 4*time.Minute)
	s.wants(6, "") // the window of the way down is longer than the step's time
	s.steady("load", 10, time.Minute+15*time.Second)
	s.wants(5, "")
}

// An opinion with steps that only add machines does not keep the others from scaling in.
func TestWhoNeverWantsFewerHasNoSayOtherwise(t *testing.T) {
	t.Parallel()
	above := 80.0
	burst := policy.Opinion{Name: "burst", Kind: policy.OpinionSteps, Metric: "load",
		Steps: []policy.SizeStep{{Above: &above, Readings: 1, Change: fleet.SizeChange{Percent: 50, AtLeast: 3}}}}
	s := newStage(t, bounded(burst, busy()), 4)
	s.steady("load", 10, 10*time.Minute)
	s.wants(3, "")
	s.read("load", 81)
	s.wants(7, "") // as the target's, 4 x 81 / 50
	s = newStage(t, bounded(burst), 2)
	s.now("load", 81)
	s.wants(5, "") // 3 more at least
}

func TestAScheduleHasASayInItsWindowsOnly(t *testing.T) {
	t.Parallel()
	day := policy.Opinion{Name: "day", Kind: policy.OpinionSchedule, Size: 6, Windows: []policy.Window{
		window(13, time.Hour)}}
	s := newStage(t, bounded(busy(), day), 4)
	s.now("load", 50)
	s.wants(4, "") // it is noon
	s.pass(time.Hour)
	s.now("load", 50)
	s.wants(6, "")
	s.pass(59 * time.Minute)
	s.now("load", 10)
	s.wants(6, "")
	s.pass(time.Minute)
	s.Size = 6
	s.steady("load", 10, 10*time.Minute)
	s.wants(5, "")
}

func TestAnOpinionCanHaveHoursOfItsOwn(t *testing.T) {
	t.Parallel()
	only, not := busy(), busy()
	only.Only = []policy.Window{window(13, time.Hour)}
	not.Not = []policy.Window{window(12, time.Hour)}
	for _, o := range []policy.Opinion{only, not} {
		s := newStage(t, bounded(o), 4)
		s.now("load", 90)
		s.wants(4, "")
		s.pass(time.Hour)
		s.now("load", 90)
		s.wants(8, "")
	}
}

// window opens at the full hour, in UTC, each day.
func window(hour int, lasts time.Duration) policy.Window {
	const every = ^uint64(0)
	return policy.Window{Minutes: 1, Hours: 1 << hour, Days: every, Months: every, Weekdays: every, For: lasts,
		Zone: time.UTC}
}

func TestASmoothedMetricMovesSlowly(t *testing.T) {
	t.Parallel()
	p := bounded(busy())
	p.Metrics[0].Smooth = time.Minute
	s := newStage(t, p, 4)
	s.steady("load", 50, 10*time.Minute)
	s.read("load", 100)
	s.wants(5, "") // 50 + (100-50)(1-1/e^0.25) is 61
	s.steady("load", 100, 10*time.Minute)
	s.wants(8, "")
}

func TestTheSizeRestsAfterItMoved(t *testing.T) {
	t.Parallel()
	p := bounded(busy())
	p.Up.Cooldown, p.Down.Cooldown = time.Minute, 10*time.Minute
	s := newStage(t, p, 2)
	s.now("load", 150)
	s.moves() // to 6
	if s.Size != 6 {
		t.Fatalf("%d", s.Size)
	}
	s.read("load", 90, 90, 90)
	s.wants(6, fleet.ReasonCooldown)
	if v := s.judge(); v.Until != began.Add(time.Minute) {
		t.Errorf("until %v", v.Until)
	}
	s.read("load", 90)
	s.wants(10, fleet.ReasonBounds)
	s.steady("load", 10, 8*time.Minute)
	s.wants(6, fleet.ReasonCooldown)
	s.steady("load", 10, time.Minute)
	s.wants(5, "")
}

// A machine that was just added, whoever had it added, is not taken away before the window had time to show the need.
func TestWhatRoseStaysForAWindow(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy()), 4)
	s.steady("load", 10, 10*time.Minute)
	s.Size, s.Moved = 6, &resized.State{Up: s.Now.Mono}
	s.steady("load", 10, 5*time.Minute-15*time.Second)
	s.wants(6, fleet.ReasonCooldown)
	s.read("load", 10)
	s.wants(5, "")
}

func TestAPinnedSizeStays(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy()), 4)
	s.now("load", 90)
	s.Pinned, s.Until = true, began.Add(time.Hour)
	s.wants(4, fleet.ReasonPinned)
	s.Pinned = false
	s.wants(8, "")
}

func TestTheSizeStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy()), 9)
	s.now("load", 900)
	s.wants(10, fleet.ReasonBounds)
	s = newStage(t, bounded(busy()), 2)
	s.steady("load", 0, 10*time.Minute)
	s.wants(2, "")
}

// Machines that serve and have no value are no reason for more machines, and one against fewer.
func TestMachinesWithoutAValueCountAgainstFewer(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(busy()), 6)
	s.steady("load", 40, 10*time.Minute) // 240 in all
	s.wants(5, "")
	for i := range s.Gauges[0].Points {
		s.Gauges[0].Points[i].Missing = 3 // 120 that are known, and 150 that may be
	}
	s.wants(6, "")
	s.read("load", 90)
	s.wants(10, fleet.ReasonBounds)
	last := len(s.Gauges[0].Points) - 1
	s.Gauges[0].Points[last].Missing = 3 // 270 that are known
	s.wants(6, "")
}

// Where the values of machines are added up, or a step goes by them, a part of them says nothing of the whole: no
// machine goes by it, and more are built as ever.
func TestAPartOfTheMachinesTakesNone(t *testing.T) {
	t.Parallel()
	below, above := 10.0, 100.0
	for name, o := range map[string]policy.Opinion{
		"a share of a sum": {Name: "o", Kind: policy.OpinionTarget, Metric: "load", Target: 50},
		"a size":           {Name: "o", Kind: policy.OpinionSize, Metric: "load"},
		"a step": {Name: "o", Kind: policy.OpinionSteps, Metric: "load", Steps: []policy.SizeStep{
			{Below: &below, For: time.Minute, Change: fleet.SizeChange{By: -1}},
			{Above: &above, Readings: 1, Change: fleet.SizeChange{By: 1}}}},
	} {
		s := newStage(t, bounded(o), 6)
		s.steady("load", 4, 10*time.Minute)
		if v := s.hours.Judge(&s.Case); v.Size != 5 {
			t.Errorf("%s: %d machines where all are heard", name, v.Size)
		}
		for i := range s.Gauges[0].Points {
			s.Gauges[0].Points[i].Missing = 1
		}
		if v := s.hours.Judge(&s.Case); v.Size != 6 {
			t.Errorf("%s: %d machines where one is not heard", name, v.Size)
		}
		s.read("load", 350)
		s.Gauges[0].Points[len(s.Gauges[0].Points)-1].Missing = 1
		if v := s.hours.Judge(&s.Case); v.Size <= 6 {
			t.Errorf("%s: %d machines, and much is to be done", name, v.Size)
		}
	}
}
