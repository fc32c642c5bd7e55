package trace

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// limits are what one file may hold.
type limits struct{ bytes, rows int }

// usual is far above a year of a large fleet; a file beyond it would fill the memory.
var usual = limits{bytes: 128 << 20, rows: 1_000_000}

// byteOrderMark begins a file that some spreadsheets wrote.
const byteOrderMark = "\ufeff"

// columnName is a column's name as this package uses it.
type columnName string

// table reads CSV by the names of its columns and collects what is wrong.
type table struct {
	csv      *csv.Reader
	limits   limits
	line     int // of the latest row
	width    int // fields of the header
	at       map[columnName]int
	ignored  []string
	names    map[string]string // every name once, and not as a part of its whole line
	problems Problems
	failure  error // of the reader below; then the problems do not count
}

// row is one line's fields.
type row struct {
	line   int
	fields []string
	table  *table
}

// openTable reads the header. Names maps what may stand in it, in small letters, to columns; needed must be there.
func openTable(r io.Reader, l limits, names map[string]columnName, needed ...columnName) *table {
	t := &table{
		csv: csv.NewReader(unmarked(&bounded{from: r, left: l.bytes})), limits: l,
		at: map[columnName]int{}, names: map[string]string{},
	}
	t.csv.FieldsPerRecord = -1 // counted here, with a better message
	t.csv.ReuseRecord = true
	header, ok := t.next()
	if !ok {
		if t.failure == nil && len(t.problems) == 0 {
			t.add(1, "", "the file is empty; a header is needed")
		}
		return t
	}
	t.width = len(header.fields)
	for i, written := range header.fields {
		written = strings.TrimSpace(written)
		column, known := names[strings.ToLower(written)]
		switch _, twice := t.at[column]; {
		case !known:
			t.ignored = append(t.ignored, strings.Clone(written))
		case twice:
			t.add(header.line, string(column), "stands twice in the header")
		default:
			t.at[column] = i
		}
	}
	for _, column := range needed {
		if _, there := t.at[column]; !there {
			t.add(header.line, string(column), "is missing in the header")
		}
	}
	return t
}

// usable reports whether the header was good enough to read on.
func (t *table) usable() bool { return t.failure == nil && len(t.problems) == 0 }

func (t *table) add(line int, column, message string) {
	t.problems = append(t.problems, Problem{Line: line, Column: column, Message: message})
}

// full reports whether no further problem would be shown.
func (t *table) full() bool { return len(t.problems) >= maxProblems }

// next returns the next line that is CSV; false at the end.
func (t *table) next() (row, bool) {
	for !t.full() {
		fields, err := t.csv.Read()
		var broken *csv.ParseError
		switch {
		case err == nil:
			t.line, _ = t.csv.FieldPos(0)
			return row{t.line, fields, t}, true
		case errors.Is(err, io.EOF):
			return row{}, false
		case errors.Is(err, errTooLong):
			t.add(t.line+1, "", fmt.Sprintf("the file is longer than %d bytes", t.limits.bytes))
			return row{}, false
		case errors.As(err, &broken):
			t.add(broken.StartLine, "", "it is not CSV: "+broken.Err.Error())
		default:
			t.failure = err
			return row{}, false
		}
	}
	return row{}, false
}

// each calls take for every line that has as many fields as the header, until the end, the limit, or too many problems.
func (t *table) each(take func(row)) {
	for n := 0; ; n++ {
		r, ok := t.next()
		switch {
		case !ok:
			return
		case n == t.limits.rows:
			t.add(r.line, "", fmt.Sprintf("there are more than %d lines", t.limits.rows))
			return
		case len(r.fields) != t.width:
			t.add(r.line, "", fmt.Sprintf("it has %d fields, the header has %d", len(r.fields), t.width))
		default:
			take(r)
		}
	}
}

// err is everything that was wrong, by line.
func (t *table) err() error {
	if t.failure != nil {
		return t.failure
	}
	if len(t.problems) == 0 {
		return nil
	}
	found := slices.Clone(t.problems)
	slices.SortStableFunc(found, func(a, b Problem) int { return a.Line - b.Line })
	return found[:min(len(found), maxProblems)]
}

// wrong notes a problem of one field.
func (r row) wrong(column columnName, message string) { r.table.add(r.line, string(column), message) }

// text returns a field without the space around it; empty where the column is absent.
func (r row) text(column columnName) string {
	i, there := r.table.at[column]
	if !there {
		return ""
	}
	return strings.TrimSpace(r.fields[i])
}

// name returns a field that is a name or a cause.
func (r row) name(column columnName) string {
	text := r.text(column)
	if known, ok := r.table.names[text]; ok {
		return known
	}
	if complaint := wrongName(text); complaint != "" {
		r.wrong(column, complaint)
		return ""
	}
	text = strings.Clone(text)
	r.table.names[text] = text
	return text
}

// node returns the node's name, which is needed.
func (r row) node() string {
	if r.text(columnNode) == "" {
		r.wrong(columnNode, "is empty; every outage is one of a node")
		return ""
	}
	return r.name(columnNode)
}

// unmarked skips a byte order mark. An error of the reader comes back with the first line that is read.
func unmarked(r io.Reader) io.Reader {
	ahead := bufio.NewReader(r)
	begin, err := ahead.Peek(len(byteOrderMark))
	if err == nil && string(begin) == byteOrderMark {
		_, _ = ahead.Discard(len(begin)) // it is in the buffer
	}
	return ahead
}

// errTooLong is what bounded returns beyond its limit.
var errTooLong = errors.New("too long")

// bounded reads up to a limit, and fails beyond it: a file cut off in silence would pass for a shorter one.
type bounded struct {
	from io.Reader
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p[:min(len(p), b.left+1)]) // one more, to know that there is more
	if n > b.left {
		return b.left, errTooLong
	}
	b.left -= n
	return n, err
}
