package probetest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"hale/internal/probe"
)

// measured is what the engine kept of the target.
func (s *stage) measured(able probe.Measurer, id probe.ID) (probe.Measure, bool) {
	m, is := able.Measured(s.t.Context(), id)[id]
	return m, is
}

// timesKept: how long the last good answer took is known until a failure comes, and again after it.
func timesKept(s *stage) {
	able, ok := s.engine.(probe.Measurer)
	if !ok {
		return
	}
	a, unknown := pinged(1), pinged(2).ID
	s.net.Script(a.Address, Answer{After: 30 * moment}, Answer{After: 70 * moment}, answers("l")[0], answers("f")[0],
		Answer{After: 10 * moment})
	s.listen()
	s.engine.Set(a)
	s.pass(a.Spec.Every / 2)
	if len(s.net.Starts(a.Address)) != 1 {
		s.pass(a.Spec.Every)
	}
	for n, want := range []time.Duration{30 * moment, 70 * moment, 70 * moment, 0, 10 * moment} {
		m, is := s.measured(able, a.ID)
		near := (m.Took - want).Abs() <= 10*moment // an engine of shards counts in its turns
		if is != (want > 0) || is && !near || is && time.Since(m.At) > 2*a.Spec.Every {
			s.t.Errorf("after answer %d: %v ago it took %v, want %v", n+1, time.Since(m.At), m.Took, want)
		}
		if _, is := s.measured(able, unknown); is {
			s.t.Error("a target that is not watched was measured")
		}
		s.pass(a.Spec.Every)
	}
}

// slowPage answers with a head at once, and with a body that stops in the middle.
func slowPage(beginning string) Answer {
	return Answer{After: moment, Serve: func(conn net.Conn) {
		defer conn.Close()
		r := bufio.NewReader(conn)
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n%s", beginning)
		_, _ = io.Copy(io.Discard, r) // until the probe lets go
	}}
}

// pagesKept: of a page only the beginning is kept, of those targets that want it, and what of it does not come changes
// nothing.
func pagesKept(s *stage) {
	able, ok := s.engine.(probe.Measurer)
	if !ok {
		return
	}
	long := strings.Repeat("load 7 ", probe.MostPage)
	for n, c := range []struct {
		name, pattern string
		keeps         bool
		answer        Answer
		want          string
	}{
		{"it is kept", "", true, Page("load 7"), "load 7"},
		{"behind a pattern", "load", true, Page("the load is 7"), "the load is 7"},
		{"the beginning", "", true, Page(long), long[:probe.MostPage]},
		{"it is not wanted", "load", false, Page("load 7"), ""},
		{"no body", "", true, Status(204), ""},
		{"half of it", "", true, slowPage("load 7"), "load 7"},
	} {
		a := paged(n+1, "http")
		a.Keeps, a.Spec.HTTP.Body = c.keeps, c.pattern
		c.answer.After = 10 * moment
		s.net.Script(a.Address, c.answer)
		s.engine.Set(a)
		s.pass(2 * a.Spec.Every)
		s.stands(c.name, a.ID, "up ok")
		m, is := s.measured(able, a.ID)
		if !is || string(m.Page) != c.want || m.Took > 50*moment {
			s.t.Errorf("%s: %v, %d bytes after %v, want %d", c.name, is, len(m.Page), m.Took, len(c.want))
		}
	}
}

// keptLater: that a page is to be kept from now on is no change of the check.
func keptLater(s *stage) {
	able, ok := s.engine.(probe.Measurer)
	if !ok {
		return
	}
	a := paged(1, "http")
	a.Spec.HTTP.Body = "load" // whichever engine reads bodies goes on with it
	s.net.Script(a.Address, Page("load 7"))
	s.listen()
	s.engine.Set(a)
	s.pass(2 * a.Spec.Every)
	a.Keeps = true
	s.engine.Set(a)
	s.pass(2 * a.Spec.Every)
	if m, _ := s.measured(able, a.ID); string(m.Page) != "load 7" {
		s.t.Errorf("it keeps %q", m.Page)
	}
	s.told(a.ID, "up ok")
}
