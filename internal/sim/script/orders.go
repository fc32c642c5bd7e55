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
		SaysDone: fleet.OrderHook, SaysMore: fleet.OrderHook, SaysFail: fleet.OrderHook,
		Approves: fleet.OrderHook, Denies: fleet.OrderHook,
		Replaces: fleet.OrderReplace, Starts: fleet.OrderStart, Stops: fleet.OrderStop, Reboots: fleet.OrderReboot,
		Migrates: fleet.OrderMigrate, Reverts: fleet.OrderRevert, Marks: fleet.OrderMark, Unmarks: fleet.OrderUnmark,
		Cancels: fleet.OrderCancel,
		Undoes:  fleet.OrderUndo, Recovers: fleet.OrderRecover,
		Brakes: fleet.OrderBrakeOn, Unbrakes: fleet.OrderBrakeOff, Scales: fleet.OrderScale, ScalesBy: fleet.OrderScale,
		Signals: fleet.OrderScale,
		Deletes: fleet.OrderDelete,
		Vouches: fleet.OrderFenced, Believes: fleet.OrderRecover,
		PausesRollout: fleet.OrderRolloutPause, ResumesRollout: fleet.OrderRolloutResume,
		UndoesRollout: fleet.OrderRolloutUndo, MendsDrift: fleet.OrderRolloutMend,
	}
}

// Orders lists the verbs by which an operator gives an order.
func Orders() []Verb {
	return slices.Sorted(maps.Keys(ordered()))
}

// program is who signals.
const program = "program"

// Operator is who gives the orders in a scenario.
const Operator = "operator"

// person is who has a hand in what the provider runs.
const person = "a person"

// word is what the event says of a hook, or of the step that a machine's repair asks about.
func (e Event) word() (fleet.HookWord, fleet.HookID) {
	var of fleet.HookID
	if e.Verb == Approves || e.Verb == Denies {
		of = fleet.Approval
	}
	return map[Verb]fleet.HookWord{SaysDone: fleet.HookDone, SaysMore: fleet.HookMore, SaysFail: fleet.HookFail,
		Approves: fleet.HookDone, Denies: fleet.HookFail}[e.Verb], of
}

// Order returns the order that an operator's event gives to the fleet; its id and times are left to the caller that
// posts it.
func (e Event) Order(name fleet.Name, hosts []world.Host) (fleet.Order, error) {
	o := fleet.Order{Kind: ordered()[e.Verb], Fleet: name, By: Operator, For: e.For}
	o.Believe = e.Verb == Believes
	if o.Kind == fleet.OrderHold {
		o.Reason = "planned work"
	}
	o.Word, o.Hook = e.word()
	if o.Kind == fleet.OrderMark {
		o.Reason = "its users complain"
	}
	if o.Kind == fleet.OrderCancel {
		o.After = fleet.OrderID(e.Arg) // what was ordered is for the caller that knows it
		return o, nil
	}
	if o.Kind == fleet.OrderFenced {
		o.Proof, o.For, o.Reason = fleet.ProofWord, cmp.Or(e.For, time.Hour), "seen"
	}
	if o.Kind == fleet.OrderScale {
		var err error
		if e.Verb == Scales {
			o.Size, err = strconv.Atoi(e.Arg)
		} else if o.Change, err = ParseChange(e.Arg); o.Change.Exact > 0 {
			o.Size, o.Change = o.Change.Exact, fleet.SizeChange{}
		}
		if e.Verb == Signals {
			o.Signal, o.By = true, "a "+program
		}
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
		if e.Edits() || e.Verb == Scales || e.Verb == ScalesBy {
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

// Template returns the template as the event edits it. An image lies in the folder of the one before.
func (e Event) Template(t policy.Template) policy.Template {
	switch e.Verb {
	case Retemplates:
		t.Image = path.Join(path.Dir(t.Image), e.Arg)
	case Remembers:
		n, _ := strconv.ParseUint(e.Arg, 10, 32) // it was checked when it was read
		t.Memory = n << 20
	case Labels:
		t.Metadata = fleet.Metadata(e.Arg + "\n")
	default:
	}
	return t
}

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

// ParseChange reads a change of a size, as +2, -1, 4 or +50% at least 2.
func ParseChange(text string) (fleet.SizeChange, error) {
	change, least, given := strings.Cut(text, " at least ")
	c, err := fleet.ParseSizeChange(change)
	if err == nil && given {
		c.AtLeast, err = strconv.Atoi(least)
	}
	return c, cmp.Or(err, c.Check())
}

// Sized returns the spec with the size that the event asks for: a number, or bounds as 2..6.
func (e Event) Sized(spec policy.Spec) (policy.Spec, error) {
	low, high, bounds := strings.Cut(e.Arg, "..")
	least, err := strconv.Atoi(low)
	most, err2 := least, error(nil)
	if bounds {
		most, err2 = strconv.Atoi(high)
	}
	if err := cmp.Or(err, err2); err != nil {
		return spec, err
	}
	if least < 1 || most < least {
		return spec, fmt.Errorf("%s is no size: write a number, or bounds as 2..6", e.Arg)
	}
	if bounds != (spec.Sizing != nil) && bounds {
		return spec, fmt.Errorf("%s: fleet %s has a plain size", e, spec.Name)
	}
	if spec.Sizing == nil {
		spec.Size = least
		return spec, nil
	}
	sizing := *spec.Sizing
	if bounds {
		sizing.Min, sizing.Max = least, most
	} else {
		sizing.Desired = least
	}
	spec.Sizing, spec.Size = &sizing, sizing.Bound(cmp.Or(sizing.Desired, sizing.Min))
	return spec, nil
}
