// Package rehearsal plays a user's own configuration in the simulated world, and says what came of it: what struck,
// what hale did and did not do about it, what it must never have done, and what the policy will regret.
//
// It promises that equal orders have equal outcomes, that nothing of a scenario or of a trace is dropped without being
// named, and that no real machine, file or network is touched. It draws no picture and prints nothing; packages cli and
// report do.
package rehearsal
