package vsphere

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fleet"
)

// FuzzMark: whatever stands in a machine's extra configuration, it is a mark for that machine, or none; and what hale
// writes, it reads.
func FuzzMark(f *testing.F) {
	f.Add("a",
		`{"id":"a","installation":"i","fleet":"web","machine":"web-1",`+
			`"generation":"1","built":"2026-01-01T00:00:00Z","shelf":["x"]}`, "v")
	f.Add("a", `{"id":"b","generation":"-1"}`, "")
	f.Add("", `null`, "\x00")
	f.Fuzz(func(t *testing.T, id, text, value string) {
		entries := []types.BaseOptionValue{
			&types.OptionValue{Key: markKey, Value: text}, &types.OptionValue{Key: metaPrefix + value, Value: value},
			&types.OptionValue{Key: markKey, Value: 1},
		}
		s := decodeMark(fleet.InstanceID(id), entries)
		var none fleet.Mark
		if s.torn && s.mark != none {
			t.Errorf("a torn mark says %+v", s.mark)
		}
		if s.mark == none {
			return
		}
		if s.mark.Instance != fleet.InstanceID(id) {
			t.Errorf("a mark for %q is that of %q", id, s.mark.Instance)
		}
		written, err := encodeMark(fleet.InstanceID(id), s.mark, s.shelf)
		if err != nil {
			return // a year that is not written
		}
		again := decodeMark(fleet.InstanceID(id), []types.BaseOptionValue{written})
		was, is := s.mark, again.mark
		was.Built, is.Built = time.Time{}, time.Time{}
		if was != is || !s.mark.Built.Equal(again.mark.Built) {
			t.Errorf("%+v becomes %+v", s.mark, again.mark)
		}
	})
}
