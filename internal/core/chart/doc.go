// Package chart is one machine in one round, as a chart at a bedside: what is believed and seen of it lies there, and
// what follows from the round is written down there. Packages decide and repair both write on it.
//
// It promises that a record is complete (whose it is, what it follows from, which call or incident it belongs to), that
// a reason to wait, an incident and a page are written once, and that each instance with the machine's mark is told
// apart: its own, one that a lost order built, one that should not be there, one that may run beside it (L1, L2). What
// to do about the machine it does not say.
package chart
