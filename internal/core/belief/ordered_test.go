package belief_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// The last word counts: the file's, or a person's; and a machine that a person named takes one away, unless there are
// too many already.
func TestWhatSizeIsAskedFor(t *testing.T) {
	t.Parallel()
	file := func(n int) *policy.Spec { return &policy.Spec{Name: "web", Size: n} }
	orders := func(l *belief.Ledger, n int, f *policy.Spec) *belief.Ledger {
		return l.Order(&belief.OrderedSize{Size: n, File: f.Size, By: "alice"})
	}
	names := func(l *belief.Ledger, m fleet.MachineName, f *policy.Spec) *belief.Ledger {
		return l.Removing(belief.Removal{Machine: m, Order: "o"}, &fleet.Order{ID: "o", By: "bob"}, f)
	}
	lifted := func(least, desired int) *policy.Spec {
		return &policy.Spec{Name: "web", Size: desired, Sizing: &policy.Sizing{Min: least, Max: 9, Desired: desired}}
	}
	book := func() *belief.Ledger { return belief.OpenLedger(file(3), 3) }
	for name, c := range map[string]struct {
		ledger         *belief.Ledger
		file           *policy.Spec
		asked, staying int
		ordered        bool // a size that people ordered is kept
	}{
		"nobody ordered anything": {book(), file(3), 3, 3, false},
		"more":                    {orders(book(), 5, file(3)), file(3), 5, 3, true},
		"fewer":                   {orders(book(), 2, file(3)), file(3), 2, 3, true},
		"as the file says": {orders(orders(book(), 5, file(3)), 3, file(3)), file(3), 3, 3,
			false},
		"and then the file says another": {orders(book(), 5, file(3)), file(4), 4, 3, true},
		"one is named":                   {names(book(), "web-2", file(3)), file(3), 2, 2, true},
		"two are named": {names(names(book(), "web-2", file(3)), "web-1", file(3)), file(3),
			1, 1, true},
		"one is named, and its removal fails": {names(book(), "web-2", file(3)).Dropped("web-2"), file(3), 3, 3,
			false},
		"one of two fails, the other one goes": {names(names(book(), "web-2", file(3)), "web-1",
			file(3)).Dropped("web-2").Without("web-1", time.Time{}), file(3), 2, 2, true},
		"one is named, and goes": {names(book(), "web-2", file(3)).Without("web-2", time.Time{}),
			file(3), 2, 2, true},
		"one is named while the bounds lift the size": {names(book(), "web-2", lifted(3, 2)), lifted(1, 2), 1, 2, true},
		"so it is, and its removal fails": {names(book(), "web-2", lifted(3, 2)).Dropped("web-2"), lifted(1, 2), 2, 3,
			false},
		"one is named, and the file says no size": {names(book(), "web-2", lifted(1, 0)), lifted(1, 0), 2, 2, true},
		"one is named, and the file speaks":       {names(book(), "web-2", file(3)), file(4), 4, 2, true},
		"one is named, and then a size is ordered": {orders(names(book(), "web-2", file(3)), 4, file(3)), file(3), 4,
			2, true},
		"of too many one is named": {names(orders(book(), 2, file(3)), "web-1", file(3)), file(3), 2,
			2, true},
		"of too many one is named, and goes": {names(orders(book(), 2, file(3)), "web-1",
			file(3)).Without("web-1", time.Time{}), file(3), 2, 2, true},
		"of too many one is named, and it fails": {names(orders(book(), 2, file(3)), "web-1",
			file(3)).Dropped("web-1"), file(3), 2, 3, true},
		"a larger size is ordered and one is named": {names(orders(book(), 5, file(3)).Grown(5, file(3)), "web-1",
			file(3)).Without("web-1", time.Time{}), file(3), 4, 4, true},
	} {
		if asked, staying := c.ledger.Asked(c.file), c.ledger.Staying(); asked != c.asked || staying != c.staying ||
			(c.ledger.Ordered != nil) != c.ordered {
			t.Errorf("%s: %d asked for, %d stay, ordered %+v", name, asked, staying, c.ledger.Ordered)
		}
	}
}
