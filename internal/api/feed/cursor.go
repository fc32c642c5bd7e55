package feed

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"hale/internal/state/journal"
)

// Cursor is a place in the journals of all fleets: behind all that was stored at the revision, or, where Seq is given,
// behind the record of that number only. Records of one revision are of one fleet.
type Cursor struct {
	Revision int64
	Seq      uint64
}

// String is how a cursor is written. To those who get one it is opaque.
func (c Cursor) String() string {
	if c.Seq == 0 {
		return strconv.FormatInt(c.Revision, 10)
	}
	return strconv.FormatInt(c.Revision, 10) + "-" + strconv.FormatUint(c.Seq, 10)
}

// ParseCursor reads what String wrote.
func ParseCursor(text string) (Cursor, error) {
	revision, seq, precise := strings.Cut(text, "-")
	var c Cursor
	var err error
	if c.Revision, err = strconv.ParseInt(revision, 10, 64); err == nil && precise {
		c.Seq, err = strconv.ParseUint(seq, 10, 64)
	}
	if err != nil || c.Revision < 0 || precise && c.Seq == 0 || c.String() != text {
		return Cursor{}, fmt.Errorf("%q is no place in the journal: use the id of an event, a list's revision, or now", text)
	}
	return c, nil
}

// Compare orders cursors by where they stand: negative, when c has more to come than d.
func (c Cursor) Compare(d Cursor) int {
	return cmp.Or(cmp.Compare(c.Revision, d.Revision), cmp.Compare(c.Seq-1, d.Seq-1)) // 0 stands behind all numbers
}

// Before reports whether the record lies behind the cursor, so that its reader has it still to come.
func (c Cursor) Before(r *journal.Stored) bool { return c.Compare(place(r)) < 0 }

// place is the cursor behind the record.
func place(r *journal.Stored) Cursor { return Cursor{Revision: r.Revision, Seq: r.Seq} }
