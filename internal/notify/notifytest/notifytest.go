// Package notifytest has the exam that every notify.Target takes, on the real thing: a server or a program that the
// test starts.
package notifytest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/secret"
)

// Stage is a target with its receiver, for one story.
type Stage struct {
	Target notify.Target
	// Taken returns what the receiver took, in order. Only the fields that the way carries are filled in, but always
	// Key, Event, Subject and Text.
	Taken func() []notify.Message
	// Trouble lets the next messages, so many, meet trouble that passes.
	Trouble func(n int)
	// Refuse lets all messages be refused for good.
	Refuse func()
	// Hang lets the receiver take a message and never answer, until the story is over.
	Hang func()
	// Secret is what the target tells the receiver to be let in, and which the receiver repeats in what it answers,
	// where it can. Empty: there is none.
	Secret string
}

// patience is for what has to be quick.
const patience = 30 * time.Second

// Run plays every story on a stage of its own.
func Run(t *testing.T, stage func(t *testing.T) Stage) {
	t.Helper()
	for name, story := range map[string]func(*testing.T, Stage){
		"a message arrives whole":                       arrivesWhole,
		"what comes twice has one key":                  twiceOneKey,
		"trouble that passes may be tried again":        troublePasses,
		"a refusal is known as one":                     refusal,
		"a receiver that hangs is left at the deadline": hangs,
		"many at once all arrive":                       manyAtOnce,
		"no secret is in what is said":                  secretStays,
		"an ended context sends nothing":                endedContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, stage(t))
		})
	}
}

// Message is one as they are in life, with the number in its key.
func Message(n int) notify.Message {
	return notify.Message{
		Key: fmt.Sprintf("3f2a1b2c-web-%d", n), Event: notify.EventPage,
		At: time.Date(2026, 11, 21, 3, 0, 12, 0, time.UTC), Server: "h1", Fleet: "web", Machine: "web-2",
		Incident: "web-2/3", Reason: "attempts",
		Subject: fmt.Sprintf("hale: web-2 needs you (%d): Größe ≠ 3 \"quoted\"", n),
		Text: "A person must look at web-2.\n\nWhat happened:\n  " +
			strings.Repeat("a long line of what happened ", 12) + "\n.\n  größer\n",
	}
}

func send(t *testing.T, s Stage, m notify.Message) (notify.Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return s.Target.Send(ctx, m)
}

func must(t *testing.T, s Stage, m notify.Message) {
	t.Helper()
	if _, err := send(t, s, m); err != nil {
		t.Fatal(err)
	}
}

func arrivesWhole(t *testing.T, s Stage) {
	want := Message(1)
	must(t, s, want)
	taken := s.Taken()
	if len(taken) != 1 {
		t.Fatalf("%d messages arrived", len(taken))
	}
	got := taken[0]
	if got.Key != want.Key || got.Event != want.Event || got.Subject != want.Subject ||
		strings.TrimSpace(got.Text) != strings.TrimSpace(want.Text) {
		t.Errorf("it arrived as %+v", got)
	}
}

func twiceOneKey(t *testing.T, s Stage) {
	must(t, s, Message(1))
	must(t, s, Message(1))
	must(t, s, Message(2))
	if got := keys(s); !slices.Equal(got, []string{Message(1).Key, Message(1).Key, Message(2).Key}) {
		t.Errorf("%v", got)
	}
}

func keys(s Stage) []string {
	var out []string
	for _, m := range s.Taken() {
		out = append(out, m.Key)
	}
	return out
}

func troublePasses(t *testing.T, s Stage) {
	s.Trouble(2)
	for i := range 2 {
		_, err := send(t, s, Message(1))
		if err == nil || notify.Refused(err) {
			t.Errorf("try %d: %v", i+1, err)
		}
	}
	if got := keys(s); len(got) != 0 {
		t.Errorf("what was not taken arrived: %v", got)
	}
	must(t, s, Message(1))
	if got := keys(s); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func refusal(t *testing.T, s Stage) {
	s.Refuse()
	if _, err := send(t, s, Message(1)); !notify.Refused(err) {
		t.Errorf("got %v", err)
	}
	if got := keys(s); len(got) != 0 {
		t.Errorf("what was refused arrived: %v", got)
	}
}

// deadline is long enough for a receiver to begin, and shorter than any target's own time limit in these tests.
const deadline = 300 * time.Millisecond

func hangs(t *testing.T, s Stage) {
	s.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	began := time.Now()
	_, err := s.Target.Send(ctx, Message(1))
	if err == nil || notify.Refused(err) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
}

func manyAtOnce(t *testing.T, s Stage) {
	const many = 8
	var wg sync.WaitGroup
	for n := range many {
		wg.Go(func() {
			if _, err := send(t, s, Message(n)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := keys(s)
	slices.Sort(got)
	if got = slices.Compact(got); len(got) != many {
		t.Errorf("%d of %d arrived", len(got), many)
	}
}

func secretStays(t *testing.T, s Stage) {
	answer, err := send(t, s, Message(1))
	if err != nil {
		t.Fatal(err)
	}
	s.Refuse()
	_, err = send(t, s, Message(2))
	if err == nil {
		t.Fatal("it was not refused")
	}
	for _, said := range []string{
		answer.Said, err.Error(), fmt.Sprintf("%+v", s.Target), fmt.Sprintf("%#v", s.Target),
	} {
		if s.Secret != "" && strings.Contains(said, s.Secret) {
			t.Errorf("the secret is in %q", said)
		}
	}
}

func endedContext(t *testing.T, s Stage) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Target.Send(ctx, Message(1)); err == nil || fault.KindOf(err) == "" {
		t.Errorf("got %v", err)
	}
	if got := keys(s); len(got) != 0 {
		t.Errorf("it arrived: %v", got)
	}
}

// Secret is a secret with the value, in a file of the test's own.
func Secret(t *testing.T, value string) secret.Secret {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := secret.File(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
