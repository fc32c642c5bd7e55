package pair_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/access"
	"hale/internal/access/pair"
	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/memory"
)

func person(name string, kind access.Kind) access.Principal {
	return access.Principal{
		Kind: kind, Name: name, ID: name, Persons: []string{name}, Grants: []access.Grant{{Role: access.Admin}},
	}
}

var (
	ana  = person("ana", access.ByOpenID)
	bo   = person("bo", access.ByOpenID)
	root = person("root", access.BySocket)
	off  = pair.Request{Method: "POST", Target: "/v1/fences/off?x=1", Type: "application/json", Body: []byte(`{"host":"h1"}`)}
)

// two is a rule on a store of its own.
type two struct {
	t       *testing.T
	backing *memory.Backing
	pair.Rule
}

func open(t *testing.T, risks ...access.Risk) two {
	t.Helper()
	b := memory.New(memory.Options{})
	return two{t, b, pair.Rule{Store: b.Open(nil), Risks: func() []access.Risk { return risks }}}
}

func asks(ctx context.Context, p access.Principal, q pair.Request) context.Context {
	return pair.WithRequest(access.With(ctx, p), q)
}

// waits has the person ask for a fence, which waits.
func (w two) waits(p access.Principal) *pair.Act {
	w.t.Helper()
	a, err := w.Hold(asks(w.t.Context(), p, off), access.RiskFence, "h1")
	if err != nil || a == nil {
		w.t.Fatal(a, err)
	}
	return a
}

func (w two) agree(id string, p access.Principal) (pair.Act, error) {
	return pair.Agree(w.t.Context(), w.Store, id, p, time.Now())
}

func TestARiskyActWaitsForAnotherPerson(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskFence)
	asked := w.waits(ana)
	w.Store = w.backing.Open(nil) // hale is started anew
	a, err := w.agree(asked.ID, bo)
	if err != nil || !bytes.Equal(a.Request.Body, off.Body) || a.Request.Target != off.Target || a.By.Name != ana.Name {
		t.Fatalf("%+v, %v", a, err)
	}
	ctx := pair.Carrying(access.With(t.Context(), bo), a)
	if again, err := w.Hold(pair.WithRequest(ctx, a.Request), access.RiskFence, "h1"); again != nil || err != nil {
		t.Errorf("what was agreed to waits again: %+v, %v", again, err)
	}
	if other, err := w.Hold(pair.WithRequest(ctx, a.Request), access.RiskFence); other != nil || err != nil {
		t.Errorf("%+v, %v", other, err)
	}
	if name := access.Of(ctx).Name; !strings.Contains(name, "ana") || !strings.Contains(name, "bo") {
		t.Errorf("it is done by %q", name)
	}
	if err := pair.Answered(t.Context(), w.Store, a, 200, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.agree(asked.ID, bo); !fault.Is(err, fault.Conflict) {
		t.Errorf("it is agreed to twice: %v", err)
	}
}

func TestWhatWasAgreedToIsNoWordForAnotherRisk(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskFence, access.RiskDelete)
	a, err := w.agree(w.waits(ana).ID, bo)
	if err != nil {
		t.Fatal(err)
	}
	ctx := pair.WithRequest(pair.Carrying(access.With(t.Context(), bo), a), a.Request)
	if held, err := w.Hold(ctx, access.RiskDelete, "web-2"); held == nil || err != nil {
		t.Errorf("%+v, %v", held, err)
	}
}

func TestNobodyAgreesWithThemselves(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskFence)
	asked := w.waits(ana)
	token := person("x", access.ByToken)
	token.Persons = []string{"cy", "Ana"} // cy's token, which ana made
	for _, p := range []access.Principal{ana, token, {}, {Kind: access.ByToken, ID: "t"}} {
		if _, err := w.agree(asked.ID, p); !fault.Is(err, fault.Unauthorised) {
			t.Errorf("%+v agrees: %v", p, err)
		}
	}
}

func TestOneOfManyWhoAgreeAtOnceCounts(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskFence)
	asked := w.waits(ana)
	var all sync.WaitGroup
	results := make(chan error, 50)
	for i := range 50 {
		all.Go(func() {
			_, err := w.agree(asked.ID, person(strings.Repeat("b", i+1), access.ByOpenID))
			results <- err
		})
	}
	all.Wait()
	close(results)
	won := 0
	for err := range results {
		if err == nil {
			won++
		} else if !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d agreed", won)
	}
}

// TestWhoWasFasterIsTheSecondPerson: two agree, and have both read that it waits.
func TestWhoWasFasterIsTheSecondPerson(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskFence)
	asked := w.waits(ana)
	slow := w.backing.Open(func(_ context.Context, c memory.Call) memory.Effect {
		if c.Op == memory.OpCommit {
			if _, err := w.agree(asked.ID, bo); err != nil {
				t.Error(err)
			}
		}
		return memory.Normal
	})
	if _, err := pair.Agree(t.Context(), slow, asked.ID, person("cy", access.ByOpenID), time.Now()); !fault.Is(err, fault.Conflict) {
		t.Errorf("cy agrees, too: %v", err)
	}
	if a, err := pair.Get(t.Context(), w.Store, asked.ID, time.Now()); err != nil || a.Second.Name != bo.Name {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestKilledAfterAgreeing: the one who agreed asks again, and the call is made with the same key; nobody else can.
func TestKilledAfterAgreeing(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskFence)
	asked := w.waits(ana)
	first, err := w.agree(asked.ID, bo)
	if err != nil {
		t.Fatal(err)
	}
	w.Store = w.backing.Open(nil)
	again, err := w.agree(asked.ID, bo)
	if err != nil || again.Key() != first.Key() {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := w.agree(asked.ID, person("cy", access.ByOpenID)); !fault.Is(err, fault.Conflict) {
		t.Errorf("cy agrees, too: %v", err)
	}
}

func TestAnActIsOverInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := open(t, access.RiskFence)
		late, soon := w.waits(ana), w.waits(ana)
		time.Sleep(pair.Within - 1)
		if _, err := w.agree(soon.ID, bo); err != nil {
			t.Error(err)
		}
		time.Sleep(1)
		for _, id := range []string{late.ID, soon.ID} { // what was agreed to is not begun later, either
			if _, err := w.agree(id, bo); !fault.Is(err, fault.Conflict) {
				t.Errorf("%v", err)
			}
		}
		time.Sleep(8 * 24 * time.Hour)
		if err := pair.Sweep(t.Context(), w.Store, time.Now()); err != nil {
			t.Fatal(err)
		}
		if left, err := pair.List(t.Context(), w.Store, time.Now()); err != nil || len(left) != 0 {
			t.Errorf("%d are left, %v", len(left), err)
		}
	})
}

func TestWhatIsNotNamedDoesNotWait(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskDelete)
	if a, err := w.Hold(asks(t.Context(), ana, off), access.RiskFence); a != nil || err != nil {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestOnlyWhoSitsAtTheMachineGoesAlone, and only where they say so.
func TestOnlyWhoSitsAtTheMachineGoesAlone(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskFence)
	alone := off
	alone.Alone = true
	reader := root
	reader.Grants = []access.Grant{{Role: access.Viewer}}
	for _, c := range []struct {
		p     access.Principal
		q     pair.Request
		waits bool
	}{{root, alone, false}, {root, off, true}, {ana, alone, true}, {reader, alone, true}} {
		if a, err := w.Hold(asks(t.Context(), c.p, c.q), access.RiskFence); err != nil || (a != nil) != c.waits {
			t.Errorf("%s alone %v: %+v, %v", c.p.Name, c.q.Alone, a, err)
		}
	}
}

func TestAnActIsWithdrawn(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskFence)
	asked := w.waits(ana)
	if err := pair.Withdraw(t.Context(), w.Store, asked.ID, ana, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.agree(asked.ID, bo); !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
	if err := pair.Withdraw(t.Context(), w.Store, asked.ID, ana, time.Now()); !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
}

func TestAHalfWrittenActIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskFence)
	asked := w.waits(ana)
	e, err := w.Store.Get(t.Context(), "access/pair/"+asked.ID)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(e.Value)
	for n := range len(whole) {
		broken := state.Txn{Then: []state.Write{state.Put(e.Key, []byte(whole[:n]))}}
		if _, err := w.Store.Commit(t.Context(), broken); err != nil {
			t.Fatal(err)
		}
		if a, err := w.agree(asked.ID, bo); err == nil {
			t.Fatalf("cut at %d it is carried out: %+v", n, a)
		}
	}
}

func TestNotEverythingCanWait(t *testing.T) {
	t.Parallel()
	w := open(t, access.RiskFence)
	large := off
	large.Body = make([]byte, 64<<10+1)
	if _, err := w.Hold(asks(t.Context(), ana, large), access.RiskFence); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
	for range 100 {
		w.waits(ana)
	}
	if _, err := w.Hold(asks(t.Context(), ana, off), access.RiskFence); !fault.Is(err, fault.Quota) {
		t.Errorf("%v", err)
	}
}
