package notes

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/engine/process"
	"hale/internal/owner"
	"hale/internal/owner/published"
	"hale/internal/provider"
	"hale/internal/state/memory"
)

// board is a place for notes, on hosts that may be dark.
type board struct {
	provider.Provider // none
	mu                sync.Mutex
	noted             map[fleet.HostName][]fleet.StartName
	dark              map[fleet.HostName]bool
}

var errDark = errors.New("nobody listens there")

func newBoard(hosts ...fleet.HostName) *board {
	b := &board{noted: map[fleet.HostName][]fleet.StartName{}, dark: map[fleet.HostName]bool{}}
	for _, h := range hosts {
		b.noted[h] = nil
	}
	return b
}

func (b *board) Starts(context.Context, fleet.Installation) (map[fleet.HostName][]fleet.StartName, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := maps.Clone(b.noted)
	maps.DeleteFunc(found, func(h fleet.HostName, _ []fleet.StartName) bool { return b.dark[h] })
	if len(found) == 0 {
		return nil, fault.New(fault.Transient, "board.starts", "", errDark)
	}
	return found, nil
}

func (b *board) NoteStart(_ context.Context, _ fleet.Installation, name fleet.StartName) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for h, names := range b.noted {
		if !b.dark[h] {
			b.noted[h] = append(names[:len(names):len(names)], name)
		}
	}
	return nil
}

func (b *board) ForgetStart(context.Context, fleet.Installation, fleet.StartName) error { return nil }

// rollOn is the roll of an engine with a store of its own.
func rollOn(b *board) *Roll {
	s := memory.New(memory.Options{}).Open(nil)
	return NewRoll("lab", b, s, process.NewBeginning(s), slog.New(slog.DiscardHandler), func() {})
}

func callOf(op fleet.Op, host fleet.HostName) situation.Action {
	return situation.Action{Kind: situation.ActionCall, Host: host, Intent: belief.Intent{Op: op}}
}

// A start that was noted a moment ago by another store is found right before the call, whatever the call, and long
// before the next beat.
func TestAnUnknownStartIsFoundRightBeforeEachCall(t *testing.T) {
	t.Parallel()
	b := newBoard("h1", "h2")
	r := rollOn(b)
	if why := r.Permit(t.Context(), callOf(fleet.OpPowerOff, "h1"), true); why != "" || len(b.noted["h2"]) != 1 {
		t.Fatalf("the first call: %s, noted are %v", why, b.noted)
	}
	b.noted["h2"] = append(b.noted["h2"], "1-copy")
	for _, op := range []fleet.Op{fleet.OpPowerOff, fleet.OpCreate, fleet.OpStart, fleet.OpReboot, fleet.OpFence,
		fleet.OpRun} {
		why := r.Permit(t.Context(), callOf(op, "h1"), true)
		if !strings.HasPrefix(why, string(fleet.ReasonStoreOlder)) {
			t.Errorf("%s: %s", op, why)
		}
	}
	r.Believe([]fleet.StartName{"1-copy"}, false)
	if why := r.Permit(t.Context(), callOf(fleet.OpPowerOff, "h1"), true); why != "" || len(b.noted["h1"]) != 2 {
		t.Errorf("once it is believed: %s, noted are %v", why, b.noted)
	}
}

// What acts on a host that does not show its notes might meet another hale there.
func TestNothingIsDestroyedOnAHostWhoseNotesAreNotRead(t *testing.T) {
	t.Parallel()
	b := newBoard("h1", "h2")
	b.dark["h2"] = true
	r := rollOn(b)
	for _, c := range []struct {
		op    fleet.Op
		host  fleet.HostName
		holds bool
	}{
		{fleet.OpCreate, "h1", false}, {fleet.OpCreate, "h2", true}, {fleet.OpPowerOff, "h2", true},
		{fleet.OpStart, "h2", false},
		{fleet.OpFence, "h2", false}, {fleet.OpEvacuate, "h2", false},
	} {
		if why := r.Permit(t.Context(), callOf(c.op, c.host), true); (why != "") != c.holds {
			t.Errorf("%s on %s: %s", c.op, c.host, why)
		}
	}
	b.dark["h1"] = true
	for op, holds := range map[fleet.Op]bool{fleet.OpCreate: true, fleet.OpFence: true, fleet.OpStart: false} {
		if why := r.Permit(t.Context(), callOf(op, "h1"), true); (why != "") != holds {
			t.Errorf("%s while nobody answers: %s", op, why)
		}
	}
}

// A provider that does not answer is one thing that is wrong, told in the same words wherever it is met.
func TestThePlaceOfStartsIsSilentInThePlainWordsOfItsProvider(t *testing.T) {
	t.Parallel()
	b := newBoard("h1")
	b.dark["h1"] = true
	r := rollOn(b)
	var log bytes.Buffer
	r.log = slog.New(slog.NewTextHandler(&log, nil))
	if again := r.look(t.Context()); again != owner.RollAgain {
		t.Fatal("nobody answered")
	}
	s := published.Fleet{
		State: situation.State{Roll: r.Standing(), Provider: fleet.ProviderState{Standing: fleet.ProviderDown}},
	}
	s.Spec.Mode = policy.ModeAct
	if why := s.Unnoted(); why != "" || log.Len() != 0 {
		t.Errorf("the provider is down, and there is more that is wrong: %q\n%s", why, log.String())
	}
	s.Provider.Standing = fleet.ProviderUp
	if why := s.Unnoted(); why != errDark.Error() {
		t.Errorf("the provider answers, and the place of starts is silent: %q", why)
	}
}

// Of two that note their starts at the same time at least one sees both, and does not act.
func TestOfTwoThatNoteAtOnceOneActsAtMost(t *testing.T) {
	t.Parallel()
	for range 200 {
		b := newBoard("")
		var wg sync.WaitGroup
		var mu sync.Mutex
		acts := 0
		for range 2 {
			r := rollOn(b)
			wg.Go(func() {
				if r.Permit(t.Context(), callOf(fleet.OpCreate, ""), true) == "" {
					mu.Lock()
					defer mu.Unlock()
					acts++
				}
			})
		}
		wg.Wait()
		if acts > 1 {
			t.Fatalf("%d act, and noted are %v", acts, b.noted)
		}
	}
}

// Calls that wait at once share a look, and none is satisfied by one that began before it asked.
func TestCallsShareALookThatBeganAfterTheyAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBoard("")
		r := rollOn(b)
		call := func() {
			if why := r.Permit(t.Context(), callOf(fleet.OpCreate, ""), true); why != "" {
				t.Error(why)
			}
		}
		call()
		before := r.looks.Load()
		r.turn <- struct{}{} // somebody looks
		for range 50 {
			go call()
		}
		synctest.Wait()
		r.turn.Leave()
		synctest.Wait()
		if n := r.looks.Load() - before; n != 1 {
			t.Errorf("%d looks for 50 calls", n)
		}
		call()
		if n := r.looks.Load() - before; n != 2 {
			t.Errorf("%d looks with one for a call that came later", n)
		}
	})
}
