// Package fleet is hale's vocabulary: the names, specifications, observations and
// beliefs that every other package speaks of. See docs/words.md for the words.
//
// It promises to be data only: no I/O, no clock, no randomness, no logging. Values are
// plain and comparable by content, so a belief can be stored, sent and replayed. The
// laws that a single machine's belief can break on its own are checked by Machine.Check.
//
// It does not decide anything; package decide does.
package fleet
