package policy

import (
	"slices"
	"time"
)

// TargetName names a place where people are told: a mailbox, a webhook, a command.
type TargetName string

// Notify says who is told of a fleet, and when again.
type Notify struct {
	To []Recipient // sorted by target
	// RemindEvery is how long an incident that a person was told of may stay open before they are told again. 0: they
	// are told once.
	RemindEvery time.Duration
}

// Recipient is one target of a fleet's messages.
type Recipient struct {
	Target TargetName
	Events []NotifyEvent // which it wants
	// Attempts within AttemptsIn are the tries that a message gets; then it is a dead letter.
	Attempts   int
	AttemptsIn time.Duration
	// Daily is when it is told what was healed, with NotifyDaily among its events.
	Daily Daily `json:",omitzero"`
}

// NotifyEvent is a kind of message.
type NotifyEvent string

// The kinds of message.
const (
	NotifyPage     NotifyEvent = "pages"     // a person must look
	NotifyReminder NotifyEvent = "reminders" // a person was told, and it is not over
	NotifyHealed   NotifyEvent = "healed"    // what a person was told of is over
	NotifyWarning  NotifyEvent = "warnings"  // a check that only tells is down
	// NotifyWarningOver takes a warning back. Who wants the one wants the other.
	NotifyWarningOver NotifyEvent = "warnings-over"
	NotifyRepair      NotifyEvent = "repairs" // hale healed a machine
	NotifyDaily       NotifyEvent = "daily"   // what hale healed since the last one
)

// Wants reports whether the recipient is told of such events.
func (r Recipient) Wants(e NotifyEvent) bool {
	if e == NotifyWarningOver {
		e = NotifyWarning
	}
	return slices.Contains(r.Events, e)
}

// Daily is when a recipient is told once a day what hale healed. The zero value: never.
type Daily struct {
	At    time.Duration  // since midnight, in whole minutes
	Zone  *time.Location // nil: there is no summary
	Empty bool           // it is also sent when there was nothing
}

// Next returns the first moment after t at which a summary is due.
func (d Daily) Next(t time.Time) time.Time {
	year, month, day := t.In(d.Zone).Date()
	for ; ; day++ {
		hour, minute := int(d.At/time.Hour), int(d.At%time.Hour/time.Minute)
		if at := time.Date(year, month, day, hour, minute, 0, 0, d.Zone); at.After(t) {
			return at
		}
	}
}
