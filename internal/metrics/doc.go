// Package metrics is what monitoring sees of hale, in the form that Prometheus reads.
//
// It promises that the number of series follows from the configuration (fleets, providers, targets) and from hale's
// closed sets of words, and never from the machines, unless those are asked for; that a scrape waits for no owner: it
// reads what they published; and that what is counted is counted from the journal's records, once each. A counter begins
// at 0 when hale starts. It judges nothing, and stores nothing.
package metrics
