// Package load is what users ask of a fleet over time, and what those say who measure it. Traces were recorded, or are
// drawn in the ways in which load is known to come: by the day and the week, in spikes, in ramps, and with noise.
//
// It promises that equal seeds give equal traces. It knows nothing of machines but how much one takes.
package load
