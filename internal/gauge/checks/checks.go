// Package checks reads metrics of what a fleet's own checks measure as they ask: how long an answer took, or a number
// in a page.
//
// It promises to ask no machine: what counts is the last answer of each that was good, and not older than the metric
// may be late.
package checks

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/probe"
)

const op = "checks.read"

// reader reads one metric.
type reader struct {
	probes  probe.Measurer // nil: the engine keeps nothing
	metric  policy.Metric
	pattern *regexp.Regexp // of the number in a page; nil: the time counts
	bad     error          // why there is no pattern
}

// New makes what reads the metric by the engine that runs the checks.
func New(probes probe.Engine, m policy.Metric) gauge.Reader {
	r := &reader{metric: m}
	r.probes, _ = probes.(probe.Measurer)
	if m.Check.Body != "" {
		r.pattern, r.bad = regexp.Compile(m.Check.Body)
		if r.bad == nil && r.pattern.NumSubexp() != 1 {
			r.bad = errors.New("it has not one group, which would be the number")
		}
	}
	return r
}

// Read implements gauge.Reader.
func (r *reader) Read(ctx context.Context, machines []gauge.Machine) (out gauge.Reading, err error) {
	switch {
	case r.probes == nil:
		return gauge.Reading{}, r.fault(fault.Unsupported, "what runs the checks measures nothing")
	case r.bad != nil:
		return gauge.Reading{}, r.fault(fault.Invalid, "%w", r.bad)
	}
	ids := make([]probe.ID, len(machines))
	for i, m := range machines {
		ids[i] = probe.ID{Machine: m.Name, Check: r.metric.Check.Check}
	}
	measured := r.probes.Measured(ctx, ids...)
	if ctx.Err() != nil {
		return gauge.Reading{}, r.fault(fault.Transient, "%w", ctx.Err())
	}
	pages := 0
	for _, id := range ids {
		m, is := measured[id]
		if !is || r.metric.Late > 0 && time.Since(m.At) > r.metric.Late {
			continue
		}
		value := m.Took.Seconds()
		if r.pattern != nil {
			pages++
			var found bool
			if value, found = r.number(m.Page); !found {
				continue
			}
		}
		out.Each = append(out.Each, fleet.MachineValue{Machine: id.Machine, Value: value})
	}
	switch {
	case len(out.Each) > 0:
		return out, nil
	case pages > 0:
		return gauge.Reading{}, r.fault(fault.NotFound, "the number is in none of %d pages", pages)
	}
	return gauge.Reading{}, r.fault(fault.NotFound, "the check %s has no good answer", r.metric.Check.Check)
}

// number finds the number in a page.
func (r *reader) number(page []byte) (float64, bool) {
	found := r.pattern.FindSubmatch(page)
	if found == nil {
		return 0, false
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	return value, err == nil || errors.Is(err, strconv.ErrRange)
}

func (r *reader) fault(kind fault.Kind, format string, args ...any) error {
	return fault.New(kind, op, string(r.metric.Name), fmt.Errorf(format, args...))
}
