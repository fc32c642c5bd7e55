package backup_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/backup"
	"hale/internal/state/format"
	"hale/internal/state/memory"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func header() backup.Header {
	return backup.Header{Made: noon, Hale: "0.9", Server: "h1", Installation: "3f2a"}
}

// shop is a store with a few entries, one of them under a lease.
func shop(t *testing.T) state.Store {
	t.Helper()
	s := memory.New(memory.Options{}).Open(nil)
	lease, err := s.Grant(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Open(t.Context(), s, "0.9"); err != nil {
		t.Fatal(err)
	}
	for _, txn := range []state.Txn{
		{Then: []state.Write{state.Put("a", []byte("old")), state.Put("gone", []byte("deleted"))}},
		{Then: []state.Write{
			state.Put("a", []byte("new\x00\xff")),
			state.Delete("gone"),
			state.Put("b", nil),
			state.PutLeased("c/owner", []byte("h1"), lease.ID()),
		}},
		{Then: []state.Write{state.Put("c/large", bytes.Repeat([]byte{7}, state.MaxBytes-200))}},
	} {
		if _, err := s.Commit(t.Context(), txn); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func write(t *testing.T, s state.Store) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := backup.Write(t.Context(), &out, s, header()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read returns the keys and values of a backup.
func read(r io.Reader) (backup.Header, map[string]string, error) {
	b, err := backup.Open(r)
	if err != nil {
		return backup.Header{}, nil, err
	}
	got := map[string]string{}
	for e, err := range b.Entries() {
		if err != nil {
			return b.Header, nil, err
		}
		got[e.Key] = string(e.Value)
	}
	return b.Header, got, nil
}

func unzip(t *testing.T, data []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func zip(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWhatWasInTheStoreComesOutAgain(t *testing.T) {
	t.Parallel()
	data := write(t, shop(t))
	h, got, err := read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a":        "new\x00\xff",
		"b":        "",
		"c/large":  strings.Repeat("\x07", state.MaxBytes-200),
		format.Key: got[format.Key],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wanted := header()
	wanted.Layout, wanted.Format = backup.Layout, format.Mark{Format: format.Current(), By: "0.9"}
	if diff := cmp.Diff(wanted, h); diff != "" {
		t.Error(diff)
	}
	text := unzip(t, data)
	for _, secret := range []string{"gone", "b2xk"} { // a deleted key, and an overwritten value in base64
		if strings.Contains(text, secret) {
			t.Errorf("what the store does not hold any more is in it: %s", secret)
		}
	}
}

// Whatever is cut off, changed or added is found, wherever it is.
func TestADamagedBackupIsNoBackup(t *testing.T) {
	t.Parallel()
	small := memory.New(memory.Options{}).Open(nil)
	if _, err := small.Commit(t.Context(), state.Txn{Then: []state.Write{
		state.Put("a", []byte("1")), state.Put("b", []byte("2")),
	}}); err != nil {
		t.Fatal(err)
	}
	data := write(t, small)
	for n := range data {
		if _, _, err := read(bytes.NewReader(data[:n])); !fault.Is(err, fault.Invalid) {
			t.Fatalf("cut off after %d of %d bytes: %v", n, len(data), err)
		}
		changed := bytes.Clone(data)
		changed[n] ^= 0x10
		// In gzip's own header, what is not data may be anything.
		if _, got, err := read(bytes.NewReader(changed)); err == nil &&
			(n >= 10 || got["a"] != "1" || got["b"] != "2") {
			t.Fatalf("changed at byte %d of %d: %v", n, len(data), got)
		}
	}
	text := unzip(t, data)
	lines := strings.SplitAfter(text, "\n")
	for name, c := range map[string]struct{ text, says string }{
		"an entry is missing":   {lines[0] + lines[2] + lines[3], "checksum"},
		"an entry is another":   {strings.Replace(text, "MQ==", "Mg==", 1), "checksum"},
		"the header is another": {strings.Replace(text, "3f2a", "4f2a", 1), "checksum"},
		"entries are swapped":   {lines[0] + lines[2] + lines[1] + lines[3], "not in its place"},
		"there is no end":       {lines[0] + lines[1] + lines[2], "cut off"},
		"something follows":     {text + lines[1], "something follows"},
		"a line is no JSON":     {lines[0] + "x\n" + lines[3], "cannot be read"},
		"it is something else":  {"hello\n", "no backup of hale"},
		"it is other JSON":      {"{}\n", "no backup of hale"},
		"it says why it ends": {lines[0] + `{"broken": "the disk is gone"}` + "\n",
			"never finished: the disk is gone"},
	} {
		if _, _, err := read(bytes.NewReader(zip(t, c.text))); !fault.Is(err, fault.Invalid) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	if _, _, err := read(strings.NewReader("hello")); !fault.Is(err, fault.Invalid) ||
		!strings.Contains(err.Error(), "no backup of hale") {
		t.Errorf("what is not even packed: %v", err)
	}
}

func TestABackupOfANewerHaleIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	const newer = `{"hale_backup": 1, "hale": "3.0", "format": {"Format": 99, "Needs": "2.7"}}`
	for text, says := range map[string]string{
		`{"hale_backup": 2, "hale": "3.0"}`: "hale 3.0 wrote it, in a layout (2)",
		newer:                               "format 99: hale 2.7 and later read it",
	} {
		if _, err := backup.Open(bytes.NewReader(zip(t, text+"\n"))); !fault.Is(err, fault.Unsupported) ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A store that fails in the middle leaves something that says so.
func TestAnUnfinishedBackupSaysWhy(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(func(_ context.Context, c memory.Call) memory.Effect {
		if c.Op == memory.OpList {
			return memory.FailBefore
		}
		return memory.Normal
	})
	var out bytes.Buffer
	if err := backup.Write(t.Context(), &out, s, header()); !fault.Is(err, fault.Transient) {
		t.Fatalf("write = %v", err)
	}
	if _, _, err := read(&out); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "never finished: ") {
		t.Errorf("read = %v", err)
	}
}
