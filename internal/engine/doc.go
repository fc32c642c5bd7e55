// Package engine owns the goroutines that turn evidence into acts: one poller per provider, one owner per fleet. The
// owner observes, decides (package decide), stores the belief and its reasons in one transaction guarded by its lease,
// and only then performs what the decision asked for.
//
// It promises that nothing is sent before its intent is stored, that a disruptive call is sent only while the lease
// surely covers it (L7), that a new owner begins with an amnesty (L9), and that every goroutine ends with Run. It holds
// no mutex across a call. It does not judge; it does not talk to people.
package engine
