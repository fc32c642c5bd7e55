package outbox_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/state"
	"hale/internal/state/memory"
	"hale/internal/state/outbox"

	"github.com/google/go-cmp/cmp"
)

var began = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func recipients(tries int, within time.Duration, names ...policy.TargetName) *policy.Spec {
	s := &policy.Spec{Name: "web"}
	for _, n := range names {
		s.Notify.To = append(s.Notify.To, policy.Recipient{
			Target:     n,
			Events:     []policy.NotifyEvent{policy.NotifyPage},
			Attempts:   tries,
			AttemptsIn: within,
		})
	}
	return s
}

func page(seq uint64) record.Record {
	return record.Record{
		Seq: seq, At: began, Fleet: "web", Machine: "web-2", Incident: "web-2/1", Kind: record.Paged,
		Reason: fleet.ReasonAttempts,
	}
}

func letter(t *testing.T, spec *policy.Spec, r record.Record) outbox.Letter {
	t.Helper()
	l, ok := outbox.Compose(spec, "3f2a1b2c-9e5e-4000", "k3p7x2m9qa4c", r)
	if !ok {
		t.Fatal("it is no letter")
	}
	return l
}

func TestWhatIsALetterToWhom(t *testing.T) {
	t.Parallel()
	spec := recipients(3, time.Hour, "hook", "ops")
	spec.Notify.To[1].Events = []policy.NotifyEvent{policy.NotifyHealed, policy.NotifyPage, policy.NotifyReminder}
	over := page(7)
	over.Kind, over.Reason, over.Paged = record.IncidentClosed, fleet.ReasonHealed, true
	quiet, wider, again := over, over, page(7)
	quiet.Paged, wider.Reason, again.Kind = false, fleet.ReasonSuperseded, record.Reminded
	for name, c := range map[string]struct {
		r    record.Record
		want []policy.TargetName
	}{
		"a page":                       {page(7), []policy.TargetName{"hook", "ops"}},
		"a reminder":                   {again, []policy.TargetName{"ops"}},
		"the end of what was told":     {over, []policy.TargetName{"ops"}},
		"the end of what was not told": {quiet, nil},
		"a wider incident goes on":     {wider, nil},
		"no person is told of it":      {record.Record{Seq: 7, Kind: record.Held}, nil},
	} {
		l, ok := outbox.Compose(spec, "3f2a1b2c-9e5e-4000", "k3p7x2m9qa4c", c.r)
		var got []policy.TargetName
		for _, s := range l.Sendings {
			got = append(got, s.Target)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (c.want != nil) ||
			ok && l.Key != "3f2a1b2c-web-k3p7x2m9qa4c-7" {
			t.Errorf("%s: %v %s %s", name, ok, l.Key, diff)
		}
	}
}

func TestS29TwoFailuresAndThenItIsTaken(t *testing.T) {
	t.Parallel()
	spec := recipients(3, time.Hour, "hook")
	to, now := spec.Notify.To[0], began
	l := letter(t, spec, page(7))
	for try, wait := range []time.Duration{5 * time.Second, 10 * time.Second} {
		var rec record.Record
		var dead *outbox.Dead
		l, rec, dead = l.After("hook", to, outbox.Outcome{Detail: "503"}, now)
		if rec.Kind != "" || dead != nil || !l.Sendings[0].DueAt(now).Equal(now.Add(wait)) {
			t.Fatalf("try %d: %+v %+v %+v", try+1, l, rec, dead)
		}
		now = now.Add(wait)
	}
	l, rec, dead := l.After("hook", to, outbox.Outcome{Taken: true}, now)
	want := record.Record{
		Kind: record.Notified, Machine: "web-2", Incident: "web-2/1", Target: "hook", Event: policy.NotifyPage,
		Tries: 3,
	}
	if !reflect.DeepEqual(rec, want) || dead != nil || len(l.Sendings) != 0 {
		t.Errorf("%+v %+v %+v", rec, dead, l)
	}
}

func TestS29WhenATargetIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tries  int
		within time.Duration
		o      outbox.Outcome
		want   int // tries that are made
		reason fleet.Reason
	}{
		"as often as allowed": {3, time.Hour, outbox.Outcome{Detail: "503"}, 3, fleet.ReasonTriesSpent},
		"once":                {1, time.Hour, outbox.Outcome{Detail: "503"}, 1, fleet.ReasonTriesSpent},
		// after 0, 5, 15 and 35 s
		"as long as allowed": {100, time.Minute, outbox.Outcome{Detail: "503"}, 4, fleet.ReasonTriesSpent},
		"it says no again and again": {100, 24 * time.Hour, outbox.Outcome{Refused: true, Detail: "400"}, 8,
			fleet.ReasonTargetRefuses},
		"it wants to be left alone": {100, time.Hour, outbox.Outcome{Later: 20 * time.Minute}, 4,
			fleet.ReasonTriesSpent},
		"it wants it longer than a wish": {100, 90 * time.Minute, outbox.Outcome{Later: 400 * time.Hour}, 2,
			fleet.ReasonTriesSpent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := recipients(c.tries, c.within, "hook", "ops")
			l, now := letter(t, spec, page(7)), began
			for try := 1; ; try++ {
				var rec record.Record
				var dead *outbox.Dead
				l, rec, dead = l.After("hook", spec.Notify.To[0], c.o, now)
				if dead == nil {
					if try > 200 {
						t.Fatal("it is tried for ever")
					}
					next := l.Sendings[0].DueAt(now)
					if p := next.Sub(now); p < outbox.FirstPause || p > time.Hour {
						t.Fatalf("try %d: it waits %v", try, p)
					}
					now = next
					continue
				}
				if try != c.want || dead.Tries != c.want || dead.Reason != c.reason ||
					rec.Kind != record.Undelivered || rec.Reason != c.reason ||
					dead.Key != "3f2a1b2c-web-k3p7x2m9qa4c-7" || len(l.Sendings) != 1 || l.Sendings[0].Target != "ops" {
					t.Errorf("at try %d: %+v\n%+v\n%+v", try, dead, rec, l)
				}
				return
			}
		})
	}
}

func TestARefusalThatPassesIsForgotten(t *testing.T) {
	t.Parallel()
	spec := recipients(100, 24*time.Hour, "hook")
	l, now := letter(t, spec, page(7)), began
	for try := range 40 {
		o := outbox.Outcome{Refused: try%7 != 6}
		var dead *outbox.Dead
		if l, _, dead = l.After("hook", spec.Notify.To[0], o, now); dead != nil {
			t.Fatalf("given up at try %d: %s", try+1, dead.Reason)
		}
		now = l.Sendings[0].NextAt
	}
}

func TestAClockThatWasSetBackHoldsNothingUp(t *testing.T) {
	t.Parallel()
	s := outbox.Sending{NextAt: began.Add(48 * time.Hour)}
	if got := s.DueAt(began); !got.Equal(began) {
		t.Errorf("due at %v", got)
	}
	s.NextAt = began.Add(15 * time.Minute)
	if got := s.DueAt(began); !got.Equal(s.NextAt) {
		t.Errorf("due at %v", got)
	}
}

func TestLongErrorsAreCut(t *testing.T) {
	t.Parallel()
	spec := recipients(1, time.Hour, "hook")
	_, rec, dead := letter(t, spec, page(7)).After("hook", spec.Notify.To[0],
		outbox.Outcome{Detail: strings.Repeat("x", 10_000)}, began)
	if len(rec.Detail) > 500 || len(dead.Detail) > 500 {
		t.Errorf("%d bytes", len(rec.Detail))
	}
}

// commit puts letters into a store as an owner does.
func commit(t *testing.T, s state.Store, l outbox.Letter) outbox.Stored[outbox.Letter] {
	t.Helper()
	k, w, err := outbox.Posting(l)
	if err != nil {
		t.Fatal(err)
	}
	if k.Revision, err = s.Commit(t.Context(), state.Txn{Then: []state.Write{w}}); err != nil {
		t.Fatal(err)
	}
	return k
}

// kept returns what the store has of the fleet's outbox.
func kept(t *testing.T, s state.Store) (waiting []outbox.Stored[outbox.Letter], dead []outbox.Stored[outbox.Dead]) {
	t.Helper()
	waiting, err := outbox.Waiting(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	if dead, err = outbox.DeadLetters(t.Context(), s, "web"); err != nil {
		t.Fatal(err)
	}
	return waiting, dead
}

// change writes what a letter has become.
func change(t *testing.T, s state.Store, was outbox.Stored[outbox.Letter], is outbox.Letter,
	dead ...outbox.Dead) error {
	t.Helper()
	txn, err := outbox.Change(was, is, dead)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Commit(t.Context(), txn)
	return err
}

func TestALetterDiesToOneTargetAlone(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	spec := recipients(1, time.Hour, "hook", "ops")
	k := commit(t, s, letter(t, spec, page(7)))
	commit(t, s, letter(t, spec, page(12)))
	is, _, dead := k.Value.After("hook", spec.Notify.To[0], outbox.Outcome{Detail: "503"}, began)
	if err := change(t, s, k, is, *dead); err != nil {
		t.Fatal(err)
	}
	if err := change(t, s, k, is, *dead); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same change twice: %v", err)
	}
	waiting, buried := kept(t, s)
	if len(waiting) != 2 || waiting[0].Value.Record.Seq != 7 || len(waiting[0].Value.Sendings) != 1 {
		t.Errorf("%+v", waiting)
	}
	if len(buried) != 1 || buried[0].Value.Target != "hook" {
		t.Errorf("%+v", buried)
	}
	if err := change(t, s, waiting[1], outbox.Letter{}); err != nil {
		t.Fatal(err)
	}
	if waiting, _ = kept(t, s); len(waiting) != 1 {
		t.Errorf("a letter that everybody took is still there: %+v", waiting)
	}
}

func TestARevivedLetterHasItsKeyAndAllOfItsTries(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	spec := recipients(1, time.Hour, "hook", "ops")
	k := commit(t, s, letter(t, spec, page(7)))
	is, _, dead := k.Value.After("hook", spec.Notify.To[0], outbox.Outcome{Detail: "503"}, began)
	if err := change(t, s, k, is, *dead); err != nil {
		t.Fatal(err)
	}
	_, buried := kept(t, s)
	later := began.Add(48 * time.Hour)
	if err := outbox.Revive(t.Context(), s, buried[0], later); err != nil {
		t.Fatal(err)
	}
	if err := outbox.Revive(t.Context(), s, buried[0], later); !fault.Is(err, fault.Conflict) {
		t.Errorf("revived twice: %v", err)
	}
	waiting, buried := kept(t, s)
	if len(waiting) != 2 || len(buried) != 0 {
		t.Fatalf("%+v %+v", waiting, buried)
	}
	again := waiting[1].Value
	if again.Key != "3f2a1b2c-web-k3p7x2m9qa4c-7" || again.Sendings[0].Target != "hook" {
		t.Errorf("%+v", again)
	}
	if _, _, dead := again.After("hook", policy.Recipient{Attempts: 3, AttemptsIn: time.Hour},
		outbox.Outcome{}, later); dead != nil {
		t.Error("what was revived has not all of its tries")
	}
}

func TestDeadLettersAreForgottenInTheEnd(t *testing.T) {
	t.Parallel()
	dead := func(n int, age time.Duration) (out []outbox.Stored[outbox.Dead]) {
		for i := range n {
			out = append(out, outbox.Stored[outbox.Dead]{Key: "k", Value: outbox.Dead{At: began.Add(-age), Tries: i}})
		}
		return out
	}
	for name, c := range map[string]struct {
		dead []outbox.Stored[outbox.Dead]
		want int
	}{
		"few and young":                     {dead(3, time.Hour), 0},
		"as many as are kept":               {dead(outbox.MaxDead, time.Hour), 0},
		"more than are kept":                {dead(outbox.MaxDead+2, time.Hour), 2},
		"too old":                           {dead(3, outbox.KeepDead), 3},
		"at most what fits into one change": {dead(1000, outbox.KeepDead), state.MaxOps},
		"old ones first":                    {append(dead(2, outbox.KeepDead), dead(3, time.Hour)...), 2},
	} {
		if got := len(outbox.Expired(c.dead, began)); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
