package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"hale/api"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// Journal is what was recorded.
type Journal struct {
	Records int       `json:"records"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Gaps    []Gap     `json:"gaps"` // records that are missing
	// of those that are missing, how many hale let go: the oldest of machines that flap
	Thinned uint64    `json:"thinned"`
	Unknown []Unknown `json:"unknown_kinds"` // records that this hale knows nothing of
	Broken  []BadLine `json:"bad_lines"`     // lines that are no records
	events  map[fleet.Name][]api.Event
}

// Gap is a place where a fleet's records are missing.
type Gap struct {
	Fleet string    `json:"fleet"`
	After time.Time `json:"after"` // the time of the last record before it
	Until time.Time `json:"until"`
	Lost  uint64    `json:"lost"` // how many
}

// Unknown is a kind of record that is not known here.
type Unknown struct {
	Kind  string `json:"kind"`
	Times int    `json:"times"`
}

// BadLine is a line that is no record.
type BadLine struct {
	Line int    `json:"line"`
	Why  string `json:"why"`
}

// longest is the longest line that is read.
const longest = 1 << 20

// ErrNoJournal says that a file has no record at all.
var ErrNoJournal = errors.New("it has no record: write the journal with hale events --json")

// Read reads a journal, a JSON object a line. Lines that cannot be read are kept count of; an error means that there is
// nothing to replay.
func Read(r io.Reader) (Journal, error) {
	j := Journal{Gaps: []Gap{}, Unknown: []Unknown{}, Broken: []BadLine{}, events: map[fleet.Name][]api.Event{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longest)
	unknown := map[string]int{}
	for n := 1; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		var e api.Event
		switch err := json.Unmarshal(text, &e); {
		case err != nil:
			j.Broken = append(j.Broken, BadLine{n, "it is no JSON object of a record"})
		case e.Kind == "" || e.Fleet == "" || e.At.IsZero():
			j.Broken = append(j.Broken, BadLine{n, "it has no kind, fleet or time"})
		case !record.Kind(e.Kind).Known():
			unknown[e.Kind]++
		default:
			j.add(e)
		}
	}
	if err := lines.Err(); err != nil {
		return Journal{}, err
	}
	if j.Records == 0 {
		return Journal{}, ErrNoJournal
	}
	for _, kind := range slices.Sorted(maps.Keys(unknown)) {
		j.Unknown = append(j.Unknown, Unknown{kind, unknown[kind]})
	}
	j.order()
	return j, nil
}

func (j *Journal) add(e api.Event) {
	j.Records++
	if j.From.IsZero() || e.At.Before(j.From) {
		j.From = e.At
	}
	if e.At.After(j.To) {
		j.To = e.At
	}
	j.events[fleet.Name(e.Fleet)] = append(j.events[fleet.Name(e.Fleet)], e)
}

// order sorts each fleet's records by their numbers, drops repeats, and finds what is missing.
func (j *Journal) order() {
	for _, name := range j.Fleets() {
		all := j.events[name]
		slices.SortStableFunc(all, func(a, b api.Event) int {
			if a.Seq != b.Seq {
				return map[bool]int{true: -1, false: 1}[a.Seq < b.Seq]
			}
			return a.At.Compare(b.At)
		})
		all = slices.CompactFunc(all, func(a, b api.Event) bool { return a.Seq == b.Seq && a.Seq != 0 })
		var gaps []Gap
		var missing, thinned uint64
		for i := 1; i < len(all); i++ {
			thinned += all[i].Thinned
			if lost := all[i].Seq - all[i-1].Seq; all[i-1].Seq != 0 && lost > 1 {
				gaps = append(gaps, Gap{Fleet: string(name), After: all[i-1].At, Until: all[i].At, Lost: lost - 1})
				missing += lost - 1
			}
		}
		j.Thinned += min(missing, thinned)
		if missing > thinned { // some of them are lost, and nothing says which
			j.Gaps = append(j.Gaps, gaps...)
		}
		j.events[name] = all
	}
}

// Fleets returns the names of the fleets that the journal tells of, sorted.
func (j *Journal) Fleets() []fleet.Name { return slices.Sorted(maps.Keys(j.events)) }

// String sums the journal up.
func (j *Journal) String() string {
	return fmt.Sprintf("%d records from %s to %s", j.Records, j.From.Format(time.DateTime), j.To.Format(time.DateTime))
}
