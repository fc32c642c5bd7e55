// Package notify is the port to the targets of hale's messages: a mailbox, a webhook, a command.
//
// What a Target promises: it keeps to the context's deadline; it says yes only when the receiver has taken the message;
// it says no with a fault; and no secret that it uses is in its answer or its error. What it does not promise: that a
// message which failed did not arrive. The same message may come again, always under the same Key, by which a receiver
// knows it.
//
// Package notifytest has the conformance suite. The adapters are mail, webhook and command, and memory for tests.
package notify

import (
	"context"
	"errors"
	"time"

	"hale/internal/core/fault"
)

// Target takes messages. It is safe for concurrent use.
type Target interface {
	// Send delivers the message, and returns what the receiver answered.
	//
	// Every error is a fault. Unauthorised, Invalid, NotFound, Unsupported and Permanent mean that the receiver, or
	// what hale knows of it, is set up wrongly: the same message will hardly be taken a minute later. Anything else may
	// pass by itself; see Later.
	Send(ctx context.Context, m Message) (Answer, error)
}

// Message is what a person is told. Its JSON is what webhooks and commands receive.
type Message struct {
	// Key is the message's own and never changes; a message that comes twice has the same one.
	Key      string    `json:"key"`
	Event    Event     `json:"event"`
	At       time.Time `json:"at"` // when it happened
	Server   string    `json:"server,omitempty"`
	Fleet    string    `json:"fleet,omitempty"`
	Machine  string    `json:"machine,omitempty"`  // empty: it is about the fleet, or its provider
	Incident string    `json:"incident,omitempty"` // the same in a page, its reminders and the end
	Reason   string    `json:"reason,omitempty"`
	Subject  string    `json:"subject"` // one line
	Text     string    `json:"text"`    // what happened, why, what hale did and will do, what a person can do
}

// Event is what kind of message it is.
type Event string

// The kinds of message.
const (
	EventPage     Event = "page"     // a person must look
	EventReminder Event = "reminder" // a person was told, and it is not over
	EventHealed   Event = "healed"   // what a person was told of is over
	EventRepair   Event = "repair"   // hale healed a machine
	EventDaily    Event = "daily"    // what hale healed since the last one
	EventWarning  Event = "warning"  // a check that only tells is down
	// EventWarningOver takes a warning back.
	EventWarningOver Event = "warning-over"

	EventTest  Event = "test"  // a person tests whether messages arrive
	EventAlive Event = "alive" // hale lives, and acts in every fleet
)

// Answer is what a receiver said, in a line.
type Answer struct{ Said string }

// LaterError says that the receiver wants to be left alone for a while.
type LaterError struct {
	After time.Duration
	Err   error
}

// Error implements error.
func (l *LaterError) Error() string { return l.Err.Error() }

// Unwrap returns the cause.
func (l *LaterError) Unwrap() error { return l.Err }

// Later returns how long the receiver wants to be left alone; 0: it did not say.
func Later(err error) time.Duration {
	var l *LaterError
	if errors.As(err, &l) {
		return l.After
	}
	return 0
}

// Why returns what went wrong, without what hale was doing: for people who know that.
func Why(err error) string {
	return fault.Plain(err)
}

// Refused reports whether the error says that the message will hardly be taken later either.
func Refused(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unauthorised, fault.Invalid, fault.NotFound, fault.Unsupported, fault.Permanent:
		return true
	default:
		return false
	}
}
