package defect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/defect"
)

// deep panics a few calls down.
func deep(n int) {
	none := make([]int, 0, n)
	if n > 0 {
		deep(n - 1)
	}
	_ = none[n]
}

func TestAPanicIsAnErrorThatSaysWhere(t *testing.T) {
	t.Parallel()
	err := defect.Try(func() error { deep(2); return nil })
	var p *defect.Panic
	if !errors.As(err, &p) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(p.Value, "index out of range") ||
		!strings.HasPrefix(p.Stack, "defect_test.deep defect_test.go:") {
		t.Errorf("value %q, stack %q", p.Value, p.Stack)
	}
	oops := errors.New("oops")
	if err := defect.Try(func() error { return oops }); !errors.Is(err, oops) {
		t.Errorf("an ordinary error became %v", err)
	}
	long := defect.Try(func() error { panic(strings.Repeat("é", 1000)) })
	if !errors.As(long, &p) || len(p.Value) > 210 || strings.ContainsRune(p.Value, '\uFFFD') {
		t.Errorf("%d bytes: %s", len(p.Value), p.Value)
	}
}

func TestAPlaceIsOneEntryHoweverOftenItPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := defect.NewRegister(slog.New(slog.NewTextHandler(&log, nil)))
		lab, ops := defect.Place{Part: defect.Provider, Of: "lab"}, defect.Place{Part: defect.Target, Name: "ops"}
		blow := func(at defect.Place, what any) (caught bool) {
			defer b.Catch(at, "list", func(*defect.Panic) { caught = true })
			panic(what)
		}
		if b.Revision() != 0 || len(b.All()) != 0 {
			t.Error("an empty register is not")
		}
		for i := range 100 {
			if !blow(lab, fmt.Sprintf("boom %d", i)) {
				t.Fatal("it was not told of its panic")
			}
			time.Sleep(time.Second)
		}
		blow(ops, "bang")
		all := b.All()
		if len(all) != 2 || all[0].Place != lab || all[0].Count != 100 || all[0].Said != "boom 0" ||
			all[0].Last.Sub(all[0].First) != 99*time.Second || all[1].Count != 1 {
			t.Errorf("%+v", all)
		}
		if n := strings.Count(log.String(), "of=lab"); n != 2 {
			t.Errorf("%d lines about 100 panics in 100 seconds, want one a minute:\n%s", n, log.String())
		}
		if !strings.Contains(log.String(), "count=61") || !strings.Contains(log.String(), "stack=") {
			t.Errorf("the log lacks number or place:\n%s", log.String())
		}
		for wait, over := range map[time.Duration]bool{defect.Calm - 1: false, defect.Calm: true} {
			if got := all[1].Over(all[1].Last.Add(wait)); got != over {
				t.Errorf("after %v: over is %v", wait, got)
			}
		}
		time.Sleep(defect.Calm)
		blow(lab, "again")
		if e := b.All()[0]; e.Spell != 2 || e.Count != 1 || e.Said != "again" {
			t.Errorf("%+v", e)
		}
	})
}

func TestWorkThatPanicsIsBegunAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := defect.NewRegister(slog.New(slog.DiscardHandler))
		at := defect.Place{Part: defect.Surface, Name: "x"}
		began, tries := time.Now(), 0
		b.Keep(t.Context(), at, func(context.Context) {
			if tries++; tries < 6 {
				panic("boom")
			}
		})
		if took := time.Since(began); tries != 6 || took != 3100*time.Millisecond {
			t.Errorf("%d tries in %v, want 6 with pauses of 0.1, 0.2, 0.4, 0.8 and 1.6 s", tries, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		tries = 0
		b.Keep(ctx, at, func(context.Context) { tries++; panic("boom") })
		if ctx.Err() == nil || tries < 100 || tries > 140 {
			t.Errorf("%d tries in an hour, want one in 30 seconds", tries)
		}
	})
}

func TestARequestThatPanicsIsAnsweredAndTold(t *testing.T) {
	t.Parallel()
	b := defect.NewRegister(slog.New(slog.DiscardHandler))
	h := defect.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }),
		b.Witness(defect.Surface, ""), "api")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/status", nil))
	if all := b.All(); w.Code != http.StatusInternalServerError || len(all) != 1 ||
		all[0].Place != (defect.Place{Part: defect.Surface, Name: "api"}) {
		t.Errorf("%d %+v", w.Code, b.All())
	}
	abort := defect.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		nil, "")
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // by identity
			t.Errorf("what breaks a request off became %v", v)
		}
	}()
	abort.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
}

func TestWhoIsToldOfNothingCatchesAllTheSame(t *testing.T) {
	t.Parallel()
	var none defect.Witness
	func() {
		defer none.Catch("", "", nil)
		panic("boom")
	}()
}
