package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// outcome is what became of a mutant.
type outcome string

const (
	caught       outcome = "caught"
	timedOut     outcome = "timed out" // counts as caught
	survived     outcome = "survived"
	notReached   outcome = "not reached" // survived, since the baseline never comes there
	notCompiling outcome = "not compiling"
	notRun       outcome = "not run" // left out of the sample, or interrupted
)

// result is a mutant's outcome.
type result struct {
	mutant

	Outcome outcome `json:"outcome"`
	By      string  `json:"by,omitempty"` // the test that caught it, or why it does not compile
	Built   float64 `json:"build_seconds,omitempty"`
	Ran     float64 `json:"run_seconds,omitempty"`
}

// limits of a mutant's run.
const (
	baselineLimit = time.Hour
	limitFactor   = 4                // of the baseline's processor time
	limitFloor    = 20 * time.Second // below it, what a run costs beside its tests counts for more
	wallFactor    = 3                // of the limit of processor time: the machine may have other things to do
)

// limitFor completes the limits of a mutant's run from what the baseline cost: those that are set stay.
func limitFor(baseline, set cost) cost {
	if set.cpu == 0 {
		set.cpu = max(limitFloor, limitFactor*baseline.cpu)
	}
	if set.wall == 0 {
		set.wall = max(wallFactor*set.cpu, limitFactor*baseline.wall)
	}
	return set
}

// errBaseline says that the tests fail without any mutant: then a failure proves nothing.
var errBaseline = errors.New("the tests fail without a mutant")

// baseline runs the tests of the source as it stands, and returns what that costs.
func (s *suite) baseline(ctx context.Context, dir string) (cost, error) {
	if err := s.compile(ctx, s.packages, dir); err != nil {
		return cost{}, fmt.Errorf("%w: %w", errBaseline, err)
	}
	t, err := s.try(ctx, s.packages, dir, cost{wall: baselineLimit}, untilEnd)
	if err != nil {
		return cost{}, err
	}
	if t.outcome != survived {
		return cost{}, fmt.Errorf("%w: %s (%s)\n%s", errBaseline, t.outcome, t.by, t.tail)
	}
	return t.cost, nil
}

// judge holds one mutant against the tests, working in a folder that is its own for the time.
func (s *suite) judge(ctx context.Context, m mutant, dir string, limit cost) (result, error) {
	r := result{mutant: m}
	var dirs []string
	for file := range m.patch {
		dirs = append(dirs, path.Dir(file))
	}
	packages := s.touchedBy(dirs)
	if len(packages) == 0 {
		r.Outcome = notReached
		return r, nil
	}
	description, err := overlay(s.tree, m, dir)
	if err != nil {
		return r, err
	}
	begin := time.Now()
	err = s.compile(ctx, packages, dir, "-overlay="+description)
	r.Built = time.Since(begin).Seconds()
	if errors.Is(err, errCompile) {
		r.Outcome, r.By = notCompiling, err.Error()
		return r, nil
	}
	if err != nil {
		return r, err
	}
	t, err := s.try(ctx, packages, dir, limit, untilFailure)
	r.Outcome, r.By, r.Ran = t.outcome, t.by, t.wall.Seconds()
	return r, err
}

// judgeAll judges the mutants with some workers, each in a folder of its own below dir, and tells each result as it
// comes. It returns them in the mutants' order. When the context ends, the rest is not run; any other trouble ends it
// with an error.
func (s *suite) judgeAll(ctx context.Context, mutants []mutant, dir string, workers int, limit cost,
	tell func(result)) ([]result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]result, len(mutants))
	for i, m := range mutants {
		results[i] = result{mutant: m, Outcome: notRun}
	}
	next := make(chan int, len(mutants))
	for i := range mutants {
		next <- i
	}
	close(next)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			for i := range next {
				r, err := s.judgeIn(ctx, mutants[i], filepath.Join(dir, strconv.Itoa(n)), limit)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					cancel(fmt.Errorf("%s: %w", mutants[i].ID, err))
					return
				}
				mu.Lock()
				results[i] = r
				tell(r)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return results, err
	}
	return results, nil
}

// judgeIn gives a mutant a fresh folder.
func (s *suite) judgeIn(ctx context.Context, m mutant, dir string, limit cost) (result, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return result{}, err
	}
	r, err := s.judge(ctx, m, dir, limit)
	return r, errors.Join(err, os.RemoveAll(dir))
}

// screen sets the mutants that would not compile apart, without building anything.
func screen(sources []*source, mutants []mutant) (sound []mutant, broken []result) {
	for _, m := range mutants {
		i := slices.IndexFunc(sources, func(s *source) bool { return s.dir == m.Package })
		if i < 0 {
			sound = append(sound, m) // made by hand elsewhere: its build will tell
			continue
		}
		if err := sources[i].check(m.patch); err != nil {
			broken = append(broken, result{mutant: m, Outcome: notCompiling, By: err.Error()})
			continue
		}
		sound = append(sound, m)
	}
	return sound, broken
}
