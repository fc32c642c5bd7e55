package sim

import (
	"errors"
	"maps"
	"strconv"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/owner"
	"hale/internal/sim/world"
)

// roll is what a server knows of the starts of hale that are noted at the provider's. Notes are read and written in no
// time here: what can come between the two is for the engine's own tests.
type roll struct {
	owner.Roll
	start  fleet.StartName // the process's
	readAt time.Duration   // when the notes are read next; 0: when something asks for it
}

// countStart counts a start in the store. Its nonce is one that no other start has, on whichever store.
func (s *stage) countStart() fleet.StartName {
	first := s.eldest()
	first.nonces++
	s.store.Starts.Count++
	return fleet.NameStart(uint64(s.store.Starts.Count), "n"+strconv.Itoa(first.nonces)) //nolint:gosec // from 1
}

// permit says why the call may not be sent; empty: it may.
func (c *server) permit(a situation.Action) string {
	c.readRoll(owner.Pass{Call: &a, Rolled: c.s.spec.Rolled()})
	return c.roll.Permit()
}

// readRoll reads the notes, and takes in what they say.
func (c *server) readRoll(p owner.Pass) {
	for want := c.roll.Begin(p); want != owner.WantNothing; {
		want = c.answer(want)
	}
	c.own.SetRoll(c.roll.Standing())
	c.heat()
	if c.roll.Again() != owner.RollBeat {
		c.readRollIn(owner.RollAgain)
	}
}

// answer does what the roll wants, and tells it how that ended.
func (c *server) answer(want owner.Want) owner.Want {
	switch st := c.s.store; want {
	case owner.WantNotes:
		found, end := world.ReadNotes[fleet.HostName, fleet.StartName](c.client, c.s.installation)
		return c.roll.Read(found, failed(end))
	case owner.WantKnown:
		return c.roll.Learn(maps.Keys(st.Starts.Noted), nil)
	case owner.WantName:
		return c.roll.Named(c.roll.start, nil)
	case owner.WantAnother:
		return c.roll.Named(c.s.countStart(), nil)
	case owner.WantStored:
		if st.cut[c] > 0 || st.full > 0 {
			return c.roll.Stored(errors.New("the store does not take it"))
		}
		st.Starts.Know(c.roll.Own)
		return c.roll.Stored(nil)
	case owner.WantNoted:
		return c.roll.Noted(failed(c.client.Note(c.s.installation, string(c.roll.Own))))
	case owner.WantPruned, owner.WantNothing: // old notes are no trouble here
	}
	return owner.WantNothing
}

func failed(e world.End) error {
	if e == world.Done {
		return nil
	}
	return errors.New(string(e))
}

// beginRoll reads the notes at the beginning of a term. The process's first one counts its start.
func (c *server) beginRoll() {
	if c.roll.start == "" {
		c.roll.start = c.s.countStart()
	}
	c.roll.Know(maps.Keys(c.s.store.Starts.Noted))
	c.roll.readAt = 0
	c.readRoll(owner.Pass{})
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
			c.readRoll(owner.Pass{})
		}
	})
}

// believe takes the starts for known that a person had the store believe.
func (c *server) believe(names []fleet.StartName) {
	if c.roll.Believe(names); c.s.spec.Mode == policy.ModeAct && c.s.spec.Rolled() {
		c.roll.Owed = true
	}
	c.readRoll(owner.Pass{})
}
