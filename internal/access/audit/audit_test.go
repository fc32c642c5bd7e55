package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/memory"
)

var ana = access.Principal{Kind: access.ByToken, Name: "ana by token abc", ID: "abc", From: "192.0.2.7"}

// book is one with its store and its log.
type book struct {
	*audit.Book
	t     *testing.T
	store state.Store
	log   *bytes.Buffer
}

func open(t *testing.T, faults memory.Faults) book {
	t.Helper()
	b := book{t: t, store: memory.New(memory.Options{}).Open(faults), log: &bytes.Buffer{}}
	b.Book = audit.New(b.store, slog.New(slog.NewTextHandler(b.log, nil)))
	return b
}

func (b book) read(q audit.Query) []audit.Record {
	b.t.Helper()
	out, err := audit.Read(b.t.Context(), b.store, q)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func TestAnActIsInTheStoreBeforeItIsDone(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	r := audit.Of(ana, "order")
	r.Request = "R1"
	e, err := b.Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	got := b.read(audit.Query{}) // as after a death of hale at this moment
	if len(got) != 1 || got[0].Result != audit.Begun || got[0].Name != ana.Name || got[0].From != ana.From {
		t.Errorf("%+v", got)
	}
	b.End(t.Context(), e, []string{"web-2"}, audit.Done, 200, "")
	got = b.read(audit.Query{})
	if len(got) != 1 || got[0].Result != audit.Done || got[0].About[0] != "web-2" || got[0].Request != "R1" {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"request=R1", "who=\"ana by token abc\"", "about=web-2", "result=done"} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, b.log)
		}
	}
}

func TestWhatCannotBeNotedDoesNotBegin(t *testing.T) {
	t.Parallel()
	b := open(t, func(context.Context, memory.Call) memory.Effect { return memory.FailBefore })
	if _, err := b.Begin(t.Context(), audit.Of(ana, "order")); !fault.Is(err, fault.Transient) {
		t.Errorf("%v", err)
	}
}

func TestTheEndIsNotedAlsoWhenTheCallerHasGone(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	e, err := b.Begin(t.Context(), audit.Of(ana, "order"))
	if err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	b.End(gone, e, nil, audit.Failed, 500, "")
	if got := b.read(audit.Query{}); got[0].Result != audit.Failed {
		t.Errorf("%+v", got)
	}
}

// TestRefusalsAreCounted: each refusal is counted, and a thousand take as much room as two.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		ctx, stop := context.WithCancel(t.Context())
		go b.Run(ctx)
		for range 1000 {
			r := audit.Of(ana, "fence-off")
			r.Status, r.Why = 403, "ana is not admin"
			b.Refuse(t.Context(), r)
		}
		if got := b.read(audit.Query{}); len(got) != 1 || got[0].Result != audit.Refused {
			t.Errorf("at once there are %+v", got)
		}
		time.Sleep(time.Minute + 1)
		synctest.Wait()
		sum := 0
		got := b.read(audit.Query{Only: audit.OnlyRefusals})
		for _, r := range got {
			sum += max(1, r.Count)
		}
		if sum != 1000 || len(got) != 2 || got[1].Why != "ana is not admin" {
			t.Errorf("%d refusals in %+v", sum, got)
		}
		b.Refuse(t.Context(), audit.Of(ana, "fence-off"))
		b.Refuse(t.Context(), audit.Of(ana, "fence-off"))
		stop()
		synctest.Wait()
		if got := b.read(audit.Query{}); len(got) != 4 {
			t.Errorf("what was counted before the end is lost: %d", len(got))
		}
	})
}

// TestStrangersDoNotDriveOutWhatWasDone, from however many addresses they come, and for however long.
func TestStrangersDoNotDriveOutWhatWasDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		ctx, stop := context.WithCancel(t.Context())
		go b.Run(ctx)
		e, err := b.Begin(t.Context(), audit.Of(ana, "order"))
		if err != nil {
			t.Fatal(err)
		}
		b.End(t.Context(), e, nil, audit.Done, 200, "")
		long := strings.Repeat("x", 10_000)
		for minute := range 30 {
			for i := range 2000 {
				from := fmt.Sprintf("2001:db8:%x:%x::", minute, i)
				b.Refuse(t.Context(), audit.Record{From: from, Operation: long, Status: 401, Why: long})
			}
			time.Sleep(time.Minute)
			if got := b.read(audit.Query{Only: audit.OnlyRefusals}); minute == 0 && len(got) > 600 {
				t.Errorf("in a minute they make %d records", len(got))
			}
		}
		synctest.Wait()
		bytes := 0
		entries, _, err := b.store.List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			bytes += len(e.Value)
		}
		if bytes > 4<<20 {
			t.Errorf("they take %d bytes", bytes)
		}
		if got := b.read(audit.Query{Only: audit.OnlyActs}); len(got) != 1 {
			t.Errorf("what was done is %+v", got)
		}
		stop()
	})
}

func TestTheAuditForgetsWhatIsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		if _, err := b.Begin(t.Context(), audit.Of(ana, "order")); err != nil {
			t.Fatal(err)
		}
		b.Refuse(t.Context(), audit.Of(ana, "order"))
		for _, c := range []struct {
			days       int
			acts, refs int
		}{{89, 1, 1}, {2, 1, 0}, {308, 1, 0}, {2, 0, 0}} {
			time.Sleep(time.Duration(c.days) * 24 * time.Hour)
			ctx, stop := context.WithCancel(t.Context())
			go b.Run(ctx)
			time.Sleep(time.Minute + 1)
			stop()
			synctest.Wait()
			acts := b.read(audit.Query{Only: audit.OnlyActs})
			refusals := b.read(audit.Query{Only: audit.OnlyRefusals})
			if len(acts) != c.acts || len(refusals) != c.refs {
				t.Errorf("after %d days more: %d acts and %d refusals", c.days, len(acts), len(refusals))
			}
		}
	})
}

func TestARecordThatCannotBeReadIsShown(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	if _, err := b.Begin(t.Context(), audit.Of(ana, "order")); err != nil {
		t.Fatal(err)
	}
	entries, _, err := b.store.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	half := entries[0].Value[:len(entries[0].Value)/2]
	if _, err := b.store.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put(entries[0].Key,
		half)}}); err != nil {
		t.Fatal(err)
	}
	got := b.read(audit.Query{})
	if len(got) != 1 || got[0].At.IsZero() || time.Since(got[0].At) > time.Hour {
		t.Errorf("%+v", got)
	}
}

func TestACallSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	ctx, note := audit.WithNote(t.Context())
	audit.About(ctx, "web-2", "", "web-2", "db")
	audit.About(t.Context(), "nothing listens")
	if got := strings.Join(note.About(), " "); got != "web-2 db" {
		t.Errorf("%q", got)
	}
}
