package tracing

import (
	"strings"
	"time"
)

// Span is one part of a trace.
type Span struct {
	Trace  TraceID
	ID     SpanID
	Parent SpanID // zero: it is the root
	Name   string
	// Calls says that it is a call to the provider.
	Calls      bool
	Start, End time.Time
	State      State
	Why        string // of one that failed
	Attributes []Attribute
	Events     []Event
	// Dropped is how many more events there were.
	Dropped uint32
	Links   []Link
}

// State is how what a span is about ended.
type State int

// The states.
const (
	StateUnset State = iota
	StateOK
	StateFailed
)

// Attribute is one fact: a text, a number or a truth.
type Attribute struct {
	Key   string
	Value any // string, int64 or bool
}

// Event is what happened at one moment of a span.
type Event struct {
	At         time.Time
	Name       string
	Attributes []Attribute
}

// Link leads to a span of another trace.
type Link struct {
	Trace TraceID
	Span  SpanID
}

// facts gathers attributes, without those that say nothing.
type facts []Attribute

func (f *facts) text(key, value string) {
	if len(value) > longestText {
		value = strings.ToValidUTF8(value[:longestText], "")
	}
	if value != "" {
		*f = append(*f, Attribute{key, value})
	}
}

func (f *facts) number(key string, value int64) {
	if value != 0 {
		*f = append(*f, Attribute{key, value})
	}
}
