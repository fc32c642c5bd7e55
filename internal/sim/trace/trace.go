package trace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxSpan is the latest time in a trace: twenty years. Seconds since 1970 given by mistake exceed it.
const MaxSpan = 20 * 365 * 24 * time.Hour

// maxName is the longest name or cause, in bytes.
const maxName = 256

// Outage is one failure of one node.
type Outage struct {
	Start time.Duration // since the beginning of the trace
	End   time.Duration // 0: none given; else after Start
	Node  string
	Rack  string // may be empty: not known
	Room  string // may be empty: not known
	Cause string // may be empty
}

// Trace is a list of outages by start; outages that begin together stand by node, room, rack, cause and end.
type Trace []Outage

func compare(a, b Outage) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.Node, b.Node), strings.Compare(a.Room, b.Room),
		strings.Compare(a.Rack, b.Rack), strings.Compare(a.Cause, b.Cause), cmp.Compare(a.End, b.End))
}

// Sorted returns the outages as a trace. It does not look at them otherwise; see [Trace.Check].
func Sorted(outages []Outage) Trace {
	t := append(Trace{}, outages...)
	slices.SortFunc(t, compare)
	return t
}

// Check returns what is wrong with the trace, or nil: order, times, names.
func (t Trace) Check() error {
	for i, o := range t {
		if err := o.check(); err != nil {
			return fmt.Errorf("outage %d: %w", i, err)
		}
		if i > 0 && compare(t[i-1], o) > 0 {
			return fmt.Errorf("outage %d: it stands after a later one", i)
		}
	}
	return nil
}

func (o Outage) check() error {
	switch {
	case o.Start < 0 || o.Start > MaxSpan || o.End > MaxSpan:
		return errors.New("its time is outside the trace's span")
	case o.End != 0 && o.End <= o.Start:
		return errors.New("its end is not after its start")
	case o.Node == "":
		return errors.New("it names no node")
	}
	for _, name := range []string{o.Node, o.Rack, o.Room, o.Cause} {
		if complaint := wrongName(name); complaint != "" {
			return fmt.Errorf("%q %s", name, complaint)
		}
	}
	return nil
}

// wrongName says why text cannot be a name or a cause, or nothing.
func wrongName(text string) string {
	switch {
	case len(text) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case !utf8.ValidString(text):
		return "is not UTF-8"
	case strings.TrimSpace(text) != text:
		return "begins or ends with a space"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "holds a control character"
	}
	return ""
}

// Window returns the outages that begin at from or later and before from+length, counted from from. Outages that began
// earlier are left out, though they may last into the window; ends stay, also beyond it.
func (t Trace) Window(from, length time.Duration) Trace {
	first, after := t.since(from), t.since(from+min(length, MaxSpan+1))
	if after <= first {
		return Trace{}
	}
	cut := slices.Clone(t[first:after])
	for i := range cut {
		cut[i].Start -= from
		if cut[i].End != 0 {
			cut[i].End -= from
		}
	}
	return cut
}

// since returns the index of the first outage that begins at or after at.
func (t Trace) since(at time.Duration) int {
	return sort.Search(len(t), func(i int) bool { return t[i].Start >= at })
}

// Busiest returns where the window of that length begins that holds the most outages: the earliest of them, and always
// the start of an outage. It is 0 for an empty trace.
func (t Trace) Busiest(length time.Duration) time.Duration {
	var from time.Duration
	most, after := 0, 0
	for i, o := range t {
		for after < len(t) && t[after].Start < o.Start+length {
			after++
		}
		if after-i > most {
			most, from = after-i, o.Start
		}
	}
	return from
}

// Compress moves the starts together by a factor of 1 or more and keeps each outage's length, so that a year of
// failures can be met in a month. The clusters become denser by the same factor: it is a harder trace, not the same
// one sooner. A node's outages may come to overlap; see [Trace.Merge].
func (t Trace) Compress(factor float64) (Trace, error) {
	if math.IsNaN(factor) || math.IsInf(factor, 0) || factor < 1 {
		return nil, fmt.Errorf("a trace is compressed by a factor of 1 or more, not by %v", factor)
	}
	dense := slices.Clone(t)
	for i, o := range t {
		dense[i].Start = min(time.Duration(float64(o.Start)/factor), o.Start) // never later, by rounding
		if o.End != 0 {
			dense[i].End = dense[i].Start + (o.End - o.Start)
		}
	}
	slices.SortFunc(dense, compare)
	return dense, nil
}

// Merge takes repeats for one outage and returns how many there were. A repeat begins at most within after the latest
// outage of its node, itself a repeat or not, or before the end of what it is merged into. The first one's start,
// place and cause stand; the end is the latest, or none when one of them has none.
func (t Trace) Merge(within time.Duration) (Trace, int) {
	type open struct {
		at     int // in merged
		latest time.Duration
	}
	merged := make(Trace, 0, len(t))
	last := map[string]open{}
	for _, o := range t {
		was, known := last[o.Node]
		if !known || o.Start > was.latest+within && o.Start >= merged[was.at].End {
			last[o.Node] = open{len(merged), o.Start}
			merged = append(merged, o)
			continue
		}
		last[o.Node] = open{was.at, o.Start}
		into := &merged[was.at]
		if into.End == 0 || o.End == 0 {
			into.End = 0
		} else {
			into.End = max(into.End, o.End)
		}
	}
	slices.SortFunc(merged, compare) // an end that changed may change the order of equals
	return merged, len(t) - len(merged)
}

// FillEnds gives each outage without an end the length that draw returns for it, asked in the trace's order. A length
// below one millisecond counts as one; an end beyond [MaxSpan] is brought back to it. An outage that begins there has
// no length, and so no end.
func (t Trace) FillEnds(draw func() time.Duration) Trace {
	filled := slices.Clone(t)
	for i, o := range filled {
		if o.End != 0 {
			continue
		}
		if length := min(max(draw(), time.Millisecond), MaxSpan-o.Start); length > 0 {
			filled[i].End = o.Start + length
		}
	}
	slices.SortFunc(filled, compare)
	return filled
}
