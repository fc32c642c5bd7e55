package server_test

import (
	"testing"

	"hale/internal/core/record"
	"hale/internal/state"
	"hale/internal/state/backup"
)

func TestABackupIsWhatTheStoreHolds(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.write(record.Record{Fleet: "web", Kind: record.Owner}, record.Record{Fleet: "web", Kind: record.Owner})
	if _, err := o.store.Commit(t.Context(), state.Txn{
		Then: []state.Write{state.Put("installation", []byte("3f2a"))},
	}); err != nil {
		t.Fatal(err)
	}
	body, err := o.client().Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := backup.Open(body)
	if err != nil || b.Hale != "1" || b.Server != "h" || b.Installation != "3f2a" || b.Made.IsZero() {
		t.Fatalf("%+v, %v", b, err)
	}
	entries := 0
	for _, err := range b.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		entries++
	}
	if err := body.Close(); err != nil || entries != 3 {
		t.Errorf("%d entries, %v", entries, err)
	}
}
