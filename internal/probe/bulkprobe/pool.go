package bulkprobe

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hale/internal/defect"
)

// Options tune a pool. The zero value is a good default.
type Options struct {
	// Shards is the number of threads: half the processors by default, at least one and at most four.
	Shards int
	// Slot is how often a shard wakes, at most: how late an answer may be taken, and a timeout be noticed. Probes start
	// at the beginning of slots, so that a wide one does not make them late. 10 ms by default, between 1 and 10 ms.
	Slot time.Duration
	// Sockets is the greatest number of connections of all shards. By default it follows the limit of open files.
	Sockets int
	// Panics is told of each turn of a shard that panicked; nil: no report.
	Panics defect.Witness
}

// Pool is the shards that all engines of a process share.
type Pool struct {
	origin time.Time
	slot   time.Duration
	shards []*shard
	begun  atomic.Bool
	boxes  atomic.Pointer[[]*mailbox]
	mu     sync.Mutex // held while boxes change
}

var (
	errRunTwice = errors.New("bulkprobe: runs only once")
	errEnded    = errors.New("bulkprobe: the pool has ended")
)

// New makes a pool that asks by way of the system's sockets. It fails where there is none for this system.
func New(o Options) (*Pool, error) {
	if o.Shards <= 0 {
		o.Shards = min(max(runtime.GOMAXPROCS(0)/2, 1), 4)
	}
	return newPool(o, newSockets)
}

// maker makes a shard's wire.
type maker func(s *shard, o Options, origin time.Time) (wire, error)

func newPool(o Options, mk maker) (*Pool, error) {
	if o.Slot == 0 {
		o.Slot = 10 * time.Millisecond
	}
	p := &Pool{origin: time.Now(), slot: min(max(o.Slot, time.Millisecond), 10*time.Millisecond)}
	p.boxes.Store(new([]*mailbox))
	for i := range max(o.Shards, 1) {
		s := newShard(i, p.slot, func() []*mailbox { return *p.boxes.Load() })
		s.panics, s.remake = o.Panics, func() (wire, error) { return mk(s, o, p.origin) }
		var err error
		if s.wire, err = s.remake(); err != nil {
			p.Close()
			return nil, err
		}
		p.shards = append(p.shards, s)
	}
	return p, nil
}

// Run probes until ctx ends. It returns nil, or an error when it was called before, or when a shard panicked and could
// not go on. Afterwards no watermark comes any more, so that whatever the engines knew grows stale.
func (p *Pool) Run(ctx context.Context) error {
	if !p.begun.CompareAndSwap(false, true) {
		return errRunTwice
	}
	var wg sync.WaitGroup
	for _, s := range p.shards {
		wg.Go(func() {
			defer s.panics.Catch("", "the end of a shard", nil)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			s.run()
		})
	}
	<-ctx.Done()
	for _, s := range p.shards {
		s.end()
	}
	wg.Wait()
	var broken []error
	for _, s := range p.shards {
		broken = append(broken, s.broken)
	}
	return errors.Join(broken...)
}

// Close lets go of the sockets of a pool that never ran; one that did has done so itself.
func (p *Pool) Close() {
	if !p.begun.CompareAndSwap(false, true) {
		return
	}
	for _, s := range p.shards {
		s.close()
	}
}

// Stats returns what the shards have done. It asks them, and waits for their answer until ctx ends.
func (p *Pool) Stats(ctx context.Context) (Stats, error) {
	answers := make(chan Stats, len(p.shards))
	for _, s := range p.shards {
		if !s.tell(instruction{inspect: func(s *shard) { answers <- s.report() }}) {
			return Stats{}, errEnded
		}
	}
	var all Stats
	for range p.shards {
		select {
		case one := <-answers:
			all = all.plus(one)
		case <-ctx.Done():
			return Stats{}, ctx.Err()
		}
	}
	return all, nil
}

// report is the shard's statistics as of now.
func (s *shard) report() Stats {
	out := s.stats
	for i := range s.targets.used {
		if t := s.targets.at(i); t.flags.has(inUse) && t.tally.spoke {
			out.Stalest = max(out.Stalest, time.Duration(s.now-t.tally.heard))
		}
	}
	return out
}

// open adds a mailbox, and returns its number. There is one for each engine that ever was: a number is never given
// again, so that no late news of one engine reaches another. False: there is no number left.
func (p *Pool) open() (uint16, *mailbox, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := newMailbox(len(p.shards))
	if len(*p.boxes.Load()) > math.MaxUint16 {
		return 0, m, false
	}
	boxes := append(slices.Clone(*p.boxes.Load()), m)
	p.boxes.Store(&boxes)
	return uint16(len(boxes) - 1), m, true //nolint:gosec // seen to above
}
