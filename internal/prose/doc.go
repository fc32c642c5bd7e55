// Package prose is the catalogue: it turns hale's closed sets (verdicts, causes, reasons, results, outcomes …) and its
// records into plain English sentences. It is the only place where prose about decisions is written, so the log, the
// command line and the API say the same.
//
// It promises that every constant of these sets has words (a test reads the source of the words), that a sentence says
// what is known, what was done, what was not done and why, and that equal values give equal sentences: no clock, no
// locale. Where a person can do something about a reason, Advice says what.
//
// It does not decide, does not print, and does not know colours or columns; package cli does.
package prose
