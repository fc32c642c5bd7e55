// Package calendar is the time of the simulated world: what is due, and the moment that is now. Time moves only as the
// calendar is told to, to what is due next.
package calendar
