package load

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trace is a load over time, as units per second: requests, say. Between two points it goes in a straight line, and
// before the first and after the last it stays as it is there.
type Trace struct {
	Name   string
	Points []Point // in the order of time
}

// Point is the load at one time since the beginning.
type Point struct {
	At    time.Duration
	Units float64
}

// At returns the load at a time. A trace without points is none.
func (t Trace) At(at time.Duration) float64 {
	n := len(t.Points)
	if n == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(t.Points, at, func(p Point, at time.Duration) int { return cmp.Compare(p.At, at) })
	switch i {
	case 0:
		return t.Points[0].Units
	case n:
		return t.Points[n-1].Units
	}
	a, b := t.Points[i-1], t.Points[i]
	return a.Units + (b.Units-a.Units)*float64(at-a.At)/float64(b.At-a.At)
}

// Span returns how long the trace is.
func (t Trace) Span() time.Duration {
	if len(t.Points) == 0 {
		return 0
	}
	return t.Points[len(t.Points)-1].At
}

// Peak returns the greatest load.
func (t Trace) Peak() float64 {
	most := 0.0
	for _, p := range t.Points {
		most = max(most, p.Units)
	}
	return most
}

// Times returns the trace with every load so many times as great.
func (t Trace) Times(factor float64) Trace {
	out := Trace{Name: t.Name, Points: slices.Clone(t.Points)}
	for i := range out.Points {
		out.Points[i].Units *= factor
	}
	return out
}

// Limits of a file: nobody reads more of a drawing, and a mistake must not fill the memory.
const (
	mostPoints = 1_000_000
	mostUnits  = 1e12
)

// Problem is what is wrong with a line of a file.
type Problem struct {
	Line    int
	Message string
}

// Error implements error.
func (p Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Message) }

// Read reads lines of a time and a load, as "10m,250", sorted by time. A time is a duration since the beginning, as 90s
// or 1h30m, a number of seconds, or a date in the form of RFC 3339: then the first one is the beginning. A first line
// that names the columns is passed over, and so are empty lines and what follows a #. An error is a Problem.
func Read(from io.Reader) (Trace, error) {
	var t Trace
	var first time.Time
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" || n == 1 && strings.HasPrefix(text, "time,") {
			continue
		}
		when, units, two := strings.Cut(text, ",")
		at, begin, err := moment(strings.TrimSpace(when), first)
		load, numErr := strconv.ParseFloat(strings.TrimSpace(units), 64)
		last := time.Duration(-1)
		if len(t.Points) > 0 {
			last = t.Points[len(t.Points)-1].At
		}
		switch {
		case !two:
			return Trace{}, Problem{n, "write a time and a load, as 10m,250"}
		case err != nil:
			return Trace{}, Problem{n, err.Error()}
		case numErr != nil || math.IsNaN(load) || load < 0 || load > mostUnits:
			return Trace{}, Problem{n, fmt.Sprintf("%q is no load: write a number from 0 to 1e12", units)}
		case at <= last:
			return Trace{}, Problem{n, fmt.Sprintf("%s is not after the line before it", when)}
		case len(t.Points) == mostPoints:
			return Trace{}, Problem{n, fmt.Sprintf("more than %d lines", mostPoints)}
		}
		first = begin
		t.Points = append(t.Points, Point{at, load})
	}
	if err := lines.Err(); err != nil {
		return Trace{}, err
	}
	if len(t.Points) == 0 {
		return Trace{}, Problem{1, "there is no load: write a line for each time, as 10m,250"}
	}
	return t, nil
}

// moment reads a time; first is the date that is the beginning, if there is one.
func moment(text string, first time.Time) (time.Duration, time.Time, error) {
	if date, err := time.Parse(time.RFC3339, text); err == nil {
		if first.IsZero() {
			first = date
		}
		return date.Sub(first), first, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		var seconds float64
		if seconds, err = strconv.ParseFloat(text, 64); err == nil && seconds <= math.MaxInt32 {
			d = time.Duration(seconds * float64(time.Second))
		}
	}
	if err != nil || d < 0 {
		return 0, first, fmt.Errorf("%q is no time: write it as 1h30m, as seconds, or as 2026-01-31T10:00:00Z", text)
	}
	return d, first, nil
}

// Write writes the trace so that Read reads it again.
func (t Trace) Write(to io.Writer) error {
	out := bufio.NewWriter(to)
	for _, p := range t.Points {
		if _, err := fmt.Fprintf(out, "%s,%s\n", p.At, strconv.FormatFloat(p.Units, 'g', -1, 64)); err != nil {
			return err
		}
	}
	return out.Flush()
}
