// Package trace reads, writes, converts and maps failure traces: lists of what failed where, when, and for how long.
//
// # The format
//
// A trace is CSV with a header. Columns may stand in any order:
//
//	start   when the outage began (needed)
//	end     when it was over; empty where that is not known
//	node    the machine's name, the same in every row about it (needed)
//	rack    where it stands; a rack's name is read together with its room's
//	room
//	cause   free text
//
// Times are seconds, also with a fraction, counted from the beginning of the trace, or they are RFC 3339; one kind
// throughout. Seconds are kept as they are, so that a trace can begin quietly; RFC 3339 is counted from the earliest
// start, which becomes 0. An outage has a length: an end that is not after its start is refused. A byte order mark and
// CRLF are accepted.
//
// A column of another name is ignored, and named in [File.Ignored]. It is no error, because published data carry
// dozens of columns; it is not silent, because a misspelt "rak" would take the racks away.
//
// # Promises
//
// Everything that is wrong in a file is reported at once, with line and column, up to 100 problems. What is read
// is bounded. A [Trace] that was read passes [Trace.Check], and [Write] and [Read] are each other's inverse on it.
// Everything here is deterministic and keeps the order of nothing but its own sorting; no argument is changed.
//
// The package knows nothing of fleets: [Map] places a trace's nodes on numbered machines in numbered racks and rooms,
// and says what did not fit. Whether a failure kills a machine is for the caller to say; a failed disk need not.
package trace
