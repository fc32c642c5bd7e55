// Package fleet is hale's vocabulary: names, time, machines' instances and hosts, what
// providers and checks say of them, steps and proofs, orders and reasons. What people
// ask for is in package policy, what hale believes in belief, what happened in record,
// and what one round rests on in situation. See docs/words.md for the words.
//
// It promises to be data only: no I/O, no clock, no randomness, no logging. Values are
// plain and comparable by content, so they can be stored, sent and replayed.
//
// It does not decide anything; package decide does.
package fleet
