package bulkprobe

import (
	"sync"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// single is one probe as it leaves a shard.
type single struct {
	record      int32
	run         uint32
	note        note
	standing    standing
	reason      reason
	started, at int64
}

// mostSingles is how many wait for an engine that does not take them: of one machine there are a few each second.
const mostSingles = 1 << 12

// mention tells the target's engine of the probe that ended just now.
func (s *shard) mention(t *target, r reason, n note) {
	s.boxes()[t.box].overhear(single{record: t.record, run: t.run, note: n, standing: t.tally.standing, reason: r,
		started: t.started, at: s.now})
}

func (m *mailbox) overhear(s single) {
	m.mu.Lock()
	if !m.shut && len(m.singles) < mostSingles {
		m.singles = append(m.singles, s)
	}
	m.mu.Unlock()
	m.ring()
}

// overheard returns the single probes since it was last called.
func (m *mailbox) overheard() []single {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.singles
	m.singles = nil
	return all
}

// Log implements probe.Logger.
func (e *Engine) Log(machine fleet.MachineName, each func(probe.Single)) (stop func()) {
	theirs := func() {}
	if able, ok := e.ordinary.(probe.Logger); ok {
		theirs = able.Log(machine, each)
	}
	number := 0
	e.turns.Do(func(r *register) {
		number = r.log.Add(machine, each)
		r.eavesdrop(machine, true)
	})
	return sync.OnceFunc(func() {
		theirs()
		e.turns.Do(func(r *register) {
			if r.log.Remove(machine, number) {
				r.eavesdrop(machine, false)
			}
		})
	})
}

// eavesdrop has the shards tell each probe of the machine's targets, or not any more.
func (r *register) eavesdrop(machine fleet.MachineName, on bool) {
	for i := range r.records.used {
		rec := r.records.at(i)
		if !rec.used || rec.machine != machine || rec.handle == none {
			continue
		}
		handle, run := rec.handle, rec.run
		r.pool.shards[r.shardOf(r.idOf(rec))].tell(instruction{inspect: func(s *shard) { s.overhear(handle, run, on) }})
	}
}

// overhear marks the target, unless it is another one by now.
func (s *shard) overhear(handle int32, run uint32, on bool) {
	t := s.targets.at(handle)
	if !t.flags.has(inUse) || t.run != run {
		return
	}
	if t.flags &^= overheard; on {
		t.flags |= overheard
	}
}

// passSingles tells of the probes that shards mentioned.
func (r *register) passSingles() {
	if r.log.None() {
		return
	}
	moment := func(at int64) time.Time { return r.pool.origin.Add(time.Duration(at)) }
	for _, s := range r.box.overheard() {
		rec := r.records.at(s.record)
		if !rec.used || rec.run != s.run {
			continue
		}
		told := probe.Single{ID: r.idOf(rec), Ended: moment(s.at), Result: s.reason.word(), Detail: s.note.text(),
			Standing: s.standing.word()}
		if s.started != 0 {
			told.Started = moment(s.started)
		}
		r.log.Tell(told)
	}
}
