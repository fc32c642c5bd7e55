package checks_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/gauge/checks"
	"hale/internal/probe"
)

// kept is an engine that keeps what a story says.
type kept struct {
	probe.Engine
	is map[probe.ID]probe.Measure
}

// Measured implements probe.Measurer.
func (k *kept) Measured(_ context.Context, ids ...probe.ID) map[probe.ID]probe.Measure {
	out := map[probe.ID]probe.Measure{}
	for _, id := range ids {
		if m, is := k.is[id]; is {
			out[id] = m
		}
	}
	return out
}

func of(machine fleet.MachineName) probe.ID { return probe.ID{Machine: machine, Check: "page"} }

var two = []gauge.Machine{{Name: "web-1"}, {Name: "web-2"}}

func metric(body string) policy.Metric {
	return policy.Metric{
		Name: "slow", Late: 30 * time.Second, Of: policy.CombineMean,
		Check: policy.CheckNumber{Check: "page", Body: body},
	}
}

func TestHowLongAnAnswerTookIsAMetric(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &kept{is: map[probe.ID]probe.Measure{
			of("web-1"): {At: time.Now(), Took: 250 * time.Millisecond},
			of("web-9"): {At: time.Now(), Took: time.Hour},
		}}
		r, err := checks.New(k, metric("")).Read(t.Context(), two)
		if err != nil || len(r.Each) != 1 || r.Each[0] != (fleet.MachineValue{Machine: "web-1", Value: 0.25}) {
			t.Errorf("%v, %v", r, err)
		}
		time.Sleep(30 * time.Second)
		if r, err := checks.New(k, metric("")).Read(t.Context(), two); err != nil || len(r.Each) != 1 {
			t.Errorf("as old as it may be: %v, %v", r, err)
		}
		time.Sleep(1)
		if r, err := checks.New(k, metric("")).Read(t.Context(), two); !fault.Is(err, fault.NotFound) {
			t.Errorf("too old: %v, %v", r, err)
		}
	})
}

func TestANumberInAPageIsAMetric(t *testing.T) {
	t.Parallel()
	page := func(text string) probe.Measure { return probe.Measure{At: time.Now(), Page: []byte(text)} }
	k := &kept{is: map[probe.ID]probe.Measure{
		of("web-1"): page(`{"queue": 12.5, "x": 1}`), of("web-2"): page(`{"queue": "long"}`),
	}}
	const queue = `"queue": ([0-9.]+)`
	r, err := checks.New(k, metric(queue)).Read(t.Context(), two)
	if err != nil || len(r.Each) != 1 || r.Each[0].Value != 12.5 {
		t.Errorf("%v, %v", r, err)
	}
	for body, kind := range map[string]fault.Kind{
		`"none": (\d+)`: fault.NotFound, `"queue"`: fault.Invalid, `(`: fault.Invalid, `(a)(b)`: fault.Invalid,
		`"(queue)"`: fault.NotFound,
	} {
		if r, err := checks.New(k, metric(body)).Read(t.Context(), two); !fault.Is(err, kind) {
			t.Errorf("%s: %v, %v, want %s", body, r, err, kind)
		}
	}
}

func TestAnEngineThatMeasuresNothingSaysNothing(t *testing.T) {
	t.Parallel()
	if r, err := checks.New(struct{ probe.Engine }{}, metric("")).Read(t.Context(), two); !fault.Is(err,
		fault.Unsupported) {
		t.Errorf("%v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := checks.New(&kept{}, metric("")).Read(ctx, two); !fault.Is(err, fault.Transient) {
		t.Errorf("no time: %v, %v", r, err)
	}
}
