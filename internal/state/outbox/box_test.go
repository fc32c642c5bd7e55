package outbox_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/state/outbox"
)

// at is the moment so long after the beginning.
func at(d time.Duration) fleet.Now {
	return fleet.Now{Wall: began.Add(d), Mono: fleet.Instant(time.Hour + d)}
}

// filled is a box with a page for each number, and the recipients that it is for.
func filled(t *testing.T, tries int, seqs []uint64, names ...policy.TargetName) (*outbox.Box, []policy.Recipient) {
	t.Helper()
	b := outbox.NewBox(func(now fleet.Now, r record.Record) record.Record {
		r.At, r.Fleet = now.Wall, "web"
		return r
	})
	spec := recipients(tries, time.Hour, names...)
	for _, seq := range seqs {
		k, _, err := outbox.Posting(letter(t, spec, page(seq)))
		if err != nil {
			t.Fatal(err)
		}
		b.Posted([]outbox.Stored[outbox.Letter]{k}, int64(seq))
	}
	return b, spec.Notify.To
}

// every says that each target exists.
func every(policy.TargetName) bool { return true }

// settle writes everything down that is to be, and returns the records of it.
func settle(t *testing.T, b *outbox.Box, now fleet.Now) (records []record.Record) {
	t.Helper()
	for {
		s, some, err := b.Unsettled(now)
		if err != nil {
			t.Fatal(err)
		}
		if !some {
			return records
		}
		records = append(records, s.Records...)
		b.Settled(s, 0, 100)
	}
}

// tell answers each delivery, and returns their targets.
func tell(b *outbox.Box, due []outbox.Delivery, o outbox.Outcome, now fleet.Now) (to []policy.TargetName) {
	for _, d := range due {
		b.Told(d, o, now)
		to = append(to, d.To.Target)
	}
	return to
}

func TestATargetIsToldOneMessageAtATime(t *testing.T) {
	t.Parallel()
	b, to := filled(t, 3, []uint64{1, 2}, "hook", "ops")
	first := b.Due(at(0), to, every)
	if len(first) != 2 || first[0].Letter.Record.Seq != 1 || len(b.Due(at(0), to, every)) != 0 {
		t.Fatalf("due at once: %+v", first)
	}
	tell(b, first, outbox.Outcome{Taken: true}, at(time.Second))
	second := b.Due(at(time.Second), to, every)
	if got := tell(b, second, outbox.Outcome{Taken: true}, at(time.Second)); !slices.Equal(got,
		[]policy.TargetName{"hook", "ops"}) {
		t.Errorf("told next: %v", got)
	}
	records := settle(t, b, at(time.Second))
	if len(records) != 4 || !b.Empty() || !b.Changed() || b.Changed() {
		t.Errorf("written down: %+v, and left: %+v", records, b.Standing())
	}
}

func TestS29ATryThatFailedIsMadeAgainAfterAPause(t *testing.T) {
	t.Parallel()
	b, to := filled(t, 3, []uint64{1}, "hook")
	tell(b, b.Due(at(0), to, every), outbox.Outcome{Detail: "503"}, at(0))
	if s := b.Standing(); s.Waiting != 1 || s.Target != "hook" || s.Detail != "503" {
		t.Errorf("it stands so: %+v", s)
	}
	if len(settle(t, b, at(0))) != 0 || b.Empty() {
		t.Error("a try that failed is nothing to be told of, and no end")
	}
	if len(b.Due(at(time.Second), to, every)) != 0 || len(b.Due(at(outbox.FirstPause), to, every)) != 1 {
		t.Error("it is not tried again after the pause, and only then")
	}
}

func TestWhatHasNoWayBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	b, to := filled(t, 1, []uint64{1}, "gone", "hook", "removed")
	exists := func(name policy.TargetName) bool { return name != "gone" }
	due := b.Due(at(0), to[:2], exists)
	tell(b, due, outbox.Outcome{Taken: true}, at(0))
	why := map[policy.TargetName]fleet.Reason{}
	for _, r := range settle(t, b, at(0)) {
		why[r.Target] = r.Reason
	}
	want := map[policy.TargetName]fleet.Reason{"gone": fleet.ReasonTriesSpent, "hook": "",
		"removed": fleet.ReasonTargetGone}
	for name, reason := range want {
		if got, told := why[name]; !told || got != reason {
			t.Errorf("%s: %q (told: %v), want %q", name, got, told, reason)
		}
	}
	if s := b.Standing(); len(due) != 1 || s.Dead != 2 || s.Waiting != 0 {
		t.Errorf("%d are due; it stands so: %+v", len(due), s)
	}
}

func TestBeyondTheBoundTheOldestIsGivenUp(t *testing.T) {
	t.Parallel()
	var seqs []uint64
	for n := range outbox.MaxWaiting + 2 {
		seqs = append(seqs, uint64(n+1))
	}
	b, to := filled(t, 3, seqs, "hook")
	due := b.Due(at(0), to, every)
	records := settle(t, b, at(0))
	if len(due) != 1 || due[0].Letter.Record.Seq != 3 || len(records) != 2 ||
		records[0].Reason != fleet.ReasonOutboxFull {
		t.Errorf("due %+v, written down %+v", due, records)
	}
	if s := b.Standing(); s.Waiting != outbox.MaxWaiting || s.Dead != 2 {
		t.Errorf("it stands so: %+v", s)
	}
}

func TestWhatWasTakenIsNotSentAgainWhileTheStoreIsFull(t *testing.T) {
	t.Parallel()
	b, to := filled(t, 3, []uint64{1}, "hook")
	tell(b, b.Due(at(0), to, every), outbox.Outcome{Taken: true}, at(0))
	if _, some, err := b.Unsettled(at(0)); !some || err != nil {
		t.Fatalf("nothing is to be written: %v", err)
	}
	b.Full(at(0), fleet.Instant(time.Second))
	if len(settle(t, b, at(time.Second/2))) != 0 || len(b.Due(at(time.Second/2), to, every)) != 0 {
		t.Error("it is written during the pause, or sent again")
	}
	if len(settle(t, b, at(time.Second))) != 1 || !b.Empty() {
		t.Error("it is not written down after the pause")
	}
}

func TestALetterThatWaitsAlreadyIsNotTakenTwice(t *testing.T) {
	t.Parallel()
	b, to := filled(t, 3, []uint64{1}, "hook")
	again, _, err := outbox.Posting(letter(t, recipients(3, time.Hour, "hook"), page(1)))
	if err != nil {
		t.Fatal(err)
	}
	b.Load([]outbox.Stored[outbox.Letter]{again}, nil)
	if n := len(b.Due(at(0), to, every)); n != 1 || b.Standing().Waiting != 1 {
		t.Errorf("%d are due; it stands so: %+v", n, b.Standing())
	}
}
