// Package outlet is the port to where the journal streams out: a file, an address that takes events, a collector.
//
// An outlet is handed what happened, fleet by fleet in the order in which it did, and says whether it has it for good.
// It promises nothing about what it was handed and did not acknowledge: that comes again, and has the same id then, so
// that a receiver can drop what it has. Where to go on from is kept by package courier, and what is said of an event by
// the caller.
package outlet

import (
	"context"
	"encoding/json"
	"time"
)

// Outlet is where the journal streams out.
type Outlet interface {
	// Take hands over the events. Without an error all of them are taken, and never come again.
	//
	// Every error is a fault. fault.Invalid: they, or some of them, will never be taken as they are. Anything else may
	// pass by itself; see notify.Later for when. Some may have been taken.
	Take(ctx context.Context, events []Event) error
	// Close lets go of connections. It is called once, after the last Take.
	Close()
}

// Event is one record of the journal as it leaves hale, or the word that some are missing.
type Event struct {
	// ID is the event's own and never changes: an event that comes twice has the same one.
	ID string
	At time.Time
	// Installation and Fleet say where it happened, and Machine to what; empty: to the fleet or its provider.
	Installation, Fleet, Machine string
	Kind                         string // the record's, or KindGap
	Severe                       bool   // a person must look
	Text                         string // one sentence
	// Trace is the trace of the incident that it belongs to, and Span its root, in hexadecimal; empty: it belongs to none.
	Trace, Span string
	Incident    string
	Repair      string
	// Body is the whole of it as JSON.
	Body json.RawMessage
}

// KindGap is the kind of the word that records are missing: the journal let go of them before they were handed over.
const KindGap = "gap"
