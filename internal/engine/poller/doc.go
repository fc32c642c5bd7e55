// Package poller watches one provider: it lists everything on a beat, and at once after a lifecycle event, and tells
// all who subscribed the whole truth as of one question. The owners' questions about single instances go through it, in
// turns.
//
// It promises that the provider is the one that was seen first, or nothing is believed of it; that it is never asked
// faster than it answers; and that what of it is not hale's own may panic. It changes nothing at the provider: calls
// that do are sent by package engine.
package poller
