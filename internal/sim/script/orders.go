package script

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/world"
)

// ordered are the verbs of an operator, and the orders that they give.
func ordered() map[Verb]fleet.OrderKind {
	return map[Verb]fleet.OrderKind{
		Holds: fleet.OrderHold, Releases: fleet.OrderRelease, Retries: fleet.OrderRetry, Heals: fleet.OrderHeal,
		Undoes: fleet.OrderUndo, Recovers: fleet.OrderRecover,
		Brakes: fleet.OrderBrakeOn, Unbrakes: fleet.OrderBrakeOff, Scales: fleet.OrderScale, Deletes: fleet.OrderDelete,
		Vouches: fleet.OrderFenced, Believes: fleet.OrderRecover,
	}
}

// Orders lists the verbs by which an operator gives an order.
func Orders() []Verb {
	return slices.Sorted(maps.Keys(ordered()))
}

// Operator is who gives the orders in a scenario.
const Operator = "operator"

// person is who has a hand in what the provider runs.
const person = "a person"

// Order returns the order that an operator's event gives to the fleet; its id and times are left to the caller that
// posts it.
func (e Event) Order(name fleet.Name, hosts []world.Host) (fleet.Order, error) {
	o := fleet.Order{Kind: ordered()[e.Verb], Fleet: name, By: Operator, For: e.For}
	o.Believe = e.Verb == Believes
	if o.Kind == fleet.OrderHold {
		o.Reason = "planned work"
	}
	if o.Kind == fleet.OrderFenced {
		o.Proof, o.For, o.Reason = fleet.ProofWord, cmp.Or(e.For, time.Hour), "seen"
	}
	if o.Kind == fleet.OrderScale {
		size, err := strconv.Atoi(e.Arg)
		o.Size = size
		return o, err // what else is wrong with it is for the owner that takes it
	}
	host, ofHost := strings.CutPrefix(e.Arg, "host ")
	m := fleet.MachineName(e.Arg)
	switch {
	case ofHost:
		if !slices.ContainsFunc(hosts, func(h world.Host) bool { return h.Name == host }) {
			return o, fmt.Errorf("%s: there is no host %s", e, host)
		}
		o.Host = fleet.HostName(host)
	case m.Fleet() == name:
		o.Machine = m
	case e.Arg != string(name) && shapes()[e.Verb].arg != "":
		return o, fmt.Errorf("%s: write a machine of fleet %s, host and its name, or the fleet", e, name)
	}
	o.ID = "check"
	err := o.Check()
	if o.ID = ""; err != nil {
		return o, fmt.Errorf("%s: %w", e, err)
	}
	return o, nil
}

// Of returns the event as it befalls another fleet: its machines play those of the same number.
func (e Event) Of(name fleet.Name) Event {
	switch SubjectKind(e.Subject) {
	case "machine":
		if n, ok := fleet.MachineName(e.Subject).Ordinal(); ok {
			e.Subject = string(name.Machine(n))
		}
	case "person":
		if n, ok := fleet.MachineName(e.Arg).Ordinal(); ok {
			e.Arg = string(name.Machine(n))
		}
	case Operator:
		if e.Edits() || e.Verb == Scales {
			return e
		}
		if n, ok := fleet.MachineName(e.Arg).Ordinal(); ok {
			e.Arg = string(name.Machine(n))
		} else if e.Arg != "" && !strings.Contains(e.Arg, " ") {
			e.Arg = string(name)
		}
	}
	return e
}

// Image returns the image that the event names, in the folder of the spec's own.
func (e Event) Image(spec policy.Spec) string { return path.Join(path.Dir(spec.Template.Image), e.Arg) }

// Mistyped returns the checks with another port in the one that the event names: nothing listens there.
func (e Event) Mistyped(checks []policy.Check) []policy.Check {
	out := slices.Clone(checks)
	for i := range out {
		if string(out[i].Name) == e.Arg {
			out[i].Port = wrongPort
		}
	}
	return out
}

const wrongPort = 9
