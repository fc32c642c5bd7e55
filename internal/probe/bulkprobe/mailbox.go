package bulkprobe

import "sync"

// news is an edge as it leaves a shard: which record of the engine, which run of it, and what changed.
type news struct {
	record   int32
	run      uint32
	note     note
	standing standing
	reason   reason
	at, due  int64
}

// mailbox is where shards leave news for one engine, which they never wait for. It holds what is of interest at all: an
// edge is news once, and of watermarks only the latest counts.
type mailbox struct {
	bell chan struct{} // of one place; rung when there is something new

	mu    sync.Mutex // guards the fields below; never held across anything that waits
	news  []news
	marks []int64 // per shard: everything due before is judged
	spare []news  // to take turns with news
	shut  bool    // its reader is gone
	// singles are of targets that are overheard; at most mostSingles.
	singles []single
}

func newMailbox(shards int) *mailbox {
	return &mailbox{bell: make(chan struct{}, 1), marks: make([]int64, shards)}
}

func (m *mailbox) put(n news) {
	m.mu.Lock()
	if !m.shut {
		m.news = append(m.news, n)
	}
	m.mu.Unlock()
	m.ring()
}

func (m *mailbox) mark(shard int, at int64) {
	m.mu.Lock()
	m.marks[shard] = at
	m.mu.Unlock()
	m.ring()
}

func (m *mailbox) ring() {
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// empty returns the news since it was last emptied, and until when every shard's targets are judged. The news are good
// until the next call.
func (m *mailbox) empty() (all []news, judged int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all = m.news
	m.news, m.spare = emptied(m.spare), all
	judged = never
	for _, at := range m.marks {
		judged = min(judged, at)
	}
	return all, judged
}

// close has it drop what comes.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut, m.news, m.spare, m.singles = true, nil, nil, nil
}
