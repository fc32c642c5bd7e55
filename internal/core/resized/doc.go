// Package resized is what is remembered of how a fleet's size moved, of the metrics behind it, and of the sizes that
// were wanted in the hours of the week.
//
// It promises that a new owner with another clock waits for nothing less than the one before it (L15). What follows
// from all this is for package sizing to say.
package resized
