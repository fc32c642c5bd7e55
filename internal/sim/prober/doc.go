// Package prober asks the checks of a fleet in the simulated world, from one vantage: each at its time, and at once for
// those who want to know now. Between two changes of what the world answers all probes of a check hear the same; so
// only those that change how it stands are played, and all others are counted.
package prober
