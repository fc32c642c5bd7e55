// Package satellite lets probes run elsewhere: Hub is in hale's server, and Run is what a satellite does, in another
// network. A satellite calls the server, over one connection of its own, so that nothing needs to reach it.
//
// It promises that what a satellite says is never taken for newer than it is, whatever stands still in between: each
// report bears the stamp that the server put under its last answer, and counts from when that was written, less what
// the satellite's own probes are behind. No clock is compared. After StaleAfter it counts no more (L4); the quorum then
// has a vote less.
//
// A satellite reports, and never orders anything. It goes on probing and counting while it does not reach the server,
// and tells how everything stands when it does again. A server that was started anew begins anew with all of them.
//
// It does not decide what several votes come to (package quorum), and stores nothing.
package satellite
