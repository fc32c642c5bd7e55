// Package gauge is hale's port to numbers: it reads one metric of a fleet, once. The exam that every adapter passes is
// package gaugetest.
//
// It promises that a reading ends with its context, that errors are faults without secrets, and that what is doubtful
// is an error and never a value (L4): nothing, too much, no number, a number beyond belief, or one that is old. It does
// not decide what follows, does not ask again, and remembers nothing.
package gauge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Reader reads one metric. It is safe for concurrent use.
type Reader interface {
	// Read reads the metric now. The machines are those of the fleet, as far as they have an instance.
	//
	// Transient: the source does not answer, or not in time. NotFound: it has no value. Invalid: it does not understand
	// the question. Unsupported: it can never tell. A Doubt in the error says more.
	Read(ctx context.Context, machines []Machine) (Reading, error)
}

// Open returns what reads the metric of the fleet; nil: nothing does.
type Open func(of fleet.Name, m policy.Metric) Reader

// Machine is one of the fleet's machines, as a source may know it.
type Machine struct {
	Name     fleet.MachineName
	Instance fleet.InstanceID
	Host     fleet.HostName
	Address  netip.Addr // invalid: it has none, or another instance has it, too
}

// Reading is what a source said.
type Reading struct {
	// Whole are values of the fleet as a whole, or of parts of it that the source does not name.
	Whole []float64
	// Each are values of single machines; of each at most one counts.
	Each []fleet.MachineValue
}

// Doubt says why what a source said is no value.
type Doubt struct {
	Reason fleet.Reason
	Why    string
}

// Error implements error.
func (d Doubt) Error() string { return d.Why }

// Trouble returns why an error means that there is no value: the doubt's reason; silence where there was no answer.
func Trouble(err error) fleet.Reason {
	var d Doubt
	if errors.As(err, &d) {
		return d.Reason
	}
	return fleet.ReasonMetricSilent
}

// MostWhole is how many values that name no machine a reading may have.
const MostWhole = 100

// Value is a reading as one number.
type Value struct {
	Value float64
	Each  []fleet.MachineValue // sorted by machine
}

const op = "gauge.weigh"

// Weigh makes one number of a reading. The error is a Doubt.
func Weigh(m *policy.Metric, r Reading) (Value, error) {
	doubt := func(kind fault.Kind, why fleet.Reason, format string, args ...any) (Value, error) {
		return Value{}, fault.New(kind, op, string(m.Name), Doubt{why, fmt.Sprintf(format, args...)})
	}
	each := slices.SortedFunc(slices.Values(r.Each), func(a, b fleet.MachineValue) int {
		x, _ := a.Machine.Ordinal()
		y, _ := b.Machine.Ordinal()
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.Machine, b.Machine))
	})
	values := slices.Clone(r.Whole)
	for i, v := range each {
		if i > 0 && each[i-1].Machine == v.Machine {
			return doubt(fault.Invalid, fleet.ReasonMetricMany, "%s has more than one value", v.Machine)
		}
		values = append(values, v.Value)
	}
	switch {
	case len(values) == 0:
		return doubt(fault.NotFound, fleet.ReasonMetricSilent, "there is no value")
	case len(r.Whole) > 0 && len(each) > 0:
		return doubt(fault.Invalid, fleet.ReasonMetricMany, "some values are machines', and some are not")
	case len(r.Whole) > MostWhole:
		return doubt(fault.Invalid, fleet.ReasonMetricMany, "there are %d values, and none says whose it is",
			len(r.Whole))
	case len(values) > 1 && m.Of == "":
		return doubt(fault.Invalid, fleet.ReasonMetricMany, "there are %d values instead of one", len(values))
	}
	for _, v := range values {
		if !m.Believable(v) {
			return doubt(fault.Invalid, fleet.ReasonMetricAbsurd, "%v is beyond belief", v)
		}
	}
	v := Value{m.Of.One(values), each}
	if math.IsInf(v.Value, 0) {
		return doubt(fault.Invalid, fleet.ReasonMetricAbsurd, "together the values are beyond what a number can say")
	}
	return v, nil
}
