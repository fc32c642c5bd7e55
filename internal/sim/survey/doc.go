// Package survey plays many runs of the simulated world that differ in their seeds: their score is that of a policy,
// not of a day. Of a run that breaks a law it looks for the least that still breaks it.
package survey
