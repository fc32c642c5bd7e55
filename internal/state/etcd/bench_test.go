package etcd

import (
	"log/slog"
	"testing"
	"time"

	"hale/internal/state"
)

// BenchmarkCommit measures what the owner of a machine does at each step: it compares its
// lease and the machine's revision, and puts the machine, a journal record and an outcome.
func BenchmarkCommit(b *testing.B) {
	s := OpenForTest(b, Options{})
	ctx := b.Context()
	lease, err := s.Grant(ctx, time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	owner, err := s.Commit(ctx, state.Txn{Then: []state.Write{state.PutLeased("owner", nil, lease.ID())}})
	if err != nil {
		b.Fatal(err)
	}
	machine := int64(0)
	document, record := make([]byte, 2048), make([]byte, 512)
	for b.Loop() {
		machine, err = s.Commit(ctx, state.Txn{
			If: []state.Compare{state.Held("owner", owner, lease.ID()), state.At("machine", machine)},
			Then: []state.Write{
				state.Put("machine", document),
				state.Put("journal/1", record),
				state.Put("outcome/1", record),
			},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRestart measures how long it takes to open an existing folder until it can be
// written to; closing it is not counted.
func BenchmarkRestart(b *testing.B) {
	opts := Options{Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler)}
	for b.Loop() {
		s, err := Open(b.Context(), opts)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.put(b.Context(), "a", 1); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
