package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// HeaderBegins is the header of the answer to who asks for older events than there are: from its time on nothing was
// removed for its age, or to make room.
const HeaderBegins = "Hale-Events-Begin"

// EventsQuery says which events are wanted.
type EventsQuery struct {
	Fleet   string    // empty: all
	Machine string    // empty: all, and what is about none
	Since   time.Time // zero: from the beginning
	Kinds   []string  // empty: all
	Last    int       // only so many of those that there are; 0: all
	// From is where to go on: an event's Cursor, a list's revision, or "now". It is not for use with Since and Last.
	From   string
	Follow bool // and then those to come, until ctx ends
	// Begins is called, if it is not nil, before the first event when older ones were asked for and are gone: with the
	// time from which on the journals are whole at their beginnings.
	Begins func(time.Time)
}

// StreamNote is a line of the stream of events that is no event: one of these, or nothing but a cursor, which says that
// the stream lives.
type StreamNote struct {
	Problem *Problem `json:"problem,omitempty"` // why it broke off
	Gap     *Gap     `json:"gap,omitempty"`
}

// Gap says that the journal has let go of some of what was asked for. What comes next is all that it still has. It is
// an error for a reader that needs every event: such a one lists again.
type Gap struct {
	// Oldest is the cursor of the first event behind the gap; empty: there is none yet.
	Oldest string `json:"oldest,omitempty"`
}

// Error implements error.
func (Gap) Error() string { return "the journal has let go of some of the events that were asked for" }

// ErrStreamEnded is what Events yields when the controller ended the stream of a query that follows.
var ErrStreamEnded = errors.New("the controller has ended")

// Events yields the journal's events, oldest first. After an error it yields nothing more.
func (c *Client) Events(ctx context.Context, q EventsQuery) iter.Seq2[Event, error] {
	v := url.Values{}
	if q.Fleet != "" {
		v.Set("fleet", q.Fleet)
	}
	if q.Machine != "" {
		v.Set("machine", q.Machine)
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	for _, k := range q.Kinds {
		v.Add("kind", k)
	}
	if q.Last > 0 {
		v.Set("last", strconv.Itoa(q.Last))
	}
	if q.Follow {
		v.Set("follow", "true")
	}
	if q.From != "" {
		v.Set("from", q.From)
	}
	return func(yield func(Event, error) bool) {
		body, header, err := c.exchange(ctx, http.MethodGet, "/v1/events?"+v.Encode(), nil)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer body.Close()
		if begins, err := time.Parse(time.RFC3339Nano, header.Get(HeaderBegins)); err == nil && q.Begins != nil {
			q.Begins(begins)
		}
		err = readEvents(body, yield)
		switch {
		case ctx.Err() != nil || errors.Is(err, errEnough):
		case err != nil:
			yield(Event{}, err)
		case q.Follow:
			yield(Event{}, ErrStreamEnded)
		}
	}
}

var errEnough = errors.New("the reader has enough")

// readEvents yields line by line. It returns nil at the end of the stream.
func readEvents(body io.Reader, yield func(Event, error) bool) error {
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var either struct {
			Event
			StreamNote
		}
		if err := json.Unmarshal(line, &either); err != nil {
			return err
		}
		switch {
		case either.Problem != nil:
			return *either.Problem
		case either.Gap != nil:
			return *either.Gap
		case either.Event.Kind == "": // a sign that the stream lives
			continue
		}
		if !yield(either.Event, nil) {
			return errEnough
		}
	}
}
