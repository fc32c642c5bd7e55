package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// standing is a fleet of three machines beside a spare that is to be off while it is not needed; all are well.
func standing(t *testing.T) *tale {
	t.Helper()
	tl := few(t, 4)
	tl.mark()
	wanted := tl.s.Spec
	wanted.Size, wanted.Spares = 3, policy.Spares{Count: 1, Off: true}
	tl.s.Wanted = &wanted
	tl.s.Whole.Ledger = &belief.Ledger{Size: 4, Provider: "lab", Spares: []fleet.MachineName{"web-4"}}
	tl.s.Spec = tl.s.Whole.Ledger.Force(wanted)
	return tl
}

// offCalls counts the calls that turn an instance off.
func (tl *tale) offCalls() int {
	n := 0
	for _, a := range tl.take(situation.ActionCall) {
		if a.Intent.Op == fleet.OpPowerOff {
			n++
		}
	}
	return n
}

func TestS67ASpareIsTurnedOffOnceAllHaveBeenWell(t *testing.T) {
	t.Parallel()
	for story, c := range map[string]struct {
		happens func(tl *tale)
		off     int
	}{
		"all are well": {func(*tale) {}, 1},
		"one fails in the round in which it would be": {func(tl *tale) { tl.power(fleet.PowerCrashed, 1) }, 0},
		"the provider cannot start what is off": {func(tl *tale) {
			tl.s.Cannot = []fleet.Op{fleet.OpStart}
		}, 0},
		"a person's brake is on": {func(tl *tale) { tl.s.Brake.By = "alice" }, 0},
		"a person holds the spare": {func(tl *tale) {
			tl.s.Whole.Holds = []belief.Hold{{Order: "1", Machine: "web-4", By: "alice",
				Expiry: belief.ExpiryIn(time.Hour, tl.s.Now)}}
		}, 0},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			tl := standing(t)
			c.happens(tl)
			tl.decide()
			tl.pass(time.Second)
			tl.wantCount("calls that turn off", tl.offCalls(), c.off)
			tl.wantCount("pages", tl.count(record.Paged, ""), 0)
		})
	}
}
