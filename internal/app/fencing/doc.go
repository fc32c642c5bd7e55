// Package fencing is how hosts are fenced by the methods of a configuration: for the engine (engine.Fencer) and for
// people (power.Fencing).
//
// It promises that two who fence one host take turns, that each controller is asked on a schedule whether it still
// listens, and that a controller that panics fails alone. What a method proves is said by its kind.
package fencing
