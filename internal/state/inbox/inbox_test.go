package inbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/inbox"
	"hale/internal/state/memory"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func store() state.Store { return memory.New(memory.Options{}).Open(nil) }

// retry is an order to a machine of the fleet.
func retry(t *testing.T, m fleet.MachineName) fleet.Order {
	t.Helper()
	id, err := inbox.NewID()
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Order{ID: id, Kind: fleet.OrderRetry, Fleet: m.Fleet(), Machine: m, By: "alice", At: noon}
}

func post(t *testing.T, s state.Store, orders ...fleet.Order) int64 {
	t.Helper()
	revision, err := inbox.Post(t.Context(), s, orders...)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func pending(t *testing.T, s state.Store, name fleet.Name) ([]inbox.Letter, int64) {
	t.Helper()
	letters, revision, err := inbox.Pending(t.Context(), s, name)
	if err != nil {
		t.Fatal(err)
	}
	return letters, revision
}

// take does an owner's part.
func take(t *testing.T, s state.Store, l inbox.Letter, also ...state.Write) error {
	t.Helper()
	still, gone := l.Taken()
	_, err := s.Commit(t.Context(), state.Txn{If: []state.Compare{still}, Then: append(also, gone)})
	return err
}

func TestOrdersWaitInTheOrderInWhichTheyWereGiven(t *testing.T) {
	t.Parallel()
	s := store()
	var given []fleet.Order
	for n := range 20 {
		o := retry(t, fleet.Name("web").Machine(n+1))
		given = append(given, o)
		post(t, s, o)
	}
	post(t, s, retry(t, "db-1"))
	letters, _ := pending(t, s, "web")
	if len(letters) != len(given) {
		t.Fatalf("%d letters, and %d were posted", len(letters), len(given))
	}
	for i, l := range letters {
		if l.Err != nil || l.Order != given[i] {
			t.Errorf("letter %d is %+v (%v), and %+v was posted", i, l.Order, l.Err, given[i])
		}
	}
}

func TestAllOrNone(t *testing.T) {
	t.Parallel()
	s := store()
	bad := retry(t, "web-2")
	bad.Kind = "dance"
	if _, err := inbox.Post(t.Context(), s, retry(t, "web-1"), bad); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
	twice := retry(t, "web-1")
	if _, err := inbox.Post(t.Context(), s, retry(t, "web-3"), twice, twice); err == nil {
		t.Error("an id was given twice")
	}
	if letters, _ := pending(t, s, "web"); len(letters) != 0 {
		t.Errorf("%d letters of what was refused", len(letters))
	}
}

func TestWhoeverFollowsHearsOfTheNextOne(t *testing.T) {
	t.Parallel()
	s := store()
	post(t, s, retry(t, "web-1"))
	_, revision := pending(t, s, "web")
	post(t, s, retry(t, "web-2"))
	for l, err := range inbox.Follow(t.Context(), s, "web", revision) {
		if err != nil || l.Order.Machine != "web-2" {
			t.Errorf("got %+v, %v", l, err)
		}
		break
	}
}

func TestALetterIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := store()
	post(t, s, retry(t, "web-1"))
	letters, _ := pending(t, s, "web")
	if err := take(t, s, letters[0]); err != nil {
		t.Fatal(err)
	}
	if err := take(t, s, letters[0], state.Put("effect", nil)); !fault.Is(err, fault.Conflict) {
		t.Errorf("taken twice: %v", err)
	}
}

func TestWhoGaveItLearnsThatItWasTaken(t *testing.T) {
	t.Parallel()
	s := store()
	o := retry(t, "web-1")
	revision := post(t, s, o)
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := inbox.Await(soon, s, &o, revision); err == nil {
		t.Error("the order was not taken, and Await returned no error")
	}
	letters, _ := pending(t, s, "web")
	if err := take(t, s, letters[0]); err != nil {
		t.Fatal(err)
	}
	if err := inbox.Await(t.Context(), s, &o, revision); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoOrderSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, says string }{
		"not JSON":         {"dance!", "invalid character"},
		"of another kind":  {`{"ID":"x","Kind":"dance","Fleet":"web","By":"a"}`, `no order "dance"`},
		"of another fleet": {`{"ID":"x","Kind":"release","Fleet":"db","By":"a"}`, "another place"},
		"under another id": {`{"ID":"y","Kind":"release","Fleet":"web","By":"a"}`, "another place"},
		"by nobody":        {`{"ID":"x","Kind":"release","Fleet":"web"}`, "nobody"},
		"about a stranger": {`{"ID":"x","Kind":"retry","Fleet":"web","Machine":"db-1","By":"a"}`,
			"no machine of fleet web"},
		"a hold without an end":   {`{"ID":"x","Kind":"hold","Fleet":"web","By":"a","Reason":"r"}`, "lasts"},
		"a hold without a reason": {`{"ID":"x","Kind":"hold","Fleet":"web","By":"a","For":1000}`, "reason"},
		"with a trick":            {`{"ID":"x","Kind":"release","Fleet":"web","By":"a\nb"}`, "printed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := store()
			if _, err := s.Commit(t.Context(), state.Txn{
				Then: []state.Write{state.Put("inbox/web/x", []byte(c.value))},
			}); err != nil {
				t.Fatal(err)
			}
			letters, _ := pending(t, s, "web")
			if len(letters) != 1 || letters[0].Err == nil || !strings.Contains(letters[0].Err.Error(), c.says) {
				t.Errorf("got %+v", letters)
			}
		})
	}
}

func TestRefusedLettersAreKeptUpToACount(t *testing.T) {
	t.Parallel()
	s := store()
	for n := range inbox.KeepDead + 10 {
		post(t, s, retry(t, fleet.Name("web").Machine(n+1)))
		letters, _ := pending(t, s, "web")
		grave, err := letters[0].Bury(inbox.Dead{At: noon, Reason: fleet.ReasonNotQuarantined, Detail: fmt.Sprint(n)})
		if err != nil {
			t.Fatal(err)
		}
		if err := take(t, s, letters[0], grave); err != nil {
			t.Fatal(err)
		}
	}
	if err := inbox.Trim(t.Context(), s, "web"); err != nil {
		t.Fatal(err)
	}
	dead, err := inbox.DeadLetters(t.Context(), s, "web")
	if err != nil || len(dead) != inbox.KeepDead {
		t.Fatalf("%d dead letters, %v", len(dead), err)
	}
	if d := dead[0]; d.Detail != "10" || d.Reason != fleet.ReasonNotQuarantined ||
		!strings.Contains(d.Letter, "web-11") {
		t.Errorf("the oldest one is %+v", d)
	}
}
