package bulkprobe

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/policy"
	"hale/internal/probe"
)

// TestTallyIsTheSame adds the same results to both tallies, of whatever check: the same standing, reason and edges
// follow, with the same detail.
func TestTallyIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
		c := &policy.Check{
			Kind: policy.CheckPing, Every: time.Second, Timeout: 500 * time.Millisecond,
			DownAfter: number("down after", 0, 6), DownIn: number("down in", 0, 66), UpAfter: number("up after", 0, 6),
			UpIn: number("up in", 0, 66),
		}
		p, small, big := newPlan(c), tally{}, probe.NewTally()
		at := time.Duration(0)
		for range number("results", 1, 150) {
			at += time.Duration(number("gap", 1, 1100)) * time.Millisecond
			if number("long gap", 0, 30) == 0 {
				at += 6 * time.Second
			}
			r := reason(number("reason", 0, len(reasonWords)-1))
			if number("again", 0, 2) > 0 {
				r = ok
			}
			n := errnoNote(1)
			was := big
			big = big.Add(probe.Result{Reason: r.word(), Detail: n.text(), At: at}, c)
			said, edge := small.add(r, n, int64(at), p)
			if small.standing.word() != big.Standing || small.reason.word() != big.Reason || edge != big.Differs(was) {
				t.Fatalf("after %s: %s %s, edge %v; want %s %s, %v", r.word(), small.standing.word(),
					small.reason.word(), edge, big.Standing, big.Reason, big.Differs(was))
			}
			if edge && said.text() != big.Detail {
				t.Fatalf("after %s: detail %q, want %q", r.word(), said.text(), big.Detail)
			}
		}
	})
}
