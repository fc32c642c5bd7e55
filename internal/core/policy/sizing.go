package policy

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// Sizing is what moves a fleet's size between two bounds: opinions, each with a metric or a time of day to go by. Nil:
// the size is what the configuration and people say. See package sizing for the rule.
type Sizing struct {
	// Min and Max bound the size, whoever asks for another one; at least 1.
	Min, Max int
	// Desired is the size that the configuration says; 0: it says none, and the size stays as the last word on it left
	// it.
	Desired int `json:",omitempty"`
	// Strict refuses an order that would leave the bounds; otherwise it goes as far as they let it.
	Strict bool `json:",omitempty"`
	// Mode says whether opinions move the size, or it is only recorded what they would do.
	Mode     Mode
	Metrics  []Metric  // sorted by name
	Opinions []Opinion // sorted by name
	Up, Down Pace
	// Leave says which machines go first, one rule after the other: the next one orders those that are equal by those
	// before it.
	Leave []LeaveRule
	// Busy is the metric that LeaveLeastBusy goes by.
	Busy fleet.MetricName `json:",omitempty"`
	// Even is the kind of domain in which the numbers of machines are kept equal when one goes. Empty: as
	// Placement.By says.
	Even fleet.DomainKind `json:",omitempty"`
	// Stay are the numbers of machines that no opinion removes, ascending. They are repaired as any other.
	Stay []int `json:",omitempty"`
	// Grace is the time between the choice of a machine that is to go and the first call that takes it down: until
	// then it is taken back when more machines are wanted again.
	Grace time.Duration `json:",omitempty"`
	// TellAfter is how long a metric may say nothing before a person is paged.
	TellAfter time.Duration
	// Forecast keeps a history of the sizes that were wanted, by hour of the week, and says what it would have
	// foreseen.
	Forecast bool `json:",omitempty"`
}

// Bound returns the size within the bounds that is nearest.
func (s *Sizing) Bound(size int) int {
	if s == nil {
		return size
	}
	return min(max(size, s.Min), s.Max)
}

// Said returns the size that the configuration says; 0: it says none.
func (s *Spec) Said() int {
	if s.Sizing != nil {
		return s.Sizing.Desired
	}
	return s.Size
}

// Metric returns the metric of the name, or nil.
func (s *Sizing) Metric(name fleet.MetricName) *Metric {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Metrics[i]
}

// Pace bounds how fast the size moves in one direction.
type Pace struct {
	// Cooldown is how long after a move, in either direction, the next one in this direction may follow.
	Cooldown time.Duration
	// Stabilise is the window within which the most cautious of the wanted sizes counts: the least when it goes up, the
	// greatest when it goes down.
	Stabilise time.Duration
	// Most is how many machines one move adds or removes at most, and MostPercent says it of the size: the greater of
	// the two holds. Both 0: as many as are wanted.
	Most, MostPercent int
}

// Metric is a number that is read again and again, for opinions on the size.
type Metric struct {
	Name  fleet.MetricName
	Kind  MetricKind
	Every time.Duration // from one reading to the next
	// Late is how old the newest reading may be. An older one says nothing.
	Late time.Duration
	// Least and Most are the bounds of what is believed: a value beyond them is absurd, and says nothing.
	Least, Most float64
	// Smooth is the time constant of an exponentially weighted mean of the readings. 0: each counts for itself.
	Smooth time.Duration `json:",omitempty"`
	// Of says how the values of several machines, or series, become one.
	Of Combine

	Prometheus PrometheusQuery `json:",omitzero"` // MetricPrometheus
	Command    Command         `json:",omitzero"` // MetricCommand: its output is the number
	Check      CheckNumber     `json:",omitzero"` // MetricCheck
	Usage      Usage           `json:",omitempty"`
}

// TellsApart reports whether the metric has a value of each machine.
func (m *Metric) TellsApart() bool {
	return m.Kind == MetricCheck || m.Kind == MetricProvider || m.Kind == MetricPrometheus && m.Prometheus.Label != ""
}

// MetricKind says where a metric is read.
type MetricKind string

// Where metrics are read.
const (
	MetricPrometheus MetricKind = "prometheus" // by a query
	MetricCheck      MetricKind = "check"      // what one of the fleet's own checks measured
	MetricProvider   MetricKind = "provider"   // what the provider counts of each instance
	MetricCommand    MetricKind = "command"    // what a program prints
)

// Combine says how several values become one.
type Combine string

// How several values become one.
const (
	CombineMean Combine = "mean"
	CombineSum  Combine = "sum"
	CombineMax  Combine = "max"
)

// PrometheusQuery is a query to a server that speaks Prometheus's API.
type PrometheusQuery struct {
	URL   string
	Query string
	// Label is that of a series which says whose it is: a machine's name or its address. Empty: none does.
	Label   string   `json:",omitempty"`
	Headers []Header `json:",omitempty"` // sorted by name
	CA      string   `json:",omitempty"` // certificates in PEM form that are trusted instead of the system's
	Timeout time.Duration
}

// CheckNumber is a number that a check measures at each machine as it asks.
type CheckNumber struct {
	Check fleet.CheckName
	// Body is a regular expression with one group, which is the number in the beginning of an answer's body. Empty: the
	// number is the time that the answer took, in seconds.
	Body string `json:",omitempty"`
}

// Usage is what a provider counts of an instance.
type Usage string

// What providers count.
const (
	UsageCPU      Usage = "cpu"      // percent of the processors that it has
	UsageMemory   Usage = "memory"   // percent of the memory that it has
	UsageReceived Usage = "received" // bytes per second
	UsageSent     Usage = "sent"     // bytes per second
)

// Usages are all of them.
func Usages() []Usage { return []Usage{UsageCPU, UsageMemory, UsageReceived, UsageSent} }

// Opinion is one view of how many machines there should be. The greatest of the sizes that opinions want counts, so
// that up beats stay, and stay beats down.
type Opinion struct {
	Name   fleet.OpinionName
	Kind   OpinionKind
	Metric fleet.MetricName `json:",omitempty"` // all but OpinionSchedule
	// OpinionTarget: the value that the metric is kept at. PerMachine says that the metric is a mean over the machines
	// that serve, as a processor's load is; otherwise it is the whole fleet's, and each machine takes Target of it.
	// Within Tolerance, a share of 1, around the target nothing moves.
	Target     float64 `json:",omitempty"`
	PerMachine bool    `json:",omitempty"`
	Tolerance  float64 `json:",omitempty"`
	// OpinionSteps: what follows beyond thresholds. Of those that apply, the one that wants the most machines counts.
	Steps []SizeStep `json:",omitempty"`
	// OpinionSchedule: so many machines while one of the windows is open; otherwise it has no say.
	Windows []Window `json:",omitempty"`
	Size    int      `json:",omitempty"`
	// Only and Not are when the opinion counts at all, and when it does not.
	Only []Window `json:",omitempty"`
	Not  []Window `json:",omitempty"`
}

// OpinionKind says how an opinion comes to a size.
type OpinionKind string

// How opinions come to a size.
const (
	OpinionTarget   OpinionKind = "target"   // that which keeps the metric at a value
	OpinionSteps    OpinionKind = "steps"    // a change beyond thresholds
	OpinionSchedule OpinionKind = "schedule" // a size at certain times
	OpinionSize     OpinionKind = "size"     // the metric is the size
)

// SizeStep is a change of the size that follows when the metric is beyond a threshold for a while.
type SizeStep struct {
	// Above and Below are the threshold; one of them is set. The value itself is not beyond it.
	Above, Below *float64 `json:",omitempty"`
	// For is for how long every reading must be beyond it; and there must be Readings of them at least.
	For      time.Duration
	Readings int
	Change   fleet.SizeChange
}

// LeaveRule is one rule for which machine goes first.
type LeaveRule string

// The rules for which machine goes first. Whatever they say, one without an instance goes before all others.
const (
	LeaveUnhealthy      LeaveRule = "unhealthy" // not healthy before healthy
	LeaveOldestTemplate LeaveRule = "oldest-template"
	LeaveOldest         LeaveRule = "oldest" // by the time at which its instance was built
	LeaveNewest         LeaveRule = "newest"
	LeaveRandom         LeaveRule = "random" // by a hash, so that the same question has the same answer
	LeaveLeastBusy      LeaveRule = "least-busy"
	LeaveHighestNumber  LeaveRule = "highest-number"
)

// Threshold is the one value that the step is about.
func (s *SizeStep) Threshold() float64 {
	switch {
	case s.Above != nil:
		return *s.Above
	case s.Below != nil:
		return *s.Below
	}
	return 0
}

// Applies reports whether the value is beyond the threshold.
func (s *SizeStep) Applies(value float64) bool {
	return s.Above != nil && value > *s.Above || s.Below != nil && value < *s.Below
}
