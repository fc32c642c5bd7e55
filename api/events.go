package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Events yields the journal's events, oldest first. A stream whose connection breaks is taken up again behind the last
// event, for a while. After an error it yields nothing more.
func (c *Client) Events(ctx context.Context, q EventsQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for tries := 0; ; tries++ {
			last, err := c.stream(ctx, q, yield)
			switch {
			case ctx.Err() != nil || errors.Is(err, errEnough):
				return
			case !q.Follow && err == nil:
				return
			case err == nil:
				err = ErrStreamEnded
			}
			if last != "" { // it went well for a while
				tries, q.From, q.Since, q.Last, q.Begins = 0, last, time.Time{}, 0, nil
			}
			if !broken(err) || !q.Follow || q.From == "" || tries == reconnects || !pause(ctx, reconnectAfter<<tries) {
				yield(Event{}, err)
				return
			}
		}
	}
}

// How often, and after which first pause, a broken stream is taken up again. Each pause is twice the one before.
const (
	reconnects     = 5
	reconnectAfter = 200 * time.Millisecond
)

// broken reports whether the way to the controller failed, and not the controller.
func broken(err error) bool {
	return errors.Is(err, errBroken) || errors.As(err, new(Unreachable))
}

// errBroken says that a stream ended in the middle.
var errBroken = errors.New("the stream of events broke off")

// pause waits; false: ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// values are the query as it goes over the wire.
func (q *EventsQuery) values() url.Values {
	v := url.Values{}
	set(v, "fleet", q.Fleet)
	set(v, "machine", q.Machine)
	set(v, "from", q.From)
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
	return v
}

// stream yields the events of one connection, and returns the place behind the last; empty: there was none.
func (c *Client) stream(ctx context.Context, q EventsQuery, yield func(Event, error) bool) (last string, err error) {
	body, header, err := c.exchange(ctx, http.MethodGet, "/v1/events?"+q.values().Encode(), nil)
	if err != nil {
		return "", err
	}
	defer body.Close()
	if begins, err := time.Parse(time.RFC3339Nano, header.Get(HeaderBegins)); err == nil && q.Begins != nil {
		q.Begins(begins)
	}
	return readEvents(body, yield)
}

var errEnough = errors.New("the reader has enough")

// readEvents yields line by line, and returns the place that the stream came to. It returns no error at the end of the
// stream.
func readEvents(body io.Reader, yield func(Event, error) bool) (at string, err error) {
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return at, nil
		case err != nil:
			return at, fmt.Errorf("%w: %w", errBroken, err)
		}
		var either struct {
			Event
			StreamNote
		}
		if err := json.Unmarshal(line, &either); err != nil {
			return at, err
		}
		if either.Cursor != "" {
			at = either.Cursor
		}
		switch {
		case either.Problem != nil:
			return at, *either.Problem
		case either.Gap != nil:
			return at, *either.Gap
		case either.Kind == "": // a sign that the stream lives
			continue
		}
		if !yield(either.Event, nil) {
			return at, errEnough
		}
	}
}
