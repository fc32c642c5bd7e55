package judge

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// keepsHosts has the policy hold hosts in maintenance for an hour.
func (o court) keepsHosts() {
	o.spec.Repair.OnHostDisabled, o.spec.Repair.DisabledHold = policy.HostDisabledHold, time.Hour
}

// empties has the provider's people want host h1 to be empty.
func (o court) empties() (lift func()) { return o.w.Disable(world.Domain{Kind: "host", Name: "h1"}) }

// kept is the hold of host h1 by its provider.
func kept() []belief.Hold {
	return []belief.Hold{belief.HoldByProvider("h1", "maintenance", time.Hour, fleet.Now{})}
}

// obeys has a person release host h1, which is taken up.
func (o court) obeys(id fleet.OrderID) {
	release := fleet.Order{ID: id, Kind: fleet.OrderRelease, Host: "h1"}
	o.Ordered(&release)
	o.Ruled([]fleet.Ruling{{Order: id}})
}

// believes has a person have hale take the world for what is.
func (o court) believes() {
	o.Ordered(&fleet.Order{ID: "w", Kind: fleet.OrderRecover, Believe: true})
	o.Ruled([]fleet.Ruling{{Order: "w"}})
}

// updates has hale begin to build the machine from another template by the order.
func (o court) updates(name fleet.MachineName, by fleet.OrderID, id string) {
	is := belief.Machine{Name: name, Repair: &belief.Repair{Kind: belief.RepairUpdate, Order: by,
		Climb: belief.Climb{Aim: belief.Aim{Target: belief.Incarnation{ID: fleet.InstanceID(id)}}}}}
	o.orderly(&belief.Machine{Name: name}, &is, nil)
}

// another plants an instance that another hale built as web-1, in place of the one that it has.
func (o court) another(host string) {
	is := *o.w.Current("web-1")
	is.Status.ID, is.Mark.Instance, is.Host = "another", "another", host
	o.w.Vanish(o.w.Current("web-1"))
	o.w.Plant(is.Status)
	o.built["another"] = true
}

// sendsLate has a server stand still right before it sends the call to web-1, which a person stopped before it looked,
// or since.
func (o court) sendsLate(op world.Op, stopped bool) {
	vm := o.w.Current("web-1")
	stops := func() {
		o.truth.Foresees(o.w, "web-1", verbs.IsStopped, nil)
		vm.Power, vm.Stop = world.Off, world.StopExternal
	}
	if o.passes(time.Minute); stopped {
		stops()
	}
	o.passes(time.Minute)
	o.rungOf("web-1").looked = o.w.Now()
	if o.passes(time.Minute); !stopped {
		stops()
	}
	o.Window(func() {
		o.Sent(&world.Call{Op: op, ID: vm.ID, Host: vm.Host, Mark: world.Mark{Machine: "web-1", Certified: true}})
	})
}

// maintenance are the laws of hosts that the provider's people want to be empty.
func maintenance() []crime {
	return []crime{
		{"L10", "a host is held for its provider, and no policy says so", func(o court, breaks bool) {
			if o.empties(); !breaks {
				o.keepsHosts()
			}
			o.holdsChange(nil, kept())
		}},
		{"L10", "a host is held that its provider has in use", func(o court, breaks bool) {
			if o.keepsHosts(); !breaks {
				o.empties()
			}
			o.holdsChange(nil, kept())
		}},
		{"L10", "a host is held once more in one maintenance", func(o court, breaks bool) {
			o.keepsHosts()
			lift := o.empties()
			o.holdsChange(nil, kept())
			o.passes(2 * time.Hour)
			o.holdsChange(kept(), nil)
			if !breaks {
				lift()
				o.passes(time.Minute)
				o.empties()
			}
			o.passes(time.Minute)
			o.holdsChange(nil, kept())
		}},
		{"L10", "a host is held on and on after its provider has it in use again", func(o court, breaks bool) {
			o.keepsHosts()
			lift := o.empties()
			o.holdsChange(nil, kept())
			o.passes(10 * time.Minute)
			lift()
			o.passes(map[bool]time.Duration{true: 2 * time.Minute, false: time.Minute}[breaks])
			o.holdsChange(kept(), kept())
		}},
		{"L15", "the hold of a host ends by an order that was given before it began", func(o court, breaks bool) {
			o.keepsHosts()
			o.obeys("o1")
			o.passes(time.Minute)
			o.empties()
			o.holdsChange(nil, kept())
			if o.passes(time.Minute); !breaks {
				o.obeys("o2")
			}
			o.holdsChange(kept(), nil)
		}},
	}
}

// excuses are what the judge excuses, and what looks much the same and is no excuse.
func excuses() []crime {
	return []crime{
		{"canary", "a second machine is built from a template, and the first was built from another one",
			func(o court, breaks bool) {
				if o.tries("web-2", "", false, o.spec.Update.Soak); breaks {
					o.w.Current("web-2").Image = "former.qcow2"
				}
				o.renewed["web-3"] = "planted-3"
				o.updates("web-3", "o", "planted-3")
			}},
		{"L3", "a change of the template takes a machine that had none when another one was confirmed",
			func(o court, breaks bool) {
				o.w.Vanish(o.w.Current("web-3"))
				o.renews("o", []change.Touched{{Machine: "web-1", Instance: "planted-1"}})
				o.updates("web-3", map[bool]fleet.OrderID{true: "p", false: "o"}[breaks], "new")
			}},
		{"L3", "a change of the template takes a machine that had none, and once more", func(o court, breaks bool) {
			o.w.Vanish(o.w.Current("web-3"))
			o.renews("o", []change.Touched{{Machine: "web-1", Instance: "planted-1"}})
			if o.updates("web-3", "o", "new"); breaks {
				o.updates("web-3", "p", "newer")
			}
		}},
		{"L3", "an update is taken back, and with it what has the template in force", func(o court, breaks bool) {
			o.books(&belief.Ledger{Size: 3, Template: policy.Template{Image: "former.qcow2"}, Update: &belief.Update{
				Order: "undo-2", Undoes: &belief.Undone{Template: policy.Template{Image: "another.qcow2"}}}})
			o.renewed["web-3"] = "planted-3"
			o.w.Current("web-3").Image = map[bool]string{true: "former.qcow2", false: "another.qcow2"}[breaks]
			o.updates("web-3", "undo-2", "planted-3")
		}},
		{"L10", "an update looks like a failure, and nothing is wrong with what it builds", func(o court, breaks bool) {
			update := removal("planted-1")
			update.Kind, update.Removed = belief.RepairUpdate, true
			was := belief.Machine{Name: "web-1", Repair: update}
			o.renewed["web-1"] = "planted-1"
			o.trials.Tries(rolled{o.Judge}, &was)
			cause := map[bool]belief.Cause{true: belief.CauseGone, false: belief.CauseBuild}[breaks]
			o.orderly(&was, &was, []record.Record{{Kind: record.IncidentOpen, Cause: cause}})
		}},
		{"harm", "a machine that was certified is replaced, since its store lost how its hooks ended",
			func(o court, breaks bool) {
				o.spec.Provision = []policy.Hook{{Name: "site"}}
				mark := world.Mark{Machine: "web-1"}
				site := world.Call{Op: world.Hook, Hook: "provision/site", ID: "planted-1", Mark: mark, End: world.Done}
				o.Sent(&site)
				o.Acted(&site)
				if breaks {
					o.Acted(&world.Call{Op: world.Certify, ID: "planted-1", Effect: true, Mark: mark})
				}
				o.truth.Forgets()
				o.truth.Believed(&belief.Machine{Name: "web-1",
					Current: belief.Incarnation{ID: "planted-1", Certified: true, Raw: true}})
				o.Acted(&world.Call{Op: world.PowerOff, ID: "planted-1", Effect: true, Certified: true, Healthy: true,
					Serving: true, Mark: mark})
			}},
		{"L13", "a removal is given up that was carried out, and hale knew what was built since",
			func(o court, breaks bool) {
				o.leaving["web-1"] = "planted-1"
				o.leaves("web-1")
				if o.another("h1"); breaks {
					o.store.Name("another")
				}
				o.believes()
				o.changed(record.Record{Kind: record.Change, Machine: "web-1", Reason: fleet.ReasonGivenUp})
			}},
		{"L13", "a machine is said to have left, and runs on a host that nothing has struck",
			func(o court, breaks bool) {
				o.another("h1")
				o.passes(time.Minute)
				o.shared(world.Domain{Kind: "host", Name: map[bool]string{true: "h2", false: "h1"}[breaks]})
				o.passes(time.Minute)
				o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonSizeDown, Machine: "web-1"})
			}},
		{"L9", "a size shrinks after a gap in the metric of an opinion that has a say at this time",
			func(o court, breaks bool) {
				z := reading(bounded(1, 6))
				z.Metrics = append(z.Metrics, policy.Metric{Name: "busy", Late: 20 * time.Second})
				always := policy.Window{Minutes: 1<<60 - 1, Hours: 1<<24 - 1, Days: 1<<32 - 1, Months: 1<<13 - 1,
					Weekdays: 1<<7 - 1, For: time.Hour, Zone: time.UTC}
				by := policy.Opinion{Name: "day", Kind: policy.OpinionSize, Metric: "busy"}
				if by.Only = []policy.Window{always}; !breaks {
					by.Only, by.Not = nil, by.Only
				}
				z.Opinions = append(z.Opinions, by)
				o.Bounded(z)
				o.passes(time.Hour)
				o.WentOn(o.c, 30*time.Second)
				o.shrinks()
			}},
	}
}

// ahead are the laws of fleets that come first.
func ahead() []crime {
	return []crime{
		{"after", "a further rung is acted on while a fleet that comes first does not serve",
			func(o court, breaks bool) {
				o.Waits(map[bool]int{true: 1}[breaks])
				o.stores(func(was, is *belief.Machine) {
					was.Repair, is.Repair = healing("r1"), healing("r1")
					is.Repair.Rung, is.Repair.Phase = 1, belief.PhaseAct
				})
			}},
		{"after", "a second hale begins a repair while a fleet that comes first has long not served",
			func(o court, breaks bool) {
				o.Waits(map[bool]int{true: 1}[breaks])
				second := court{o.Second(quiet{}, "copy-1", here, o.store), o.c}
				second.stores(func(_, is *belief.Machine) { is.Repair = healing("r1") })
			}},
	}
}
