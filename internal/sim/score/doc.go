// Package score is what a run in the simulated world, or many, came to in figures: how often hale did what it must never
// do, what it healed and how soon, whom it called, and all that beside an oracle which knows the truth.
//
// It promises: figures of several runs add up to those of one long run. It counts what it is told and judges nothing.
package score
