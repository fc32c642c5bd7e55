package rest

import (
	"encoding/json"
	"net/http"
	"time"

	"hale/api"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// The media types of streams.
const (
	MediaSSE   = "text/event-stream"
	MediaLines = "application/x-ndjson"
)

// Encoding is how a stream goes over the wire.
type Encoding int

// The encodings.
const (
	Lines      Encoding = iota // a JSON object a line
	ServerSent                 // server-sent events, as the HTML standard has them
)

// writeLimit bounds how long a reader may take for what is sent at once. A stream as a whole has no limit.
const writeLimit = 10 * time.Second

// Stream sends what a reader follows, until the reader has gone.
type Stream struct {
	encoding Encoding
	w        http.ResponseWriter
	control  *http.ResponseController
	pending  []byte // not sent yet
	gone     bool
}

// NewStream begins an answer that is a stream.
func NewStream(c huma.Context, e Encoding) *Stream {
	_, w := humago.Unwrap(c)
	media := MediaLines
	if e == ServerSent {
		media = MediaSSE
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "no-store")
	return &Stream{encoding: e, w: w, control: http.NewResponseController(w)}
}

// Item puts an event among what is sent next.
func (s *Stream) Item(cursor string, data []byte) {
	if s.encoding == Lines {
		s.line(data)
	} else {
		s.field("id", []byte(cursor))
		s.message("record", data)
	}
	if len(s.pending) > sendsAt {
		s.send()
	}
}

// sendsAt is how much is sent at once, in bytes.
const sendsAt = 64 << 10

// Show puts something of the kind among what is sent next, as a server-sent event.
func (s *Stream) Show(kind string, data []byte) {
	s.message(kind, data)
	if len(s.pending) > sendsAt {
		s.send()
	}
}

// Gap says that the journal let go of some before the place, which is empty when none is left.
func (s *Stream) Gap(oldest string) {
	g := api.Gap{Oldest: oldest}
	if s.encoding == Lines {
		s.value(api.StreamNote{Gap: &g})
		return
	}
	data, _ := json.Marshal(g) //nolint:errchkjson // a string
	s.message("gap", data)
}

// Broke says why the stream ends, and sends it.
func (s *Stream) Broke(p api.Problem) {
	if s.encoding == Lines {
		s.value(api.StreamNote{Problem: &p})
	} else {
		data, _ := json.Marshal(p) //nolint:errchkjson // strings
		s.message("problem", data)
	}
	s.send()
}

// Flush sends all that is pending, and says that the stream has come to the cursor: a reader whose filter lets nothing
// through goes on from there. False: the reader has gone.
func (s *Stream) Flush(cursor string) bool {
	if s.encoding == ServerSent {
		s.field("id", []byte(cursor))
		s.pending = append(s.pending, '\n')
	} else if len(s.pending) == 0 {
		s.value(bookmark{Cursor: cursor})
	}
	return s.send()
}

// bookmark is a line that says where the stream stands.
type bookmark struct {
	Cursor string `json:"cursor"`
}

func (s *Stream) send() bool {
	if s.gone {
		return false
	}
	// Not every connection has deadlines: then what breaks it ends the stream.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeLimit))
	_, err := s.w.Write(s.pending)
	if err == nil {
		err = s.control.Flush()
	}
	s.pending, s.gone = s.pending[:0], err != nil
	if cap(s.pending) > keepsPending {
		s.pending = nil
	}
	return !s.gone
}

// keepsPending is the largest buffer, in bytes, that a quiet stream keeps.
const keepsPending = 4 << 10

func (s *Stream) value(v any) {
	data, _ := json.Marshal(v) //nolint:errchkjson // what is sent so has words only
	s.line(data)
}

func (s *Stream) line(data []byte) { s.pending = append(append(s.pending, data...), '\n') }

func (s *Stream) field(name string, value []byte) {
	s.pending = append(append(s.pending, name...), ": "...)
	s.line(value)
}

func (s *Stream) message(kind string, data []byte) {
	s.field("event", []byte(kind))
	s.field("data", data)
	s.pending = append(s.pending, '\n')
}
