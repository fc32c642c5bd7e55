package trace

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// The columns of a trace.
const (
	columnStart columnName = "start"
	columnEnd   columnName = "end"
	columnNode  columnName = "node"
	columnRack  columnName = "rack"
	columnRoom  columnName = "room"
	columnCause columnName = "cause"
)

// columns are the columns of a trace, in the order in which they are written.
var columns = []columnName{columnStart, columnEnd, columnNode, columnRack, columnRoom, columnCause}

// File is what a trace file holds.
type File struct {
	Trace   Trace
	Origin  time.Time // the instant from which the times count; zero where the file itself counts in seconds
	Ignored []string  // columns of other names, as written in the header
}

// Read reads a trace. The error is [Problems] where the file is wrong, else the reader's own. Rows may stand in any
// order. A file with a header and no row is a trace without an outage.
func Read(r io.Reader) (File, error) { return read(r, usual) }

func read(r io.Reader, l limits) (File, error) {
	names := map[string]columnName{}
	for _, c := range columns {
		names[string(c)] = c
	}
	table := openTable(r, l, names, columnStart, columnNode)
	var rows []timed
	var clock clock
	if table.usable() {
		table.each(func(r row) {
			if o, ok := clock.outage(r); ok {
				rows = append(rows, o)
			}
		})
	}
	file := File{Ignored: table.ignored}
	if clock.kind == dates {
		file.Origin = rebase(rows)
	}
	spanned(table, rows)
	if err := table.err(); err != nil {
		return File{}, err
	}
	file.Trace = all(rows)
	return file, nil
}

// all is the trace of all rows.
func all(rows []timed) Trace {
	outages := make([]Outage, len(rows))
	for i, o := range rows {
		outages[i] = o.Outage
	}
	return Sorted(outages)
}

// timed is an outage with its line. While dates are read, its times count from 1970.
type timed struct {
	Outage
	line int
}

// rebase counts the times from the earliest start, and returns it; zero where there is no row.
func rebase(rows []timed) time.Time {
	if len(rows) == 0 {
		return time.Time{}
	}
	origin := rows[0].Start
	for _, o := range rows {
		origin = min(origin, o.Start)
	}
	for i := range rows {
		rows[i].Start -= origin
		if rows[i].End != 0 {
			rows[i].End -= origin
		}
	}
	return time.Unix(0, int64(origin)).UTC()
}

// spanned finds times beyond the longest trace.
func spanned(t *table, rows []timed) {
	const message = "is more than 20 years after the beginning of the trace (write instants in RFC 3339, or count " +
		"the seconds from the beginning)"
	for _, o := range rows {
		switch {
		case t.full():
			return
		case o.Start > MaxSpan:
			t.add(o.line, "", "its start "+message)
		case o.End > MaxSpan:
			t.add(o.line, "", "its end "+message)
		}
	}
}

// kind is a way to write times.
type kind string

const (
	seconds kind = "seconds"
	dates   kind = "RFC 3339"
)

// clock reads the times of one file, which are all of the kind that its first one has.
type clock struct {
	kind kind // empty before the first
	line int  // of the first
}

// outage reads one line; false where its times are not usable, which is then noted.
func (c *clock) outage(r row) (o timed, ok bool) {
	o = timed{line: r.line, Outage: Outage{
		Node: r.node(), Rack: r.name(columnRack), Room: r.name(columnRoom), Cause: r.name(columnCause),
	}}
	began, ended := false, true
	if r.text(columnStart) == "" {
		r.wrong(columnStart, "is empty; it is needed")
	} else {
		o.Start, began = c.read(r, columnStart)
	}
	given := r.text(columnEnd) != ""
	if given {
		o.End, ended = c.read(r, columnEnd)
	}
	if began && ended && given && o.End <= o.Start {
		r.wrong(columnEnd, "is not after the start; leave it empty where it is not known")
		return o, false
	}
	return o, began && ended
}

// read reads one time; false where it is not one, which is then noted.
func (c *clock) read(r row, column columnName) (time.Duration, bool) {
	text := r.text(column)
	parse, kind := parseDate, dates
	if strings.Trim(text, "0123456789.+-") == "" && !strings.ContainsAny(text[1:], "+-") {
		parse, kind = parseSeconds, seconds
	}
	at, complaint := parse(text)
	if complaint != "" {
		r.wrong(column, complaint)
		return 0, false
	}
	if c.kind == "" {
		c.kind, c.line = kind, r.line
	}
	if c.kind != kind {
		r.wrong(column, fmt.Sprintf("is written as %s, but line %d in %s: one kind throughout", kind, c.line, c.kind))
		return 0, false
	}
	return at, true
}

// parseSeconds reads seconds with a fraction, exactly to the nanosecond.
func parseSeconds(text string) (at time.Duration, complaint string) {
	if strings.HasPrefix(text, "-") {
		return 0, "is before the beginning of the trace, which is 0"
	}
	at, err := time.ParseDuration(text + "s")
	if err != nil {
		return 0, "is no number of seconds such as 86400 or 0.5"
	}
	return at, ""
}

// parseDate reads an instant as the time since 1970, which holds the years 1678 to 2261.
func parseDate(text string) (at time.Duration, complaint string) {
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, "is neither seconds nor RFC 3339 such as 2026-03-01T12:00:00Z"
	}
	if year := instant.UTC().Year(); year < 1970 || year > 2200 {
		return 0, "is outside the years 1970 to 2200"
	}
	return time.Duration(instant.UnixNano()), ""
}
