// Package bubble plays the scenario files that package sim steps through, by floors 0 to 2 as they run in earnest, with
// goroutines, timers, leases and restarts, inside a testing/synctest bubble. Beneath them are the in-memory twins of
// the adapters: the simulated provider, the memory store, and real probes on the simulated network.
//
// It has tests only. They promise less about order and more about the machinery than the simulator: laws at rest and
// over the store's own order, deadlines, and what comes about at last; never a trace, never in what order two things of
// one instant happened. What the bubble cannot play, or cannot count as the simulator does, is listed with the reason
// (verbs_test.go, figures_test.go).
//
//	go test -v -run TestScenarios ./internal/testbed/bubble            the files, and how many each of the two plays
//	BUBBLE_SEED=7 go test -run Anything ./internal/testbed/bubble  one drawn run; BUBBLE_RUNS=100: a hundred
package bubble
