// Package gaugetest is the exam of package gauge's port: what every adapter of a source of metrics must do, also when
// the source breaks or lies.
//
// Its times are real ones, since adapters talk to processes and sockets.
package gaugetest

import (
	"context"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
)

// Fault is a way in which a source breaks.
type Fault string

// The faults.
const (
	Works    Fault = ""
	Hangs    Fault = "takes the question and never answers"
	Away     Fault = "is not there"
	Empty    Fault = "has no value"
	Nonsense Fault = "answers what is no number"
	Endless  Fault = "answers without end"
)

// Named is a value with the name by which the source knows whose it is; empty: nobody's in particular.
type Named struct {
	Name  string
	Value float64
}

// Bench is an adapter with a source that can be told what to say.
type Bench struct {
	Reader gauge.Reader
	// Says has the source say these values from now on, and nothing else.
	Says func(...Named)
	// Break has it behave so from now on.
	Break func(Fault)
	// Lacks are faults that such a source cannot have.
	Lacks []Fault
	// Secret is what must never be seen.
	Secret string
}

// Machines are those of the exam's fleet: web-1 at 10.0.0.1, and so on.
func Machines() []gauge.Machine {
	var out []gauge.Machine
	for n := 1; n <= 3; n++ {
		out = append(out, gauge.Machine{
			Name: fleet.Name("web").Machine(n), Instance: fleet.InstanceID("id-" + string(rune('0'+n))),
			Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}),
		})
	}
	return out
}

// Run examines the adapter. Each test has a bench of its own.
func Run(t *testing.T, setup func(t *testing.T) Bench) {
	t.Helper()
	for name, exam := range map[string]func(t *testing.T, b Bench){
		"it reads one number, each time anew":            one,
		"it tells machines apart by name and by address": machines,
		"what is no number is never a value":             lies,
		"a thousand values are none":                     many,
		"what has no value is silent":                    empty,
		"what hangs is left at the deadline":             hangs,
		"what is not there is silent":                    away,
		"nonsense is no value":                           nonsense,
		"what has no end is no value":                    endless,
		"a question whose time is over is not asked":     over,
		"many may ask at once":                           together,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exam(t, setup(t))
		})
	}
}

// limit is how long an answer may take on a machine that has much else to do.
const limit = 20 * time.Second

// metric believes everything that is a number, and knows what several are together.
var metric = policy.Metric{Name: "exam", Of: policy.CombineSum}

func (b Bench) read(t *testing.T, within time.Duration) (gauge.Value, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return b.weigh(ctx, t)
}

func (b Bench) weigh(ctx context.Context, t *testing.T) (gauge.Value, error) {
	t.Helper()
	r, err := b.Reader.Read(ctx, Machines())
	if err != nil && b.Secret != "" && strings.Contains(err.Error(), b.Secret) {
		t.Errorf("L14: the secret is in an error: %v", err)
	}
	if err != nil {
		return gauge.Value{}, err
	}
	return gauge.Weigh(&metric, r)
}

// breaks has the source behave so, and reports whether it can.
func (b Bench) breaks(f Fault) bool {
	can := !slices.Contains(b.Lacks, f)
	if can {
		b.Break(f)
	}
	return can
}

func (b Bench) silent(t *testing.T, within time.Duration, kinds ...fault.Kind) {
	t.Helper()
	v, err := b.read(t, within)
	if err == nil {
		t.Fatalf("L4: it is %v", v)
	}
	if got := gauge.Trouble(err); got != fleet.ReasonMetricSilent {
		t.Errorf("it is %s: %v", got, err)
	}
	for _, k := range kinds {
		if fault.Is(err, k) {
			return
		}
	}
	t.Errorf("the kind of %v is none of %v", err, kinds)
}

func one(t *testing.T, b Bench) {
	for _, want := range []float64{12.5, 0, -3, 1e12} {
		b.Says(Named{"", want})
		if got, err := b.read(t, limit); err != nil || got.Value != want || len(got.Each) > 0 {
			t.Errorf("%v, %v; it is %v", got, err, want)
		}
	}
}

func machines(t *testing.T, b Bench) {
	b.Says(Named{"web-1", 1}, Named{"10.0.0.2:9100", 2}, Named{"web-9", 100}, Named{"10.0.0.9", 100})
	got, err := b.read(t, limit)
	want := []fleet.MachineValue{{Machine: "web-1", Value: 1}, {Machine: "web-2", Value: 2}}
	if err != nil || got.Value != 3 || !slices.Equal(got.Each, want) {
		t.Errorf("%v, %v", got, err)
	}
	b.Says(Named{"web-1", 1}, Named{"10.0.0.1", 2})
	if got, err := b.read(t, limit); err == nil || gauge.Trouble(err) != fleet.ReasonMetricMany {
		t.Errorf("a machine with two values is %v, %v", got, err)
	}
	b.Says(Named{"web-7", 1}, Named{"web-8", 1})
	b.silent(t, limit, fault.NotFound)
}

func lies(t *testing.T, b Bench) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		b.Says(Named{"", v})
		if got, err := b.read(t, limit); err == nil || gauge.Trouble(err) != fleet.ReasonMetricAbsurd {
			t.Errorf("%v is %v, %v", v, got, err)
		}
		b.Says(Named{"web-1", 1}, Named{"web-2", v})
		if got, err := b.read(t, limit); err == nil || gauge.Trouble(err) != fleet.ReasonMetricAbsurd {
			t.Errorf("%v at one machine is %v, %v", v, got, err)
		}
	}
}

func many(t *testing.T, b Bench) {
	all := make([]Named, 1000)
	for i := range all {
		all[i].Value = float64(i)
	}
	b.Says(all...)
	if got, err := b.read(t, limit); err == nil || gauge.Trouble(err) != fleet.ReasonMetricMany {
		t.Errorf("%v, %v", got, err)
	}
}

func empty(t *testing.T, b Bench) {
	if b.breaks(Empty) {
		b.silent(t, limit, fault.NotFound)
	}
}

func hangs(t *testing.T, b Bench) {
	b.Says(Named{"", 1})
	b.Break(Hangs)
	const patience = 500 * time.Millisecond
	began := time.Now()
	b.silent(t, patience, fault.Transient)
	if took := time.Since(began); took > patience+limit/4 {
		t.Errorf("it was waited for: %s", took)
	}
	b.Break(Works)
	if got, err := b.read(t, limit); err != nil || got.Value != 1 {
		t.Errorf("it works again: %v, %v", got, err)
	}
}

func away(t *testing.T, b Bench) {
	if b.breaks(Away) {
		b.silent(t, limit, fault.Transient, fault.Invalid)
	}
}

func nonsense(t *testing.T, b Bench) {
	if !b.breaks(Nonsense) {
		return
	}
	got, err := b.read(t, limit)
	if err == nil {
		t.Errorf("L4: it is %v", got)
	}
}

func endless(t *testing.T, b Bench) {
	if !b.breaks(Endless) {
		return
	}
	if got, err := b.read(t, limit/4); err == nil {
		t.Errorf("L4: it is %v", got)
	}
}

func over(t *testing.T, b Bench) {
	b.Says(Named{"", 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := b.weigh(ctx, t); !fault.Is(err, fault.Transient) {
		t.Errorf("%v, %v", got, err)
	}
}

func together(t *testing.T, b Bench) {
	b.Says(Named{"", 7})
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if got, err := b.read(t, limit); err != nil || got.Value != 7 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	all.Wait()
}
