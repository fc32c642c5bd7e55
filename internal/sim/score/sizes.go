package score

import (
	"time"

	"hale/internal/sim/law"
)

// Sizes is what became of a fleet's size under a load, by truth. What a load needs are the machines that take all of
// it, within the fleet's bounds.
type Sizes struct {
	// SecondsUnder is for how long fewer machines served than the load needed.
	SecondsUnder float64 `json:"seconds_under_capacity"`
	// HoursOver are the machine-hours of machines that were on beyond that, and MachineHours those of all.
	HoursOver    float64 `json:"machine_hours_over"`
	MachineHours float64 `json:"machine_hours_on"`
	law.SizeTally

	under, over, on time.Duration
}

// Span counts a time in which so many machines served and were on, and so many were needed.
func (s *Sizes) Span(lasted time.Duration, serving, on, needed int) {
	if serving < needed {
		s.under += lasted
	}
	s.over += lasted * time.Duration(max(on-needed, 0))
	s.on += lasted * time.Duration(on)
}

// Changes is how often the size asked for became another one.
func (s *Sizes) Changes() int { return s.ScaledOut + s.ScaledIn }

// On is for how long machines were on, all together.
func (s *Sizes) On() time.Duration { return s.on }

// Add adds another run's.
func (s *Sizes) Add(o Sizes) {
	s.under += o.under
	s.over += o.over
	s.on += o.on
	s.SizeTally.Add(o.SizeTally)
	s.close()
}

func (s *Sizes) close() {
	s.SecondsUnder, s.HoursOver, s.MachineHours = s.under.Seconds(), s.over.Hours(), s.on.Hours()
}
