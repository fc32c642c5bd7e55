// Package usage reads metrics of what a provider counts of a fleet's instances: processors, memory, traffic.
//
// It promises that all metrics of a fleet that are read at the same time share one question, that what counts up
// becomes an amount per second over the time since the metric was read last, and that an instance which was not seen
// twice, or began anew, has no such amount. It holds no mutex while the provider is asked.
package usage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/provider"
)

// fresh is how old an answer may be that another metric asked for: those of one beat are.
const fresh = time.Second

const op = "usage.read"

// Source is a provider with the instances of one fleet.
type Source struct {
	asked  provider.UsageReader // nil: it never tells
	shared *provider.Together[struct{}, answer]

	mu   sync.Mutex // held for no question
	last answer
}

// answer is what the provider told of all instances, and when.
type answer struct {
	at time.Time
	of map[fleet.InstanceID]provider.Usage
}

// New makes a source. It asks nothing yet.
func New(p provider.Provider) *Source {
	s := &Source{shared: provider.NewTogether[struct{}, answer](1)}
	if able, ok := p.(provider.UsageReader); ok {
		s.asked = able
	}
	return s
}

// Reader makes what reads the metric.
func (s *Source) Reader(m policy.Metric) gauge.Reader {
	return &reader{source: s, metric: m, was: map[fleet.InstanceID]sample{}}
}

// ask returns what is known of the machines' instances now.
func (s *Source) ask(ctx context.Context, machines []gauge.Machine) (answer, error) {
	if s.asked == nil {
		return answer{}, fault.New(fault.Unsupported, op, "", nil)
	}
	return s.shared.Ask(ctx, struct{}{}, func() (answer, error) {
		s.mu.Lock()
		last := s.last
		s.mu.Unlock()
		if time.Since(last.at) < fresh {
			return last, nil
		}
		refs := make([]provider.Ref, len(machines))
		for i, m := range machines {
			refs[i] = provider.Ref{ID: m.Instance, Host: m.Host}
		}
		of, err := s.asked.Usage(ctx, refs)
		if err != nil {
			return answer{}, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last = answer{time.Now(), of}
		return s.last, nil
	})
}

// sample is what one instance had counted.
type sample struct {
	at    time.Time
	value float64
}

// reader reads one metric.
type reader struct {
	source *Source
	metric policy.Metric

	mu  sync.Mutex
	was map[fleet.InstanceID]sample // when the metric was read last
}

// Read implements gauge.Reader.
func (r *reader) Read(ctx context.Context, machines []gauge.Machine) (out gauge.Reading, err error) {
	a, err := r.source.ask(ctx, machines)
	switch {
	case ctx.Err() != nil:
		return gauge.Reading{}, r.fault(fault.Transient, ctx.Err())
	case err != nil:
		return gauge.Reading{}, r.fault(fault.KindOf(err), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	is, told, waits := make(map[fleet.InstanceID]sample, len(machines)), 0, 0
	for _, m := range machines {
		u := a.of[m.Instance]
		amount, tells := u.Of[r.metric.Usage]
		if !tells {
			continue
		}
		told++
		value := amount.Value
		if amount.Counts {
			is[m.Instance] = sample{u.At, value}
			var known bool
			if value, known = r.rate(m.Instance, is[m.Instance]); !known {
				waits++
				continue
			}
		}
		out.Each = append(out.Each, fleet.MachineValue{Machine: m.Name, Value: value})
	}
	r.was = is
	switch {
	case len(out.Each) > 0:
		return out, nil
	case waits > 0:
		return gauge.Reading{}, r.fault(fault.NotFound, errors.New("it counts up: the second reading will tell"))
	case told == 0 && len(machines) > 0:
		return gauge.Reading{}, r.fault(fault.NotFound, fmt.Errorf("the provider tells %s of no instance",
			r.metric.Usage))
	}
	return gauge.Reading{}, r.fault(fault.NotFound, errors.New("there is no instance"))
}

// rate is by how much an instance's counter rose in a second. False: it is not known, as after a start.
func (r *reader) rate(id fleet.InstanceID, is sample) (perSecond float64, known bool) {
	was, seen := r.was[id]
	took := is.at.Sub(was.at).Seconds()
	if !seen || took <= 0 || is.value < was.value {
		return 0, false
	}
	return (is.value - was.value) / took, true
}

func (r *reader) fault(kind fault.Kind, err error) error {
	return fault.New(kind, op, string(r.metric.Name), err)
}
