// Package replay lets another policy meet what a recorded journal tells of: it reads the lines of "hale events --json",
// makes out what was wrong with each machine and whether it would have passed, plays that in the simulated world under
// the other policy, and compares what came of it with what was recorded.
//
// It promises that equal journals and policies have equal outcomes, and that everything that the journal leaves open is
// either decided by a rule that is written down (Assumptions) or named as not replayed.
//
// A journal says what hale saw change and what it did. It does not say what was between two changes, nor what would
// have happened after another act; so what comes out is an estimate, made by the same rules for every policy.
package replay
