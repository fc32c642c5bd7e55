// Package look says what a look at the target of a repair shows: the last word before anything disruptive (L3).
//
// It promises that a failure is confirmed by evidence alone which is younger than the look, or by the current order of
// a person where that shows nothing certain; and that what contradicts the reason for which the step was chosen
// confirms nothing. Asking for the look, and what follows from it, is for package repair.
package look
