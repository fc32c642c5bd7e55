package judge

import (
	"slices"
	"time"

	"hale/internal/sim/stored"
	"hale/internal/sim/world"
)

// Second returns the judge of a second hale, which is called so and has a store of its own: it knows its beliefs, and
// the same truth. What machines are to their users is for the first judge.
func (j *Judge) Second(run Run, client, installation string, store *stored.Content) *Judge {
	eyes := Eyes{World: j.w, Store: store, Score: j.score, Trace: j.trace, History: j.history}
	o := j.options
	o.Installation = installation
	second := New(run, eyes, o)
	second.first, second.client = j, client
	second.truth, second.copies, second.built, second.forgot = j.truth, j.copies, j.built, j.forgot
	second.wishes.posted = j.wishes.posted
	second.holds.Of(room{second}, j.holds)
	second.sizes.Policy, second.filed = j.sizes.Policy, j.filed
	second.RolledBack(j.Memory())
	second.waits, second.trials = j.waits, j.trials.Clone()
	second.domains = 1 // whether a brake is needless is for the first
	j.second = second
	return second
}

// Alone notes that there is no second hale any more. What it had sent may still be carried out.
func (j *Judge) Alone() { j.ended, j.second = j.second, nil }

// isSecond reports whether a second hale sent the call, be it the one that there is or one that has ended.
func (j *Judge) isSecond(c *world.Call) bool {
	return j.first != nil || j.ended != nil && c.Client == j.ended.client
}

// eldest returns the judge of the truth.
func (j *Judge) eldest() *Judge {
	if j.first != nil {
		return j.first
	}
	return j
}

// lasts counts for how long so many machines were to be there.
func (j *Judge) lasts(until time.Duration) {
	if j.first == nil {
		j.score.Had(j.asked, until)
	}
}

// of returns the judge of the hale that sent a call.
func (j *Judge) of(client string) *Judge {
	if j.second != nil && j.second.client == client {
		return j.second
	}
	return j
}

// apart is how far the clocks of all servers are apart, those of a second hale among them: a hold ends by the clock of
// the fleet's owner.
func (j *Judge) apart() time.Duration {
	skews := j.run.Skews()
	if j.second != nil {
		skews = append(skews, j.second.run.Skews()...)
	}
	return spread(skews)
}

func spread(skews []time.Duration) time.Duration { return slices.Max(skews) - slices.Min(skews) }
