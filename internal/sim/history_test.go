package sim_test

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/score"
	"hale/internal/sim/script"
)

// remembered plays events on a fleet of five and returns what the run was like.
func remembered(t *testing.T, change func(*sim.Options), lines ...string) (*chronicle.History, score.Score) {
	t.Helper()
	o := sim.Options{Spec: exemplar.Fleet(5), Horizon: 3 * time.Hour, Calm: 6 * time.Hour,
		History: &chronicle.History{}}
	for _, line := range lines {
		e, err := script.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		o.Plan = append(o.Plan, e)
	}
	if change != nil {
		change(&o)
	}
	r, err := sim.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return o.History, r.Score
}

func TestAHistoryTellsWhatStruckAndWhoEndedIt(t *testing.T) {
	t.Parallel()
	noCure := func(o *sim.Options) {
		o.Operator = 30 * time.Minute
		o.Spec.Repair.Steps = o.Spec.Repair.Steps[:2] // start and reboot only
	}
	for name, c := range map[string]struct {
		event  string
		change func(*sim.Options)
		ended  chronicle.Ending
		paged  bool
	}{
		"a crash is healed by hale":  {"10m web-2 crashes", nil, chronicle.EndedByHale, false},
		"slowness passes":            {"10m web-2 is too slow for 15s", nil, chronicle.EndedByItself, false},
		"a lost disk needs a person": {"10m web-2 loses its disk", noCure, chronicle.EndedByPerson, true},
		"without a person it stays as it is": {"10m web-2 loses its disk",
			func(o *sim.Options) { noCure(o); o.Operator = 0 }, chronicle.NotEnded, true},
		"all at once are started by hale": {"10m all loses power for 1m", nil, chronicle.EndedByHale, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, score := remembered(t, c.change, c.event)
			if len(h.Outages) == 0 || len(h.Outages) != score.Outages {
				t.Fatalf("%d outages are remembered, and there were %d", len(h.Outages), score.Outages)
			}
			o := h.Outages[0]
			switch {
			case o.Event == nil || !strings.Contains(c.event, o.Event.Subject+" "+string(o.Event.Verb)):
				t.Errorf("it is put down to %v", o.Event)
			case o.From != 10*time.Minute || o.To <= o.From:
				t.Errorf("it lasted from %v to %v", o.From, o.To)
			case o.Ended != c.ended || o.Paged != c.paged || o.Open != (c.ended == chronicle.NotEnded):
				t.Errorf("ended by %q (paged %v, open %v), and it was %q (paged %v)", o.Ended, o.Paged, o.Open, c.ended,
					c.paged)
			}
		})
	}
}

func TestAHistoryKeepsTheActsAndTheLinesAroundThem(t *testing.T) {
	t.Parallel()
	h, score := remembered(t, nil, "10m web-2 crashes", "40m web-3 hangs")
	if len(h.Acts) != score.Actions || len(h.Acts) != 2 {
		t.Fatalf("%d acts are remembered, and %d were counted", len(h.Acts), score.Actions)
	}
	act := h.Acts[1]
	if act.Machine != "web-3" || act.Wrong != "" {
		t.Errorf("the second act is %+v", act)
	}
	around := h.Around("web-3", act.At, 5*time.Minute, time.Minute, 100)
	if len(around) < 5 || around[0].Line() != "! web-3 hangs" {
		t.Fatalf("around it there is %v", around)
	}
	for _, m := range around {
		if m.Machine == "web-2" {
			t.Errorf("another machine's line is among them: %s", m.Line())
		}
	}
	if few := h.Around("web-3", act.At, 5*time.Minute, time.Minute, 3); len(few) != 3 ||
		few[2].Line() != around[len(around)-1].Line() {
		t.Errorf("the last 3 of them are %v", few)
	}
}

func TestARunWithoutAHistoryKeepsNone(t *testing.T) {
	t.Parallel()
	h, score := remembered(t, func(o *sim.Options) { o.History = nil }, "10m web-2 crashes")
	if h != nil || score.Outages != 1 {
		t.Errorf("history %v, %d outages", h, score.Outages)
	}
}

func TestAnOutageThatNoCheckAsksForIsNobodysToHeal(t *testing.T) {
	t.Parallel()
	ping, page := policy.Condition{Op: policy.OpTerm, Term: "alive"}, policy.Condition{Op: policy.OpTerm, Term: "page"}
	both := []policy.Condition{ping, page}
	for name, c := range map[string]struct {
		event  string
		when   policy.Condition
		unseen int
	}{
		"a dead application is not heard by a ping": {"10m web-2 stops serving", ping, 1},
		"a status is not heard by a ping":           {"10m web-2 answers 503", ping, 1},
		"it is heard by http":                       {"10m web-2 answers 503", page, 0},
		"one of two is not both of them": {"10m web-2 stops serving",
			policy.Condition{Op: policy.OpAll, Of: both}, 1},
		"one of two is one of them": {"10m web-2 stops serving",
			policy.Condition{Op: policy.OpAtLeast, N: 1, Of: both}, 0},
		"what hangs answers nothing": {"10m web-2 hangs",
			policy.Condition{Op: policy.OpAll, Of: both}, 0},
		"the provider's word counts where it is not asked for": {"10m web-2 crashes", ping, 0},
		"where it is asked for, it counts as the condition says": {"10m web-2 is paused for 1h",
			policy.Condition{Op: policy.OpAny, Of: []policy.Condition{{Op: policy.OpTerm, Term: policy.ProviderTerm},
				ping}},
			0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, score := remembered(t, func(o *sim.Options) { o.Spec.UnhealthyWhen = c.when }, c.event)
			if score.Unseen != c.unseen || h.Outages[0].Unseen != (c.unseen > 0) {
				t.Errorf("%d outages are unseen, want %d", score.Unseen, c.unseen)
			}
			if score.Wrong() != 0 {
				t.Errorf("it is called wrong: %+v", score)
			}
		})
	}
}

func TestWhoOnlyWatchesOwesNoHealing(t *testing.T) {
	t.Parallel()
	_, score := remembered(t, func(o *sim.Options) { o.Spec.Mode = policy.ModeObserve }, "10m web-2 crashes")
	if score.Wrong() != 0 || score.Actions != 0 || score.Outages != 1 {
		t.Errorf("observing came to %+v", score)
	}
}

func TestWhatHasAnEndComesBackByItselfUnlessSomebodyWasFaster(t *testing.T) {
	t.Parallel()
	watch := func(o *sim.Options) { o.Spec.Mode = policy.ModeObserve }
	gentle := func(o *sim.Options) { o.Spec.Repair.Steps = o.Spec.Repair.Steps[:2] } // no recreate
	for name, c := range map[string]struct {
		event  string
		change func(*sim.Options)
		ended  chronicle.Ending
		least  time.Duration // of the outage
		most   time.Duration
	}{
		"a crash": {"10m web-2 crashes for 30m", watch, chronicle.EndedByItself, 30 * time.Minute,
			31 * time.Minute},
		"a shutdown": {"10m web-2 shuts itself down for 30m", watch, chronicle.EndedByItself, 30 * time.Minute,
			31 * time.Minute},
		"a panic": {"10m web-2 panics for 30m", watch, chronicle.EndedByItself, 30 * time.Minute,
			31 * time.Minute},
		"a disk": {"10m web-2 loses its disk for 30m", watch, chronicle.EndedByItself, 30 * time.Minute,
			30 * time.Minute},
		"a healed crash": {"10m web-2 crashes for 30m", nil, chronicle.EndedByHale, 0, 5 * time.Minute},
		"a healed disk":  {"10m web-2 loses its disk for 30m", nil, chronicle.EndedByHale, 0, 10 * time.Minute},
		"a disk reset before": {"10m web-2 loses its disk for 30m", gentle, chronicle.EndedByHale, 30 * time.Minute,
			31 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, score := remembered(t, c.change, c.event)
			if len(h.Outages) != 1 || score.Wrong() != 0 {
				t.Fatalf("outages %+v, score %+v", h.Outages, score)
			}
			if o := h.Outages[0]; o.Ended != c.ended || o.To-o.From < c.least || o.To-o.From > c.most {
				t.Errorf("ended by %q after %v, want %q between %v and %v", o.Ended, o.To-o.From, c.ended, c.least,
					c.most)
			}
		})
	}
}

func TestMachinesStandWhereTheyAreSaidToStand(t *testing.T) {
	t.Parallel()
	hosts := exemplar.Town(2, 1, 1)
	homes := []string{hosts[1].Name, hosts[0].Name, hosts[0].Name, hosts[0].Name, hosts[0].Name}
	h, _ := remembered(t, func(o *sim.Options) { o.Hosts, o.Homes = hosts, homes },
		"10m host "+hosts[1].Name+" loses power for 10m")
	if len(h.Outages) != 1 || h.Outages[0].Machine != "web-1" {
		t.Errorf("the host of web-1 lost its power: %+v", h.Outages)
	}
	for _, wrong := range [][]string{homes[:3], {"h9", "h9", "h9", "h9", "h9"}} {
		if err := sim.Check(sim.Options{Spec: exemplar.Fleet(5), Hosts: hosts, Homes: wrong}); err == nil {
			t.Errorf("%v is taken for a home", wrong)
		}
	}
}
