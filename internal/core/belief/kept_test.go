package belief

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
)

// at is a moment so long after the instance was put aside, with the wall clock stepped.
func at(d, stepped time.Duration) fleet.Now {
	return fleet.Now{Mono: fleet.Instant(time.Hour + d), Wall: time.Unix(1_000_000, 0).Add(d + stepped)}
}

// L15: what was put aside stays for its whole time, to the nanosecond, by both clocks: a step of the wall clock does
// not shorten it, and neither does a new owner.
func TestAKeptInstanceStaysForItsWholeTime(t *testing.T) {
	t.Parallel()
	const whole = 24 * time.Hour
	k := KeepFor(Incarnation{ID: "a"}, whole, at(0, 0))
	if k.ID != "a" || !k.Since.Equal(at(0, 0).Wall) {
		t.Errorf("%+v", k)
	}
	for _, c := range []struct {
		after, stepped time.Duration
		over           bool
	}{
		{after: 0}, {after: whole - time.Hour}, {after: whole - 1}, {after: whole, over: true},
		{after: whole + 1, over: true},
		{after: whole - 1, stepped: time.Hour}, {after: whole, stepped: -time.Hour},
		{after: whole + time.Hour, stepped: -time.Hour, over: true},
	} {
		if got := k.Over(at(c.after, c.stepped)); got != c.over {
			t.Errorf("over after %v with the clock stepped by %v: %v", c.after, c.stepped, got)
		}
	}
	again := k
	again.restart(fleet.Now{Mono: 1, Wall: at(whole-time.Hour, 0).Wall}) // another owner's clock
	if again.Over(fleet.Now{Mono: fleet.Instant(time.Hour), Wall: at(whole, 0).Wall}) ||
		!again.Over(fleet.Now{Mono: 1 + fleet.Instant(time.Hour), Wall: at(whole, 0).Wall}) {
		t.Errorf("after a restart an hour before its end: %+v", again)
	}
	k.RetryAt = at(whole, 0).Mono + 1
	if k.MayGo(at(whole, 0)) || !k.MayGo(at(whole+1, 0)) {
		t.Error("its removal is tried again too early, or never")
	}
}
