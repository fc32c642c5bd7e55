// Package netprobe is the probe engine: it asks every target at a fixed cadence, keeps the rise and fall counts, and
// reports only what changed. Network is its way to the real network; tests give it another probe.Transport.
//
// One goroutine (Run) owns the state of all targets; an idle target costs no goroutine and no timer, a probe in flight
// costs one of each. Cadence is fixed from the due time, so a slow answer never delays the next check. Targets are
// spread over their interval by a hash of their ID; only the first probe of a new or changed target is due at once.
//
// It promises (L4) that our own fault is never the target's failure: a probe that could not start within its interval,
// a timeout while the process was stalled, an answer read too late, a lack of descriptors or routes are all unknown.
// After a stall nothing is made up for: what was missed is late, and the next probe comes at its regular time.
//
// How results become standings is said at probe.Tally.
//
// It does not judge machines, does not persist, and serves one shard. A later engine may serve 100,000 targets cheaper.
package netprobe
