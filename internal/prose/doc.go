// Package prose turns hale's records into plain English sentences, from the words that package words has for each value
// in them. The two are the only place where prose about decisions is written, so the log, the command line and the API
// say the same.
//
// It promises that every kind of record has a sentence, that a sentence says what is known, what was done, what was not
// done and why, and that equal values give equal sentences: no clock, no locale.
//
// It does not decide, does not print, and does not know colours or columns; package cli does.
package prose
