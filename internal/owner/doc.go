// Package owner is what the owner of a fleet does in one term: what it heard goes in; what is to be stored, what may
// begin once it is, and when to look again come out. It has no goroutine, no clock and no I/O: package engine drives it
// with real ones, package sim with simulated ones, so that what is judged is what runs.
//
// It promises that nothing begins before the belief that asks for it is stored, that an order leaves the inbox in the
// transaction that stores what follows from it, that a repair which needs a place in the book of slots is stored with
// that place, and that while the store takes nothing, nothing begins.
//
// The driver's loop is that of a state machine as package raft of etcd has it: tell it what happened, ask it with Due,
// have it Decide, store each Write that Ready returns, and begin what Stored returns.
package owner
