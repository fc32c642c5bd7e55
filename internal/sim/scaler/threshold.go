package scaler

import "time"

// threshold adds a machine when the mean use of a minute was high, and takes one away when it was low, and does
// neither within a cooldown after it did: the alarms of Aodh with periods of 60 s, and the policies of Senlin
// (cooldown, CHANGE_IN_CAPACITY by 1) or Heat (AutoScalingGroup with ScalingPolicy of 1 and -1).
// https://docs.openstack.org/senlin/latest/user/policy_types/scaling.html
// https://docs.openstack.org/heat/latest/template_guide/openstack.html#OS::Heat::ScalingPolicy
type threshold struct {
	minutes
	high, low alarm
	cooldown  time.Duration
	shared    bool // the cooldown is a group's, as Heat's is; otherwise each direction has its own
	up, down  time.Duration
}

// newThreshold returns the rule with a cooldown per direction; high is target, and low is 40 percent of it.
func newThreshold(target float64, cooldown time.Duration, periods int) *threshold {
	return &threshold{high: alarm{beyond: above(target), periods: periods},
		low: alarm{beyond: below(0.4 * target), periods: periods}, cooldown: cooldown}
}

// slowly has one cooldown for both directions, as a group of Heat's has.
func (t *threshold) slowly() *threshold {
	t.shared = true
	return t
}

// Every implements Scaler.
func (t *threshold) Every() time.Duration { return readEvery }

// Next implements Scaler.
func (t *threshold) Next(r Reading) int {
	mean, ok, over := t.each(r)
	if !over {
		return r.Size
	}
	high, low := t.high.period(mean, ok), t.low.period(mean, ok)
	if t.shared {
		last := max(t.up, t.down)
		t.up, t.down = last, last
	}
	rests := func(last time.Duration) bool { return last != 0 && r.At-last < t.cooldown }
	switch {
	case high && !rests(t.up):
		t.up = r.At
		return r.Size + 1
	case low && !rests(t.down) && r.Size > 1:
		t.down = r.At
		return r.Size - 1
	}
	return r.Size
}
