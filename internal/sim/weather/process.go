package weather

import (
	"fmt"
	"iter"
	"time"
)

// Process is how the machines of a fleet fail one by one, each on its own.
//
// It is a stationary renewal process: the gaps of one machine are independent draws from Gap, and its history began
// long before the horizon does, so the first failure comes after a [Weibull.Wait] and not after a gap. Failures are
// thus as frequent in the first hour as in any other, horizon divided by the mean gap on average. With shapes below 1
// they are uneven between machines: over a horizon of one mean gap, many machines do not fail at all and some fail
// often.
type Process struct {
	Gap    Weibull // from the start of one failure to the start of the next
	Length Weibull // of an outage, by itself
	Seed   uint64
}

// Failure is one machine's failure.
type Failure struct {
	At     time.Duration // since the beginning
	Length time.Duration // how long it would last by itself; it may reach beyond the machine's next failure
}

// Process returns the process of a measured system's machines.
func (f Fit) Process(seed uint64) Process { return Process{Gap: f.Gap, Length: f.Length, Seed: seed} }

// Check returns what is wrong with the parameters, or nil.
func (p Process) Check() error {
	if err := p.Gap.Check(); err != nil {
		return fmt.Errorf("gap between failures: %w", err)
	}
	if err := p.Length.Check(); err != nil {
		return fmt.Errorf("length of an outage: %w", err)
	}
	return nil
}

// Instants yields when a machine fails, before the horizon and each later than the last. The same machine of the same
// process yields the same instants every time, and a longer horizon only adds to them. A process that does not pass
// [Process.Check] yields none.
func (p Process) Instants(machine int, horizon time.Duration) iter.Seq[time.Duration] {
	horizon = min(horizon, MaxTime)
	return func(yield func(time.Duration) bool) {
		if p.Gap.Check() != nil {
			return
		}
		r := stream(p.Seed, forGaps, machine)
		for at := p.Gap.Wait(r); at < horizon; at += p.Gap.Draw(r) {
			if !yield(at) {
				return
			}
		}
	}
}

// Failures yields the instants of [Process.Instants], each with a length. Lengths are drawn apart: another distribution
// of them does not move the instants.
func (p Process) Failures(machine int, horizon time.Duration) iter.Seq[Failure] {
	return func(yield func(Failure) bool) {
		if p.Length.Check() != nil {
			return
		}
		r := stream(p.Seed, forLengths, machine)
		for at := range p.Instants(machine, horizon) {
			if !yield(Failure{At: at, Length: p.Length.Draw(r)}) {
				return
			}
		}
	}
}
