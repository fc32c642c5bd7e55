package resized

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// State is what is remembered of how a fleet's size moved, and of the metrics behind it. It is never changed in
// place.
type State struct {
	// Up and Down are the last moves in each direction, whoever asked for them; zero: there was none. They restart with
	// a new owner (L15).
	Up, Down fleet.Instant `json:",omitempty"`
	// UpAt and DownAt are the same in wall time.
	UpAt, DownAt time.Time `json:",omitzero"`
	// Silent are the metrics that say nothing.
	Silent []Silent `json:",omitempty"` // sorted by name
	// Would is the size that the fleet would have by now, where it is only watched; 0: the one that it has.
	Would int `json:",omitempty"`
	// Said is what was recorded last of what opinions want and does not happen.
	Said Said `json:",omitzero"`
	// History is of the sizes that were wanted, for a forecast; nil: none is kept. It is shared by copies.
	History *History `json:",omitempty"`
}

// Silent is a metric that says nothing, so that the opinions that go by it have none.
type Silent struct {
	Metric fleet.MetricName
	Why    fleet.Reason
	Since  time.Time
	// SinceMono is Since on the owner's clock; it restarts with a new owner (L15).
	SinceMono fleet.Instant
	Paged     bool
	// Told is the wall time at which a person was told last.
	Told time.Time `json:",omitzero"`
}

func (m Silent) equal(o Silent) bool {
	return m.Metric == o.Metric && m.Why == o.Why && m.Since.Equal(o.Since) && m.SinceMono == o.SinceMono &&
		m.Paged == o.Paged && m.Told.Equal(o.Told)
}

// Said is what was recorded of a size that opinions want: why it is not in force, and whether it is a larger one.
type Said struct {
	Why fleet.Reason
	Up  bool
}

// Moved returns when the size moved last, in either direction; zero: it did not. There may be no state.
func (s *State) Moved() fleet.Instant {
	if s == nil {
		return 0
	}
	return max(s.Up, s.Down)
}

// Moves returns the state after a move of the size.
func (s *State) Moves(from, to int, now fleet.Now) *State {
	next := *s
	switch {
	case to > from:
		next.Up, next.UpAt = now.Mono, now.Wall
	case to < from:
		next.Down, next.DownAt = now.Mono, now.Wall
	}
	return &next
}

// SeenAt returns the state as another clock has it, which goes by wall time alone: when the size moved, and nothing of
// what its owner found since. There may be no state.
func (s *State) SeenAt(now fleet.Now) *State {
	if s == nil {
		return nil
	}
	next := State{UpAt: s.UpAt, DownAt: s.DownAt}
	if !s.UpAt.IsZero() {
		next.Up = max(now.At(s.UpAt), 1)
	}
	if !s.DownAt.IsZero() {
		next.Down = max(now.At(s.DownAt), 1)
	}
	return &next
}

// SilentAt returns the index of the metric among the silent ones, or -1. There may be no state.
func (s *State) SilentAt(name fleet.MetricName) int {
	if s == nil {
		return -1
	}
	return slices.IndexFunc(s.Silent, func(m Silent) bool { return m.Metric == name })
}

// Equal reports whether the two say the same.
func (s *State) Equal(o *State) bool {
	if s == nil || o == nil || s == o {
		return s == o
	}
	return s.Up == o.Up && s.Down == o.Down && s.UpAt.Equal(o.UpAt) && s.DownAt.Equal(o.DownAt) && s.Said == o.Said &&
		s.Would == o.Would &&
		slices.EqualFunc(s.Silent, o.Silent, Silent.equal) && s.History.equal(o.History)
}

// Same reports whether nothing but the peak of the hour's sizes differs: that is written down with what else is, and
// when the hour is over.
func (s *State) Same(o *State) bool {
	a, b := *s, *o
	if a.History != nil && b.History != nil && a.History.Hour == b.History.Hour {
		a.History, b.History = nil, nil
	}
	return a.Equal(&b)
}

// Restart makes the state good for a new owner with another clock: cooldowns and silences begin anew (L15).
func (s *State) Restart(now fleet.Now) *State {
	if s == nil {
		return nil
	}
	next := *s
	again := func(i *fleet.Instant) {
		if *i != 0 {
			*i = now.Mono
		}
	}
	again(&next.Up)
	again(&next.Down)
	next.Silent = slices.Clone(s.Silent)
	for i := range next.Silent {
		next.Silent[i].SinceMono = now.Mono
	}
	return &next
}

// History is how large the fleet was wanted to be in each hour of the week, of late. It is never changed in place.
type History struct {
	// Hours are those of the week, from Monday's first, in UTC; at most 168.
	Hours []Hour `json:",omitempty"`
	// Hour is the hour that is being lived in, counted from the epoch, and Peak the greatest size wanted in it.
	Hour int64
	Peak int
	// Foretold is the size that the forecast said for it; 0: it knew nothing of it.
	Foretold int `json:",omitempty"`
	// Of the hours since they were reported last, Judged had a forecast; in Short of them it was too small, and Spare
	// machine-hours were foretold beyond what was wanted.
	Judged, Short, Spare int `json:",omitempty"`
}

// Hour is the greatest size that was wanted in one hour of each of the last weeks, the newest first.
type Hour [MostWeeks]uint16

// MostWeeks is how many weeks of sizes are kept for a forecast.
const MostWeeks = 4

func (h *History) equal(o *History) bool {
	if h == nil || o == nil || h == o {
		return h == o
	}
	return h.Hour == o.Hour && h.Peak == o.Peak && h.Foretold == o.Foretold && h.Judged == o.Judged &&
		h.Short == o.Short && h.Spare == o.Spare && slices.Equal(h.Hours, o.Hours)
}
