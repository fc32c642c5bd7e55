package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"hale/internal/fleet"
	"hale/internal/sim/world"
)

const (
	rollBeat  = 30 * time.Second // within which a server reads another's note
	rollAgain = 5 * time.Second  // after the notes could not be read or written
)

// roll is what a server knows of the starts of hale that are noted at the provider's. Its rule is the engine's: what
// builds or destroys is sent only after this start was noted, and nothing at all while a start is noted that the store
// does not know. Notes are read and written in no time here: what can come between the two is for the engine's own
// tests.
type roll struct {
	own     fleet.StartName // this start's
	seen    []world.Noted   // when the notes were last read
	silent  string          // why they were not read since
	unnoted string          // why own was not noted, which is tried again
	readAt  time.Duration   // when they are read next; 0: when something asks for it
}

// starts is what a store knows of hale's starts.
type starts struct {
	count int
	noted map[fleet.StartName]bool // at the provider's
}

func (s starts) clone() starts { return starts{s.count, maps.Clone(s.noted)} }

func (s starts) know(names ...fleet.StartName) {
	for _, n := range names {
		s.noted[n] = true
	}
}

// unknown returns the starts among the notes that are not known, oldest first.
func (s starts) unknown(seen []world.Noted) []fleet.NotedStart {
	var out []fleet.NotedStart
	for _, n := range seen {
		if name := fleet.StartName(n.Name); !s.noted[name] {
			out = append(out, fleet.NotedStart{Name: name, Host: fleet.HostName(n.Host)})
		}
	}
	slices.SortFunc(out, func(a, b fleet.NotedStart) int { return a.Name.Compare(b.Name) })
	return out
}

// countStart counts a start in the store. Its nonce is one that no other start has, on whichever store.
func (s *stage) countStart() fleet.StartName {
	first := s.eldest()
	first.nonces++
	s.store.starts.count++
	return fleet.NameStart(uint64(s.store.starts.count), "n"+strconv.Itoa(first.nonces)) //nolint:gosec // from 1
}

// permit says why the call may not be sent; empty: it may.
func (c *server) permit(a fleet.Action) string {
	acts := a.Intent.Op.Rolled()
	c.readRoll(acts && c.s.spec.Rolled())
	if u := c.s.store.starts.unknown(c.roll.seen); len(u) > 0 {
		return fmt.Sprintf("%s: %s at the provider is unknown to this store", fleet.ReasonStoreOlder, u[0].Name)
	}
	why := cmp.Or(c.roll.silent, c.roll.unnoted)
	left := a.Intent.Op == fleet.OpFence || a.Intent.Op == fleet.OpEvacuate // then the host does not answer
	if why == "" && !left && !c.client.Answers(string(a.Host)) {
		why = fmt.Sprintf("host %q does not show its notes", a.Host)
	}
	if why == "" || !acts {
		return ""
	}
	return fmt.Sprintf("%s: %s", fleet.ReasonPlaceSilent, why)
}

// readRoll reads the notes, after this start was noted if that is wanted, and takes in what they say.
func (c *server) readRoll(note bool) {
	c.readNotes()
	if (note || c.roll.unnoted != "") && c.roll.silent == "" && len(c.s.store.starts.unknown(c.roll.seen)) == 0 {
		c.roll.unnoted = c.noteStart()
	}
	r := fleet.Roll{Unknown: c.s.store.starts.unknown(c.roll.seen), Silent: cmp.Or(c.roll.silent, c.roll.unnoted)}
	c.own.SetRoll(r)
	c.heat()
	if r.Silent != "" {
		c.readRollIn(rollAgain)
	}
}

// readNotes reads the notes. What was read before counts on while they are silent.
func (c *server) readNotes() {
	seen, end := c.client.Notes(c.s.installation)
	if c.roll.silent = string(end); end == world.Done {
		c.roll.seen = seen
	}
}

// noteStart sees to it that this start is noted on every host that answers, and says why it is not. The store knows it
// before.
func (c *server) noteStart() string {
	own := string(c.roll.own)
	if !c.client.Lacks(c.s.installation, own) {
		return ""
	}
	if c.s.store.cut[c] > 0 || c.s.store.full > 0 {
		return "the store does not take it"
	}
	c.s.store.starts.know(c.roll.own)
	end := c.client.Note(c.s.installation, own)
	c.readNotes()
	if slices.ContainsFunc(c.roll.seen, func(n world.Noted) bool { return n.Name == own }) {
		return ""
	}
	return cmp.Or(c.roll.silent, string(end))
}

// beginRoll reads the notes at the beginning of a term. The process's first one counts its start.
func (c *server) beginRoll() {
	if c.roll.own == "" {
		c.roll.own = c.s.countStart()
	}
	c.roll.readAt = 0
	c.readRoll(false)
}

// readRollIn plans to read the notes, unless they are read sooner.
func (c *server) readRollIn(d time.Duration) {
	at := c.s.w.Now() + d
	if c.roll.readAt != 0 && c.roll.readAt <= at {
		return
	}
	c.roll.readAt = at
	c.soon(d, func() {
		if c.roll.readAt == at && c.term != 0 {
			c.roll.readAt = 0
			c.readRoll(false)
		}
	})
}

// renewStart makes this a new start: a copy of the store that knows the one before must find that another one goes on
// here.
func (c *server) renewStart() {
	c.roll.own = c.s.countStart()
	c.readRoll(c.s.spec.Mode == fleet.ModeAct && c.s.spec.Rolled())
}

// noted checks that hale builds and destroys only where its start is noted, and does nothing where one is that its
// store does not know (L1).
func (j *judge) noted(c *server, a fleet.Action) {
	if j.windowOpen {
		return
	}
	harmless := []fleet.Op{
		fleet.OpStart, fleet.OpReboot, fleet.OpSoftReboot, fleet.OpResume, fleet.OpRun, fleet.OpSnapshot,
		fleet.OpCertify,
	}
	own := slices.Contains(harmless, a.Intent.Op) || j.s.spec.Adopt.Selects() && !j.s.spec.Adopt.Replaceable
	for _, n := range j.s.w.Noted(j.s.installation) {
		own = own || n.Name == string(c.roll.own)
		if !j.s.store.starts.noted[fleet.StartName(n.Name)] {
			what := fmt.Sprintf("%s by %s, whose store does not know start %s", a.Intent.Op, c.name, n.Name)
			j.broken("L1", string(a.Machine), what)
		}
	}
	if !own {
		j.broken("L1", string(a.Machine), fmt.Sprintf("%s by %s, whose start is noted nowhere", a.Intent.Op, c.name))
	}
}
