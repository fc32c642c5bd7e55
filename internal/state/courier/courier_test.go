package courier_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/state"
	"hale/internal/state/courier"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
)

// stream is a store with a journal, and what a taker got of it.
type stream struct {
	*testing.T
	store  state.Store
	recall bool

	mu    sync.Mutex
	down  error
	hangs bool
	got   []courier.Entry
	said  strings.Builder
}

func newStream(t *testing.T) *stream {
	return &stream{T: t, store: memory.New(memory.Options{}).Open(nil)}
}

func (s *stream) Take(ctx context.Context, entries []courier.Entry) error {
	s.mu.Lock()
	down, hangs := s.down, s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return fault.New(fault.UnknownOutcome, "test.take", "", ctx.Err())
	}
	if down != nil {
		return down
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, entries...)
	return nil
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(b)
}

// turn has the taker take nothing for the error, or everything again.
func (s *stream) turn(down error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// starts has the courier work, and returns what ends it.
func (s *stream) starts() (f *courier.Courier, stop func()) {
	f = courier.New(courier.Options{Store: s.store, Name: "test", Taker: s, Recall: s.recall,
		Log: slog.New(slog.NewTextHandler(s, nil))})
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan struct{})
	go func() { // ends with ctx
		f.Run(ctx)
		close(ended)
	}()
	return f, func() {
		cancel()
		<-ended
	}
}

// writes puts so many records into the fleet's journal.
func (s *stream) writes(name fleet.Name, n int) {
	s.Helper()
	b, err := journal.Open(s.Context(), s.store, name)
	if err != nil {
		s.Fatal(err)
	}
	for range n {
		records := []record.Record{{Fleet: name, At: time.Now(), Kind: record.Order}}
		writes, err := b.Writes(records, journal.Keep{})
		if err == nil {
			_, err = s.store.Commit(s.Context(), state.Txn{Then: writes})
		}
		if err != nil {
			s.Fatal(err)
		}
		b.Advance(records)
	}
}

// loses has the journal let go of all records of the fleet before the number.
func (s *stream) loses(name fleet.Name, before uint64) {
	s.Helper()
	prefix := journal.Prefix(name)
	_, err := s.store.Commit(s.Context(), state.Txn{Then: []state.Write{
		state.DeleteRange(fmt.Sprintf("%s%020d", prefix, 0), fmt.Sprintf("%s%020d", prefix, before))}})
	if err != nil {
		s.Fatal(err)
	}
}

// outline is what the taker got since this was asked last: "web1 web2 -3 web6", where something is gone, and (web1)
// where it was known.
func (s *stream) outline() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, e := range s.got {
		switch {
		case e.Gap():
			out = append(out, fmt.Sprintf("-%d", e.Lost))
		case e.Known:
			out = append(out, fmt.Sprintf("(%s%d)", e.Fleet, e.Seq))
		default:
			out = append(out, fmt.Sprintf("%s%d", e.Fleet, e.Seq))
		}
	}
	s.got = nil
	return strings.Join(out, " ")
}

func (s *stream) want(when, want string) {
	s.Helper()
	if got := s.outline(); got != want {
		s.Errorf("%s: %s, want %s", when, got, want)
	}
}

// bubble plays a story in virtual time.
func bubble(t *testing.T, story func(s *stream)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { story(newStream(t)) })
}

func TestWhatThereIsComesFirstAndThenWhatHappens(t *testing.T) {
	bubble(t, func(s *stream) {
		s.writes("db", 1)
		s.writes("web", 2)
		f, stop := s.starts()
		defer stop()
		s.want("what there is", "db1 web1 web2")
		s.writes("web", 1)
		s.writes("db", 1)
		time.Sleep(time.Second)
		s.want("what happens", "web3 db2")
		if st := f.Status(); st.Taken != 5 || st.Lost != 0 || !st.Failing.IsZero() {
			s.Errorf("it says of itself %+v", st)
		}
	})
}

// A restart goes on where the last process stopped, with what happened in between.
func TestARestartGoesOn(t *testing.T) {
	bubble(t, func(s *stream) {
		s.writes("web", 2)
		_, stop := s.starts()
		s.want("at first", "web1 web2")
		stop()
		s.writes("web", 1)
		s.writes("db", 1)
		_, stop = s.starts()
		defer stop()
		s.want("after the restart", "db1 web3")
	})
}

// What was handed over and not acknowledged, or not noted, comes again: at least once.
func TestWhatWasNotAcknowledgedComesAgain(t *testing.T) {
	bubble(t, func(s *stream) {
		s.writes("web", 2)
		s.turn(fault.New(fault.Transient, "test.take", "", errors.New("it is down")))
		f, stop := s.starts()
		time.Sleep(10 * time.Minute)
		s.want("while it is down", "")
		if st := f.Status(); st.Why != "it is down" || time.Since(st.Failing) < 9*time.Minute {
			s.Errorf("it says of itself %+v", st)
		}
		s.writes("web", 1)
		s.turn(nil)
		time.Sleep(time.Minute + time.Second)
		s.want("it is back", "web1 web2 web3")
		stop()
		_, stop = s.starts()
		defer stop()
		s.want("nothing is left", "")
		if said := s.said.String(); strings.Count(said, "not taken") != 1 || !strings.Contains(said, "taken again") {
			s.Errorf("it is told again and again, or not at all: %s", said)
		}
	})
}

// While the taker does not take anything, what comes waits in the journal, and not in memory; nothing is missing then.
func TestAFloodWaitsInTheJournal(t *testing.T) {
	bubble(t, func(s *stream) {
		_, stop := s.starts()
		s.writes("web", 1)
		time.Sleep(time.Second)
		s.want("before", "web1")
		s.turn(fault.New(fault.Transient, "test.take", "", errors.New("it is down")))
		s.writes("web", 5_000)
		time.Sleep(10 * time.Minute)
		s.turn(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s.mu.Lock()
		for i, e := range s.got {
			if e.Seq != uint64(i)+2 || e.Gap() {
				s.Fatalf("after %d records comes %+v", i, e.Record)
			}
		}
		if len(s.got) != 5_000 {
			s.Errorf("%d records came", len(s.got))
		}
		s.mu.Unlock()
		stop()
	})
}

// When the journal let go of records before they were handed over, that is told at their place. A courier that begins
// has lost nothing.
func TestAGapIsTold(t *testing.T) {
	bubble(t, func(s *stream) {
		s.writes("web", 3)
		s.loses("web", 2)
		_, stop := s.starts()
		s.want("what is gone before it began is no loss", "web2 web3")
		stop()
		s.writes("web", 10)
		s.loses("web", 8)
		f, stop := s.starts()
		defer stop()
		s.want("what went meanwhile", "-4 web8 web9 web10 web11 web12 web13")
		if st := f.Status(); st.Lost != 4 || !strings.Contains(s.said.String(), "records=4") {
			s.Errorf("%d are counted as lost; %s", st.Lost, s.said.String())
		}
	})
}

// A taker that does not answer holds up no one, and what it holds comes again after a restart.
func TestATakerThatHangs(t *testing.T) {
	bubble(t, func(s *stream) {
		s.hangs = true
		_, stop := s.starts()
		s.writes("web", 3_000) // returns
		stop()
		s.hangs = false
		_, stop = s.starts()
		defer stop()
		synctest.Wait()
		if n := len(s.got); n != 3_000 {
			s.Errorf("%d records came", n)
		}
	})
}

// What recalls begins with what happens from now on, and learns at each start what there was.
func TestWhatRecallsLearnsWhatThereWas(t *testing.T) {
	bubble(t, func(s *stream) {
		s.recall = true
		s.writes("web", 2)
		_, stop := s.starts()
		s.want("at its first start", "(web1) (web2)")
		s.writes("web", 1)
		time.Sleep(time.Second)
		s.want("then", "web3")
		stop()
		s.writes("web", 1)
		s.writes("db", 1)
		_, stop = s.starts()
		defer stop()
		s.want("after a restart", "db1 (web1) (web2) (web3) web4")
	})
}

// A journal that is numbered anew, as one that was emptied, is handed over from its first record on.
func TestAJournalThatIsNumberedAnew(t *testing.T) {
	bubble(t, func(s *stream) {
		s.writes("web", 9)
		_, stop := s.starts()
		s.outline()
		stop()
		s.loses("web", 10)
		s.writes("web", 2)
		_, stop = s.starts()
		defer stop()
		s.want("then", "web1 web2")
	})
}

// Two couriers keep positions of their own.
func TestEachCourierHasItsPosition(t *testing.T) {
	bubble(t, func(s *stream) {
		s.writes("web", 1)
		_, stop := s.starts()
		s.want("one", "web1")
		stop()
		other := courier.New(courier.Options{Store: s.store, Name: "other", Taker: s,
			Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(s.Context())
		var wg sync.WaitGroup
		wg.Go(func() { other.Run(ctx) })
		s.want("the other", "web1")
		cancel()
		wg.Wait()
	})
}
