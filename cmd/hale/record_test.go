package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"hale/internal/state/active"
)

// call is one line of the provider's record: who asked it for what. What the test did to an instance stands there, too.
type call struct {
	at          time.Time
	server      string // that asked; empty: the test did it
	what        string
	id, machine string
	line        string
}

// What the test does to instances.
const vanishes = "vanishes"

// callsOf reads a record, in order of time.
func callsOf(t *testing.T, lines []string, pids map[int]string) []call {
	t.Helper()
	var all []call
	for _, line := range lines {
		var at int64
		var pid int
		c := call{line: line}
		if _, err := fmt.Sscan(line, &at, &pid, &c.what, &c.id, &c.machine); err != nil {
			t.Fatalf("call %q: %v", line, err)
		}
		c.at, c.server = time.Unix(0, at), pids[pid]
		if c.server == "" && c.what != vanishes {
			t.Fatalf("call %q: nobody knows who made it", line)
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b call) int { return a.at.Compare(b.at) })
	return all
}

// againstLaws returns the calls in the record that break a law: a machine's second instance is built while the first
// one is there or may come (L1), an instance is built or removed twice (L12), or a server calls that is not the active
// one (L7). What the last active server sent may be done for as long as the next one rests: whether that one really
// rested is linearizable's question.
func againstLaws(calls []call, offices []office) []string {
	var found []string
	complain := func(c call, law, why string) {
		found = append(found, fmt.Sprintf("%s: %s: %s", law, why, c.line))
	}
	built, removed, has := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, c := range calls {
		switch c.what {
		case "create":
			if other := has[c.machine]; other != "" {
				complain(c, "L1", "it has instance "+other)
			}
			if built[c.id] {
				complain(c, "L12", "this instance was built before")
			}
			built[c.id], has[c.machine] = true, c.id
		case "delete":
			if removed[c.id] {
				complain(c, "L12", "this instance was removed before")
			}
			removed[c.id] = true
			fallthrough
		case vanishes:
			if has[c.machine] == c.id {
				delete(has, c.machine)
			}
		}
		if c.server != "" && c.server != activeAt(offices, c.at) &&
			c.server != activeAt(offices, c.at.Add(-active.Rest)) {
			complain(c, "L7", "the active server was "+activeAt(offices, c.at))
		}
	}
	return found
}

// activeAt is which server was the active one.
func activeAt(offices []office, at time.Time) string {
	is := "none"
	for _, o := range offices {
		if !o.since.After(at) {
			is = o.server
		}
	}
	return is
}

// ownership is what porcupine is asked about: a server becomes the active one, or makes a call as that.
type ownership struct {
	server  string
	becomes bool
}

// linearizable reports whether there is an order of all calls and changes of the active server, within the times that
// each of them took, in which every call is the active server's. A server becomes the active one when it claims the
// office, the grace before its log says so at the earliest, and has its calls to itself once it rested.
func linearizable(calls []call, offices []office) bool {
	var all []porcupine.Operation
	for i, o := range offices {
		all = append(all, porcupine.Operation{ClientId: i, Input: ownership{o.server, true},
			Call: o.since.Add(-active.Grace).UnixNano(), Return: o.since.Add(active.Rest).UnixNano()})
	}
	for i, c := range calls {
		if c.server != "" {
			all = append(all, porcupine.Operation{ClientId: len(offices) + i, Input: ownership{c.server, false},
				Call: c.at.UnixNano(), Return: c.at.UnixNano() + 1})
		}
	}
	model := porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, _ any) (bool, any) {
			is := input.(ownership)
			return is.becomes || state == is.server, is.server
		},
		Equal: func(a, b any) bool { return a == b },
	}
	return porcupine.CheckOperationsTimeout(model, all, time.Minute) == porcupine.Ok
}

// The judge itself: a record in order passes, and each wrong one is found.
func TestTheRecordIsJudged(t *testing.T) {
	t.Parallel()
	const record = `
1000000000 1 create i1 m1
2000000000 1 start i1 m1
3000000000 0 vanishes i1 m1
40000000000 2 create i2 m1
`
	for name, at := range map[string]struct{ line, want string }{
		"all is well":        {"41000000000 2 delete i2 m1", ""},
		"a stale server":     {"81000000000 1 reboot i2 m1", "L7"},
		"one between others": {"41000000000 1 reboot i2 m1", ""},
		"an old call":        {"39500000000 1 reboot i0 m0", ""},
		"a second instance":  {"41000000000 2 create i3 m1", "L1"},
		"built once more":    {"3500000000 1 create i1 m1", "L12"},
		"removed once more":  {"41000000000 2 delete i2 m1\n42000000000 2 delete i2 m1", "L12"},
		"before any was one": {"500000000 1 delete i0 m0", "L7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := strings.Split(strings.TrimSpace(record+at.line), "\n")
			calls := callsOf(t, lines, map[int]string{1: "hale-a", 2: "hale-b"})
			offices := []office{{"hale-a", time.Unix(0, 900000000)}, {"hale-b", time.Unix(39, 0)}}
			found := strings.Join(againstLaws(calls, offices), "\n")
			if (at.want == "") != (found == "") || !strings.Contains(found, at.want) {
				t.Errorf("found %q, want %q", found, at.want)
			}
			if ok := linearizable(calls, offices); ok != (name != "a stale server" && name != "one between others") {
				t.Errorf("linearizable: %t", ok)
			}
		})
	}
}
