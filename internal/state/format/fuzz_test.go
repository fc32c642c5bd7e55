package format_test

import (
	"testing"

	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/format"
	"hale/internal/state/memory"
)

// FuzzMark: whatever a store says of its format, it is read, or refused with a kind; one that is too new is never
// opened.
func FuzzMark(f *testing.F) {
	for _, seed := range []string{`{"Format":1}`, `{"Format":2,"Needs":"1.2"}`, `{"Format":0}`, `{"Format":-1}`,
		`{"Format":1e9}`, `null`, `{}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := memory.New(memory.Options{}).Open(nil)
		if _, err := s.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put(format.Key, data)}}); err != nil {
			t.Fatal(err)
		}
		mark, err := format.Read(t.Context(), s)
		opened := format.Open(t.Context(), s, "x")
		switch {
		case err != nil && (!fault.Is(err, fault.Permanent) || opened == nil):
			t.Errorf("%q: %v, and it is opened: %v", data, err, opened)
		case err == nil && (opened == nil) != (mark.Format >= 1 && mark.Format <= format.Current()):
			t.Errorf("%q: format %d is opened: %v", data, mark.Format, opened)
		}
	})
}
