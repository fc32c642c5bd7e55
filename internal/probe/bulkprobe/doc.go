// Package bulkprobe watches great numbers of plain targets: ping, tcp and http checks that ask for nothing special.
// Pool is a few shards, each on a thread of its own; Engine is one fleet's door to them behind the port, and hands what
// is unusual to another engine.
//
// A shard owns its targets: flat records without a pointer, linked by index into a timing wheel. It wakes once a slot
// (some milliseconds), and then first reads the answers that came, then judges what has timed out, then starts what is
// due. No target and no probe costs a goroutine, a timer, a channel or an allocation, and only edges leave the shard.
// Cadence is fixed from the due time, so a slow answer never delays the next check; targets are spread over their
// interval by a hash of their ID, and only the first probe of a new or changed one is due at once.
//
// It promises (L4) that our own fault is never the target's failure: a probe that could not start in time, a timeout
// across a stall, an answer read too late, a lack of descriptors, buffers or routes are all unknown. What is in flight
// is capped, and after a stall nothing is made up for. How results become standings is said at probe.Tally, which tally
// is tested against.
//
// It does not judge machines, does not look on demand, and has sockets for Linux only: elsewhere Sockets says so.
package bulkprobe
