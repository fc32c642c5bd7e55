package server

import (
	"encoding/json"
	"net/http"
	"time"

	"hale/api"
	"hale/internal/api/feed"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// The media types of streams.
const (
	mediaSSE   = "text/event-stream"
	mediaLines = "application/x-ndjson"
)

// encoding is how a stream goes over the wire.
type encoding int

const (
	lines      encoding = iota // a JSON object a line
	serverSent                 // server-sent events, as the HTML standard has them
)

// writeLimit bounds how long a reader may take for what is sent at once. A stream as a whole has no limit.
const writeLimit = 10 * time.Second

// stream sends what a reader follows, until the reader has gone.
type stream struct {
	encoding encoding
	w        http.ResponseWriter
	control  *http.ResponseController
	pending  []byte // not sent yet
	gone     bool
}

func newStream(c huma.Context, e encoding) *stream {
	_, w := humago.Unwrap(c)
	media := mediaLines
	if e == serverSent {
		media = mediaSSE
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "no-store")
	return &stream{encoding: e, w: w, control: http.NewResponseController(w)}
}

// item puts an event among what is sent next.
func (s *stream) item(i *feed.Item) {
	if s.encoding == lines {
		s.line(i.JSON)
	} else {
		s.field("id", []byte(i.Cursor().String()))
		s.message("record", i.JSON)
	}
	if len(s.pending) > sendsAt {
		s.send()
	}
}

// sendsAt is how much is sent at once, in bytes.
const sendsAt = 64 << 10

// gap says that the journal let go of some before the items.
func (s *stream) gap(items []feed.Item) {
	var g api.Gap
	if len(items) > 0 {
		g.Oldest = items[0].Cursor().String()
	}
	if s.encoding == lines {
		s.value(api.StreamNote{Gap: &g})
		return
	}
	data, _ := json.Marshal(g) //nolint:errchkjson // a string
	s.message("gap", data)
}

// broke says why the stream ends, and sends it.
func (s *stream) broke(p api.Problem) {
	if s.encoding == lines {
		s.value(api.StreamNote{Problem: &p})
	} else {
		data, _ := json.Marshal(p) //nolint:errchkjson // strings
		s.message("problem", data)
	}
	s.send()
}

// flush sends all that is pending, and says that the stream has come to the cursor: a reader whose filter lets nothing
// through goes on from there. False: the reader has gone.
func (s *stream) flush(at feed.Cursor) bool {
	if s.encoding == serverSent {
		s.field("id", []byte(at.String()))
		s.pending = append(s.pending, '\n')
	} else if len(s.pending) == 0 {
		s.value(bookmark{Cursor: at.String()})
	}
	return s.send()
}

// bookmark is a line that says where the stream stands.
type bookmark struct {
	Cursor string `json:"cursor"`
}

func (s *stream) send() bool {
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

func (s *stream) value(v any) {
	data, _ := json.Marshal(v) //nolint:errchkjson // what is sent so has words only
	s.line(data)
}

func (s *stream) line(data []byte) { s.pending = append(append(s.pending, data...), '\n') }

func (s *stream) field(name string, value []byte) {
	s.pending = append(append(s.pending, name...), ": "...)
	s.line(value)
}

func (s *stream) message(kind string, data []byte) {
	s.field("event", []byte(kind))
	s.field("data", data)
	s.pending = append(s.pending, '\n')
}
