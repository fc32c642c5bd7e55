package satellite

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

// Protocol is the number of what is said between servers and satellites. A side that does not know the other one's
// number says so. What only grows keeps its number: fields that one side does not know are passed over.
const Protocol = 1

// Path is where satellites report, and servers that stand by.
const Path = "/satellite"

const (
	// hold is how long the server keeps a report waiting for something to answer: so often does a satellite report,
	// while all goes well.
	hold = 500 * time.Millisecond
	// maxReport and maxOrders bound what is read, in bytes.
	maxReport, maxOrders = 16 << 20, 64 << 20
	// mostEdges and mostTargets are how much is told at once; the rest follows.
	mostEdges, mostTargets = 5_000, 5_000
)

// report is what a satellite says.
type report struct {
	Protocol int
	Version  string // of hale
	Process  string // tells one satellite's process from another's
	// Session and Stamp are of the server's last answer; empty: this one begins anew.
	Session string
	Stamp   int64
	// Behind is until how long ago the satellite's probes are judged.
	Behind time.Duration
	// Have is the number of the server's last list.
	Have  uint64
	Edges []edge   `json:",omitempty"`
	Looks []looked `json:",omitempty"`
}

// orders are what the server answers.
type orders struct {
	Protocol int
	Session  string
	Stamp    int64
	// Anew says that the satellite is to forget all targets first.
	Anew bool `json:",omitempty"`
	// Have is the number of the list as it is with this.
	Have    uint64
	Targets []target   `json:",omitempty"`
	Gone    []probe.ID `json:",omitempty"`
	Looks   []look     `json:",omitempty"`
}

// target is what is to be probed. Another revision begins anew.
type target struct {
	ID       probe.ID
	Revision uint64
	Address  netip.Addr
	Spec     *policy.Check
}

// probed is the target as an engine has it: the revision stands for the epoch.
func (t *target) probed() probe.Target {
	return probe.Target{ID: t.ID, Epoch: t.Revision, Address: t.Address, Spec: t.Spec}
}

// sound reports what no engine could probe.
func (t *target) sound() error {
	switch c := t.Spec; {
	case c == nil, c.Every <= 0, c.Timeout <= 0:
		return fmt.Errorf("check %s of %s is not whole", t.ID.Check, t.ID.Machine)
	case !c.Kind.Anywhere():
		return fmt.Errorf("check %s of %s is of kind %q, which no satellite asks", t.ID.Check, t.ID.Machine, c.Kind)
	}
	return nil
}

// edge is how a target stands.
type edge struct {
	ID       probe.ID
	Revision uint64
	said
}

// said is what a satellite says of a target.
type said struct {
	Standing fleet.Standing
	Result   fleet.ResultReason
	Detail   string `json:",omitempty"`
}

// look is a target that is to be looked at now.
type look struct {
	Number uint64
	Target target
}

// looked is what a look found.
type looked struct {
	Number uint64
	said
}

// mostDetail bounds what a satellite says in words, in bytes.
const mostDetail = 200

// tidied is what was said, as far as it can be a satellite's word: a standing that there is, and a short detail in one
// line.
func (s said) tidied() said {
	switch s.Standing {
	case fleet.StandingUp, fleet.StandingFailing, fleet.StandingDown:
	default:
		s.Standing = fleet.StandingUnknown
	}
	s.Detail = line(s.Detail)
	s.Result = fleet.ResultReason(line(string(s.Result)))
	return s
}

// line is the text in one line, and short.
func line(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), mostDetail)], "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
