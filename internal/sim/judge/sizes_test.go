package judge

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/sim/world"
)

// bounded are bounds whose fleet shrinks after five minutes, by metrics that may be 45 seconds late.
func bounded(least, most int) *policy.Sizing {
	return &policy.Sizing{Min: least, Max: most, Down: policy.Pace{Stabilise: 5 * time.Minute},
		Metrics: []policy.Metric{{Name: "requests", Every: 15 * time.Second, Late: 45 * time.Second}}}
}

// shrinks has an opinion want two machines.
func (o court) shrinks() {
	move := record.Record{Kind: record.Size, Reason: fleet.ReasonOpinion, Opinion: "load", Size: 2, Limit: 3}
	o.sizes.ByOpinion(&move, o.moment(false))
}

// goes has an opinion choose web-3 while the holds stand.
func (o court) goes(holds ...belief.Hold) {
	o.chosen(&belief.Ledger{Size: 3}, &belief.Ledger{Size: 3, Removals: []belief.Removal{
		{Machine: "web-3", Instance: "planted-3", Opinion: "load", Order: "size-1"}}}, holds)
}

// sizes are the laws of a size that moves between bounds.
func sizes() []crime {
	other := Server{Name: "hale-2"}
	return []crime{
		{"L13", "a fleet grows to what bounds asked for that gave way since", func(o court, breaks bool) {
			o.Bounded(bounded(5, 6))
			if breaks {
				o.Bounded(bounded(1, 6)) // and the last word says three
			}
			o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonSizeUp, Size: 5})
		}},
		{"L13", "a machine is to go by an opinion, and is asked for", func(o court, breaks bool) {
			o.Bounded(bounded(1, 6))
			if !breaks {
				o.asks(2)
			}
			o.goes()
		}},
		{"L10", "a machine is to go by an opinion while a person holds it, and not as the hold ends",
			func(o court, breaks bool) {
				o.Bounded(bounded(1, 6))
				o.asks(2)
				hold := belief.Hold{Order: "o1", Machine: "web-3"}
				if o.wishes.holds = []belief.Hold{hold}; breaks {
					o.goes(hold)
				} else {
					o.goes()
				}
			}},
		{"L9", "a size shrinks before its owner read for a whole window", func(o court, breaks bool) {
			o.Bounded(bounded(1, 6))
			o.TookOver(o.c)
			window := o.sizes.Policy.Down.Stabilise
			o.passes(window / 2)
			o.WentOn(other, time.Hour) // which reads nothing that counts
			o.passes(window / 2)
			if breaks {
				o.TookOver(o.c)
			}
			o.shrinks()
		}},
		{"L9", "a size shrinks after its owner read nothing for longer than a metric may be late",
			func(o court, breaks bool) {
				o.Bounded(bounded(1, 6))
				o.passes(time.Hour)
				o.WentOn(o.c, map[bool]time.Duration{true: time.Minute, false: 7 * time.Second}[breaks])
				o.shrinks()
			}},
		{"L15", "an opinion moves a size that a person pinned, and whose store has not forgotten it",
			func(o court, breaks bool) {
				o.Bounded(bounded(1, 6))
				o.passes(time.Hour)
				before := o.Memory()
				pins := fleet.Order{ID: "o1", Kind: fleet.OrderScale, Size: 3, For: time.Hour}
				o.Ordered(&pins)
				if o.Ruled([]fleet.Ruling{{Order: pins.ID}}); !breaks {
					o.RolledBack(before)
				}
				o.shrinks()
			}},
		{"harm", "a healthy machine is powered off that is to go no longer", func(o court, breaks bool) {
			off := world.Call{Op: world.PowerOff, ID: "planted-1", Effect: true, Certified: true, Healthy: true,
				Mark: world.Mark{Machine: "web-1"}}
			o.leaving["web-1"] = "planted-1"
			if o.Sent(&off); breaks {
				delete(o.leaving, "web-1") // it was taken back while the call was on its way
			}
			o.Acted(&off)
		}},
	}
}
