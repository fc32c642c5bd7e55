package picture_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/round"
)

// independent says that the hosts each speak for themselves.
func (a *album) independent() {
	for i := range a.hosts {
		a.hosts[i].Independent = true
	}
}

// L1: an id that two hosts show is one instance, on the host where it runs, whichever of the two is listed last; and
// both are named.
func TestAnIdThatTwoHostsShowRunsWhereItRuns(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]bool{"the leftover is listed last": true,
		"the leftover is listed first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := shown(t)
			a.independent()
			left := a.list[1]
			left.Power = fleet.PowerOff
			a.list[1].Host = "c"
			if last {
				a.list = append(a.list, left)
			} else {
				a.list = append([]fleet.Instance{left}, a.list...)
			}
			a.see(2 * time.Second)
			got := a.View(1).Sighting("id-2").Instance
			if got.Host != "c" || got.Power != fleet.PowerRunning || got.Also != "b" {
				t.Errorf("it is seen %s on %s, and also on %q", got.Power, got.Host, got.Also)
			}
			a.settle()
			a.Sight(1, fleet.Sighting{Instance: left, Asked: at(3 * time.Second)}) // b was asked by itself
			if got := a.View(1).Sighting("id-2").Instance; got.Host != "c" || got.Also != "b" {
				t.Errorf("one host's word hides the other's: %s on %s, also on %q", got.Power, got.Host, got.Also)
			}
		})
	}
}

// Of a provider that speaks for all of its hosts the last mention counts, as in the middle of a migration.
func TestAControlPlaneListsAnIdWhereItMentionsItLast(t *testing.T) {
	t.Parallel()
	a := shown(t)
	moved := a.list[1]
	moved.Host = "c"
	a.list = append(a.list, moved)
	a.see(2 * time.Second)
	if got := a.View(1).Sighting("id-2").Instance; got.Host != "c" || got.Contested() {
		t.Errorf("it is seen on %s, also on %q", got.Host, got.Also)
	}
}

// A second listing of the same is news as long as a person was not told: the first may have been asked in the middle
// of a migration.
func TestASecondListingOfTwoHostsIsNews(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.independent()
	left := a.list[1]
	left.Power, left.Host = fleet.PowerOff, "c"
	a.list = append(a.list, left)
	a.see(2 * time.Second)
	a.settle()
	if a.see(3 * time.Second); !a.View(1).Due {
		t.Error("the second listing is no news")
	}
}

// What an instance that stopped did last, and what a silent host said last, decide whether the host may have it, too.
func TestWhenAnInstanceRanAndAHostAnswered(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.independent()
	a.see(2 * time.Second)
	a.hosts[2].Up = false // c
	a.see(3 * time.Second)
	a.list[1].Power = fleet.PowerOff // on b
	a.see(4 * time.Second)
	if got, want := a.View(1).Ran, (fleet.Ran{Instance: "id-2", Host: "b", At: at(3 * time.Second)}); got != want {
		t.Errorf("it ran %+v, want %+v", got, want)
	}
	silent := a.Situation(noon(5 * time.Second)).Silent
	if len(silent) != 1 || silent[0] != (fleet.Silence{Host: "c", Answered: at(2 * time.Second)}) {
		t.Errorf("silent are %+v", silent)
	}
	a.hosts[2].Up = true
	a.see(6 * time.Second)
	if silent := a.Situation(noon(6 * time.Second)).Silent; len(silent) > 0 {
		t.Errorf("all answer, and silent are %+v", silent)
	}
}

// A listing that was asked for after hale's last act makes the word on any instance count, also one that says nothing
// new.
func TestAWordCountsOnceItIsYoungerThanTheLastAct(t *testing.T) {
	t.Parallel()
	a := shown(t)
	stray := a.list[1]
	stray.ID, stray.Power = "stray", fleet.PowerOff
	a.list = append(a.list, stray)
	a.see(2 * time.Second)
	acted := a.View(1).Machine.Clone()
	acted.Acted = at(3 * time.Second)
	a.Adopt(round.Decided{Index: 1, Belief: acted})
	a.settle()
	if a.see(4 * time.Second); !a.View(1).Due {
		t.Error("a stray that is still there after the act is no news")
	}
}
