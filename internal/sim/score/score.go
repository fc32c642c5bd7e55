package score

import (
	"slices"
	"time"

	"hale/internal/sim/law"
)

// Score is what a run, or many, came to. All of it is counted by the judge, from the truth.
type Score struct {
	Runs        int     `json:"runs"`
	MachineDays float64 `json:"machine_days"`
	Faults      int     `json:"faults"`  // events of the plan
	Outages     int     `json:"outages"` // times a machine stopped serving
	// Unseen outages are none to the policy: no check asks for what was lost, or its condition wants more.
	Unseen int `json:"unseen"`
	// Healable outages are of one machine alone, curable by the ladder, and within what the brake allows: not what
	// hale's own brake, or a fault of host, network or provider, held. Measure.Curable has those, too.
	Healable int `json:"healable"`

	law.Tally
	LostRepairs int `json:"lost_repairs"`
	Unhealed    int `json:"unhealed"`   // neither healed nor in a person's hands within the policy's time
	LateHeals   int `json:"late_heals"` // healed, later than one pass of the ladder takes
	LawsBroken  int `json:"laws_broken"`

	HealedAlone    int `json:"healed_alone"`   // of the healable: healed without a page
	HealablePaged  int `json:"healable_paged"` // of the healable: a person was needed
	Held           int `json:"held"`
	NeedlessHolds  int `json:"needless_holds"` // a healable machine was held although nothing else was wrong
	Paged          int `json:"paged"`
	Repairs        int `json:"repairs"`
	Brakes         int `json:"brakes"`
	NeedlessBrakes int `json:"needless_brakes"`
	Visits         int `json:"visits"`      // machines mended by the operator
	StorePages     int `json:"store_pages"` // told without the store: that it takes nothing

	MachineHoursLost float64 `json:"machine_hours_lost"`
	HealP50          float64 `json:"heal_seconds_p50"` // of the healable, from the fault until it serves
	HealP99          float64 `json:"heal_seconds_p99"`

	Measure
	Sizes

	Edges     int `json:"edges"`
	Decisions int `json:"decisions"`

	// Nights is how the nights ended that could have made two instances of one.
	Nights Nights `json:"-"`

	heals []time.Duration
	lost  time.Duration
	had   time.Duration
}

// Had counts the time until then in which there were to be so many machines: all since it was counted last.
func (s *Score) Had(machines int, until time.Duration) {
	s.MachineDays += float64(machines) * (until - s.had).Hours() / 24
	s.had = until
}

// Lost counts a time in which a machine did not serve.
func (s *Score) Lost(lasted time.Duration) { s.lost += lasted }

// Healed counts how long a healable outage lasted that is over.
func (s *Score) Healed(took time.Duration) { s.heals = append(s.heals, took) }

// Add adds another run's score.
func (s *Score) Add(o Score) {
	s.Runs += o.Runs
	s.MachineDays += o.MachineDays
	s.Faults += o.Faults
	s.Outages += o.Outages
	s.Unseen += o.Unseen
	s.Healable += o.Healable
	s.Tally.Add(o.Tally)
	s.LostRepairs += o.LostRepairs
	s.Unhealed += o.Unhealed
	s.LateHeals += o.LateHeals
	s.LawsBroken += o.LawsBroken
	s.HealedAlone += o.HealedAlone
	s.HealablePaged += o.HealablePaged
	s.Held += o.Held
	s.NeedlessHolds += o.NeedlessHolds
	s.Paged += o.Paged
	s.Repairs += o.Repairs
	s.Brakes += o.Brakes
	s.NeedlessBrakes += o.NeedlessBrakes
	s.Visits += o.Visits
	s.StorePages += o.StorePages
	s.Edges += o.Edges
	s.Decisions += o.Decisions
	s.Nights.add(o.Nights)
	s.Measure.add(o.Measure)
	s.Sizes.Add(o.Sizes)
	s.heals = append(s.heals, o.heals...)
	s.lost += o.lost
	s.Close()
}

// Close works out what follows from the single times.
func (s *Score) Close() {
	slices.Sort(s.heals)
	s.HealP50, s.HealP99 = quantile(s.heals, 0.50).Seconds(), quantile(s.heals, 0.99).Seconds()
	s.MachineHoursLost = s.lost.Hours()
	s.Measure.close()
	s.Sizes.close()
}

// quantile returns the q-th quantile of sorted durations, by the nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// HealedShare is the share of the healable outages that needed no person; 1 when there were none.
func (s *Score) HealedShare() float64 {
	if s.Healable == 0 {
		return 1
	}
	return float64(s.HealedAlone) / float64(s.Healable)
}

// Wrong is how often hale did what it must never do. Anything but zero is a failure.
func (s *Score) Wrong() int {
	return s.HealthyDestroyed + s.DoubleInstances + s.LostRepairs + s.Unhealed + s.LawsBroken + s.ScaledInBlind
}
