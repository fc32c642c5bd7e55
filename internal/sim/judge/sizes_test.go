package judge

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/sim/law"
	"hale/internal/sim/load"
	"hale/internal/sim/stored"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// bounded are bounds whose fleet shrinks after five minutes, by metrics that may be 45 seconds late.
func bounded(least, most int) *policy.Sizing {
	return &policy.Sizing{Min: least, Max: most, Down: policy.Pace{Stabilise: 5 * time.Minute},
		Metrics: []policy.Metric{{Name: "requests", Every: 15 * time.Second, Late: 45 * time.Second}}}
}

// reading has an opinion go by the metric.
func reading(z *policy.Sizing) *policy.Sizing {
	z.Opinions = []policy.Opinion{{Name: "load", Kind: policy.OpinionSize, Metric: z.Metrics[0].Name}}
	return z
}

// opines has an opinion move the size.
func (o court) opines(size int, moment law.Now) {
	move := record.Record{Kind: record.Size, Reason: fleet.ReasonOpinion, Opinion: "load", Size: size, Limit: o.asked}
	o.sizes.ByOpinion(&move, moment)
	o.asks(size)
}

// shrinks has an opinion want two machines.
func (o court) shrinks() { o.opines(2, o.moment(false)) }

// scales has a person, or a program, order a size, which is taken up.
func (o court) scales(order fleet.Order) {
	order.ID, order.Kind = "o1", fleet.OrderScale
	o.Ordered(&order)
	o.Ruled([]fleet.Ruling{{Order: order.ID}})
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
		{"L13", "a fleet grows beyond bounds by what was taken back, as they stand", func(o court, breaks bool) {
			o.Bounded(bounded(2, 2))
			o.leaving["web-3"] = "planted-3"
			opinion := &belief.OrderedSize{Size: 3, Opinion: "load", Within: true}
			o.CommittedWhole(o.c, stored.Overall{}, stored.Overall{Whole: belief.Whole{
				Ledger: &belief.Ledger{Size: 3, Ordered: opinion}}}, []record.Record{{Kind: record.Change,
				Reason: fleet.ReasonWithdrawn, Machine: "web-3", Opinion: "load"}})
			if !breaks {
				o.Bounded(bounded(2, 3))
			}
			o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonSizeUp, Size: 3})
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
				if o.holds.Stand = []belief.Hold{hold}; breaks {
					o.goes(hold)
				} else {
					o.goes()
				}
			}},
		{"after", "a machine is to go by an opinion while a fleet that comes first does not serve",
			func(o court, breaks bool) {
				o.Bounded(bounded(1, 6))
				o.asks(2)
				o.Waits(map[bool]int{true: 1}[breaks])
				o.goes()
			}},
		{"L13", "a machine is taken down by an opinion while another one fails that is to be there, and not just failed",
			func(o court, breaks bool) {
				o.Bounded(bounded(2, 6))
				o.asks(2)
				o.goes()
				o.booked = &belief.Ledger{Size: 3, Removals: []belief.Removal{{Machine: "web-3", Opinion: "load"}}}
				if _, err := verbs.Play(o.w, "web-1", verbs.Hangs, ""); err != nil {
					panic(err)
				}
				if breaks {
					o.passes(5 * time.Minute)
				}
				o.thins(situation.Action{Machine: "web-3", Instance: "planted-3"})
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
		{"L13", "a machine is to go by an opinion, so that fewer stay than the least", func(o court, breaks bool) {
			o.Bounded(bounded(map[bool]int{true: 3, false: 2}[breaks], 6))
			o.asks(2)
			o.goes()
		}},
		{"L10", "a machine is to go by an opinion, and to stay by the configuration", func(o court, breaks bool) {
			p := bounded(1, 6)
			p.Stay = map[bool][]int{true: {1, 3}, false: {1}}[breaks]
			o.Bounded(p)
			o.asks(2)
			o.goes()
		}},
	}
}

// departures are the laws of who goes when a size shrinks, and of how.
func departures() []crime {
	return []crime{
		{"size", "a machine is built, and goes by an opinion within the window", func(o court, breaks bool) {
			o.Bounded(bounded(1, 6))
			o.passes(time.Hour)
			o.sizes.Orders("planted-3", o.c.Now.Wall)
			window := o.sizes.Policy.Down.Stabilise
			o.sizes.Owned(o.c.Now.Wall.Add(map[bool]time.Duration{true: window - 1, false: window}[breaks]))
			o.asks(2)
			o.goes()
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
		{"size", "what was built goes by an opinion within the window, and by its owner's clock, too",
			func(o court, breaks bool) {
				o.Bounded(bounded(1, 6))
				o.asks(2)
				o.sizes.Orders("planted-3", o.c.Now.Wall)
				o.sizes.Owned(o.c.Now.Wall.Add(map[bool]time.Duration{true: time.Minute, false: -time.Hour}[breaks]))
				o.goes()
			}},
		{"L6", "a machine is taken down by an opinion while the brake is on", func(o court, breaks bool) {
			o.Bounded(bounded(1, 6))
			o.asks(2)
			o.goes()
			o.booked = &belief.Ledger{Size: 3, Removals: []belief.Removal{{Machine: "web-3", Opinion: "load"}}}
			o.store.Overall.Brake.Engaged = breaks
			o.thins(situation.Action{Machine: "web-3", Instance: "planted-3"})
		}},
		{"harm", "what is left of a machine that has gone is powered off, and it was never finished",
			func(o court, breaks bool) {
				off := world.Call{Op: world.PowerOff, ID: "planted-1", Effect: true, Certified: breaks, Healthy: true,
					Mark: world.Mark{Machine: "web-1"}}
				o.left["web-1"] = true
				o.store.Beliefs[0].Strays = []belief.Stray{{ID: "planted-1"}}
				o.w.VM("planted-1").Mark.Certified = breaks
				o.Acted(&off)
			}},
	}
}

// moves are the laws of how a size moves that has bounds.
func moves() []crime {
	return []crime{
		{"L13", "an opinion moves a size beyond its bounds", func(o court, breaks bool) {
			o.Bounded(bounded(1, 6))
			o.opines(map[bool]int{true: 7, false: 6}[breaks], o.moment(false))
		}},
		{"L3", "an opinion moves a size that is only watched", func(o court, breaks bool) {
			p := bounded(1, 6)
			if o.Bounded(p); breaks {
				p.Mode = policy.ModeObserve
			}
			o.opines(4, o.moment(false))
		}},
		{"size", "an opinion moves a size within its cooldown", func(o court, breaks bool) {
			p := bounded(1, 6)
			p.Up.Cooldown = time.Minute
			o.Bounded(p)
			o.passes(time.Hour)
			o.opines(4, o.moment(false))
			o.passes(map[bool]time.Duration{true: time.Minute - 1, false: time.Minute}[breaks])
			o.opines(5, o.moment(false))
		}},
		{"size", "a signal moves a size within its cooldown, and no person's order", func(o court, breaks bool) {
			p := bounded(1, 6)
			p.Up.Cooldown = time.Minute
			o.Bounded(p)
			o.passes(time.Hour)
			o.opines(4, o.moment(false))
			o.scales(fleet.Order{Size: 5, Signal: breaks})
		}},
		{"size", "a size shrinks while a metric says nothing", func(o court, breaks bool) {
			p := bounded(1, 6)
			p.Opinions = []policy.Opinion{{Name: "load", Metric: "requests"}}
			o.Bounded(p)
			o.passes(time.Hour)
			o.w.Demand.Deceive("requests", load.SaysNothing, o.w.Now())
			most := p.Metrics[0].Late + p.Metrics[0].Every
			o.passes(map[bool]time.Duration{true: most + 1, false: most}[breaks])
			o.shrinks()
		}},
		{"L6", "a size shrinks under the brake, and may grow there", func(o court, breaks bool) {
			o.Bounded(bounded(1, 6))
			o.passes(time.Hour)
			o.opines(map[bool]int{true: 2, false: 4}[breaks], o.moment(true))
		}},
		{"L13", "an order beyond strict bounds is taken up", func(o court, breaks bool) {
			p := bounded(1, 6)
			p.Strict = breaks
			o.Bounded(p)
			o.scales(fleet.Order{Size: 7})
		}},
	}
}

// words are the laws of a size that several have a say in.
func words() []crime {
	return []crime{
		{"L9", "a schedule shrinks a size at once, beside steps on a metric that may want fewer, too",
			func(o court, breaks bool) {
				z := bounded(1, 6)
				z.Opinions = []policy.Opinion{{Name: "load", Kind: policy.OpinionSchedule}, {Name: "busy",
					Kind: policy.OpinionSteps, Metric: "requests", Steps: []policy.SizeStep{
						{Change: fleet.SizeChange{By: map[bool]int{true: -1, false: 1}[breaks]}}}}}
				o.Bounded(z)
				o.TookOver(o.c)
				o.shrinks()
			}},
		{"L9", "a size shrinks after its owner read nothing for longer than a metric may be late",
			func(o court, breaks bool) {
				o.Bounded(reading(bounded(1, 6)))
				o.passes(time.Hour)
				o.WentOn(o.c, map[bool]time.Duration{true: time.Minute, false: 7 * time.Second}[breaks])
				o.shrinks()
			}},
		{"L9", "a size shrinks after a gap in a metric that may want fewer, and not in one that cannot",
			func(o court, breaks bool) {
				z := reading(bounded(1, 6))
				z.Metrics = append(z.Metrics, policy.Metric{Name: "busy", Late: 20 * time.Second})
				by := fleet.SizeChange{By: map[bool]int{true: -1, false: 1}[breaks]}
				z.Opinions = append(z.Opinions, policy.Opinion{Name: "steps", Kind: policy.OpinionSteps,
					Metric: "busy", Steps: []policy.SizeStep{{Change: by}}})
				o.Bounded(z)
				o.passes(time.Hour)
				o.WentOn(o.c, 30*time.Second)
				o.shrinks()
			}},
		{"L13", "a machine that left is built again, and the fleet did not grow since", func(o court, breaks bool) {
			o.Bounded(bounded(1, 6))
			more, fewer := fleet.Order{ID: "o1", Kind: fleet.OrderScale, Size: 6}, fleet.Order{ID: "o2",
				Kind: fleet.OrderScale, Size: 3}
			o.Ordered(&more)
			o.Ordered(&fewer)
			o.Ruled([]fleet.Ruling{{Order: "o1"}, {Order: "o2"}}) // six are never in force
			o.leaves("web-1")
			if !breaks {
				o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonSizeUp, Size: 3})
			}
			o.stores(builds)
		}},
	}
}
