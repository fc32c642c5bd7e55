package bulkprobe

import (
	"errors"
	"time"

	"hale/internal/defect"
)

// A turn that panics is one target's trouble, or one packet's, and not that of all targets of the shard. What the wire
// was doing is not to be relied upon then, so the shard goes on over another one. What was in flight says nothing; how
// the targets stand is kept, but for the one that was at hand: that is unknown at once, and left alone for a while, so
// that one which makes the shard panic each time costs the others little. Where this is not possible the shard ends: no
// watermark comes from it any more, and whatever its targets' owners knew grows stale.

const (
	// leftAlone is how long a target is not asked over which the shard panicked.
	leftAlone = int64(time.Minute)
	// The rest of a shard that panicked doubles while it goes on doing so.
	firstRest = int64(10 * time.Millisecond)
	lastRest  = int64(time.Second)
	restAnew  = int64(time.Minute)
)

var errNoWire = errors.New("there is no other wire")

// step takes a turn and sleeps until the next one is due.
func (s *shard) step() {
	defer s.panics.Catch("", "a turn", func(*defect.Panic) {
		if err := defect.Try(s.mend); err != nil {
			s.broken = err
			s.ending.Store(true)
		}
	})
	s.turn()
	until := s.rest()
	s.wire.pause(until, s.flying)
}

// mend lets the shard go on after a panic, over another wire.
func (s *shard) mend() error {
	if s.remake == nil {
		return errNoWire
	}
	fresh, err := s.remake()
	if err != nil {
		return err
	}
	s.mu.Lock()
	old := s.wire
	s.wire = fresh
	s.mu.Unlock()
	_ = defect.Try(func() error { old.close(); return nil }) // it may be what is broken
	s.now = s.wire.now()
	s.wheel, s.flying = newWheel(s.wheel.width), 0
	s.wheel.done = s.now / s.wheel.width
	for i := range s.targets.used {
		if t := s.targets.at(i); t.flags.has(inUse) {
			s.goOn(i, t)
		}
	}
	s.at = none
	s.pauseAfter()
	return nil
}

// goOn takes up a target where it was when the shard panicked.
func (s *shard) goOn(i int32, t *target) {
	p := s.plans.at(t.plan)
	t.conn = none
	flew := t.flags.has(flying)
	t.flags &^= flying | again
	switch {
	case i == s.at:
		known := t.tally.standing == unknown && t.tally.reason == panicked
		t.tally = tally{reason: panicked}
		t.slot, t.due = t.due, s.slotFrom(t, p, s.now+leftAlone)
		if !known {
			s.announce(t, textNone)
		}
	case flew:
		s.judge(t, p, late, textStalled)
	}
	s.wheel.put(i, max(t.due, s.now+1))
}

// pauseAfter rests, the longer the more often the shard panics.
func (s *shard) pauseAfter() {
	if s.now-s.mended > restAnew {
		s.resting = firstRest
	}
	s.mended = s.now
	s.wire.pause(s.now+s.resting, 0)
	s.resting = min(2*s.resting, lastRest)
	s.expect = s.wire.now()
}
