package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
)

// want compares what followed with what is written down for the case, in the form in which it is written down.
func (st *stage) want(c, got, want string) {
	st.Helper()
	if got != want {
		st.Errorf("otherwise than written down:\n%q: %q,\nand not %q", c, got, want)
	}
}

// L8, L12: each call has an end, and each of its ends leads on: to health, to the next step, to another look, or to a
// person.
func TestWhatFollowsFromEachEndOfEachCall(t *testing.T) {
	t.Parallel()
	for op, set := range calling {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			for _, kind := range outcomes {
				st := set(t)
				st.pass(time.Second)
				st.view.Outcome = &fleet.Outcome{Intent: st.m.Repair.Intent.ID, Kind: kind, Detail: "so it was said"}
				c := string(op) + " " + string(kind)
				st.want(c, st.round(), ends[c])
			}
		})
	}
}

// L8: what only fails for a while is not tried for ever: a person is told, and the next step follows where there is
// one.
func TestWhatIsTriedInVainComesToAnEnd(t *testing.T) {
	t.Parallel()
	for op, set := range calling {
		for _, kind := range []fleet.OutcomeKind{fleet.OutcomeRetry, fleet.OutcomeConflict} {
			t.Run(string(op)+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				st := set(t)
				st.m.Repair.Retries = 9
				st.view.Outcome = &fleet.Outcome{Intent: st.m.Repair.Intent.ID, Kind: kind, Detail: "busy"}
				c := string(op) + " " + string(kind)
				st.want(c, st.round(), inVain[c])
			})
		}
	}
}

// powers are all that the provider may say of an instance.
var powers = []fleet.Power{fleet.PowerRunning, fleet.PowerOff, fleet.PowerPaused, fleet.PowerGone, fleet.PowerError}

// L12: a call that lost its answer, as when hale died meanwhile, is looked for, and never taken for done or undone
// without a sight of its own.
func TestALostAnswerIsResolvedByWhatIsSeen(t *testing.T) {
	t.Parallel()
	for op, set := range calling {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			lost := func() *stage {
				st := set(t)
				st.pass(time.Second)
				st.m = st.m.Restart(st.s.Now, st.s.Spec)
				st.m.Health.Cause = set(t).m.Health.Cause
				return st
			}
			c := string(op) + " unseen"
			st := lost()
			st.want(c, st.round(), seen[c])
			for _, p := range powers {
				st := lost()
				in := st.m.Repair.Intent
				st.seen(fleet.Instance{ID: in.Instance, Host: in.Host, Power: p,
					Mark: fleet.Mark{Installation: "ours", Fleet: "web", Machine: "web-1", Generation: in.Generation}})
				c := string(op) + " " + string(p)
				st.want(c, st.round(), seen[c])
			}
		})
	}
}

// L15: what is seen before hale came is of no use: the same sighting, asked earlier, resolves nothing.
func TestAnOldSightResolvesNothing(t *testing.T) {
	t.Parallel()
	for op, set := range calling {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			st := set(t)
			in := *st.m.Repair.Intent
			st.seen(fleet.Instance{ID: in.Instance, Host: in.Host, Power: fleet.PowerRunning,
				Mark: fleet.Mark{Kept: true, Certified: true}})
			st.pass(time.Second)
			st.m = st.m.Restart(st.s.Now, st.s.Spec)
			c := string(op) + " unseen"
			st.m.Health.Cause = set(t).m.Health.Cause
			st.want(c, st.round(), seen[c])
		})
	}
}

// L12: what a call was to bring about is seen, so that it is done, although its answer was lost.
func TestWhatIsSeenToBeDoneIsDone(t *testing.T) {
	t.Parallel()
	for op, c := range map[fleet.Op]struct {
		shows fleet.Instance
		want  string
	}{
		fleet.OpKeep: {fleet.Instance{Host: "h1", Power: fleet.PowerOff, Mark: fleet.Mark{Kept: true}},
			"CALL create new; act"},
		fleet.OpCertify: {fleet.Instance{Host: "h1", Power: fleet.PowerRunning, Mark: fleet.Mark{Certified: true}},
			"certified; repair-ended healed; incident-closed healed; over"},
		fleet.OpRescue:   {fleet.Instance{Host: "h1", Power: fleet.PowerPaused, Stop: fleet.StopRescue}, "verify"},
		fleet.OpEvacuate: {fleet.Instance{Host: "h2", Power: fleet.PowerRunning}, "verify"},
		fleet.OpMigrate:  {fleet.Instance{Host: "h2", Power: fleet.PowerRunning}, "verify"},
	} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			st := calling[op](t)
			st.pass(time.Second)
			in := st.m.Repair.Intent
			in.Unknown, st.m.Repair.LastOutcome = true, st.s.Now.Mono
			c.shows.ID = in.Instance
			st.seen(c.shows)
			st.want(string(op), st.round(), c.want)
		})
	}
}
