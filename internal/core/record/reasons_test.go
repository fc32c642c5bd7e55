package record

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"hale/internal/core/fleet"
)

// elsewhere are the reasons that no record has as its own: they are told in a record's detail, of a piece of evidence,
// or in a status.
var elsewhere = []fleet.Reason{
	fleet.ReasonStandsStill, fleet.ReasonLeaseShort, fleet.ReasonNotOwner,
	fleet.ReasonTooLate, fleet.ReasonTooLarge, fleet.ReasonNothing, fleet.ReasonNotWanted, fleet.ReasonInterrupted,
	fleet.ReasonFailing, fleet.ReasonHighestNumber,
	fleet.ReasonUnread, fleet.ReasonNoSay, fleet.ReasonEven, fleet.ReasonOldTemplate, fleet.ReasonOldest,
	fleet.ReasonNewest, fleet.ReasonRandom, fleet.ReasonLeastBusy, fleet.ReasonProving,
	fleet.ReasonTooManySpares, fleet.ReasonSurgeFirst,
}

// TestEachReasonHasItsRecords holds the table to the constants: each kind is in it, and each reason in one of its
// lists.
func TestEachReasonHasItsRecords(t *testing.T) {
	t.Parallel()
	kinds, all := constants(t)
	placed := map[fleet.Reason]bool{}
	for _, k := range kinds {
		list := reasons[Kind(k)]
		if len(list) == 0 {
			t.Errorf("a record %q can have no reason, and not even none", k)
		}
		for _, r := range list {
			placed[r] = true
		}
	}
	if len(kinds) != len(reasons) {
		t.Errorf("the table has %d kinds, and there are %d", len(reasons), len(kinds))
	}
	for _, r := range all {
		if told := slices.Contains(elsewhere, fleet.Reason(r)); placed[fleet.Reason(r)] == told {
			t.Errorf("reason %s: a record can have it: %v, and it is told elsewhere alone: %v", r, !told, told)
		}
	}
	for _, list := range [][]fleet.Reason{held, halts, muteMetric, passedOver, failures, refusals, panicked} {
		for i, r := range list {
			if slices.Contains(list[:i], r) {
				t.Errorf("reason %s is listed twice", r)
			}
		}
	}
}

func TestARecordCannotHaveAnotherOnesReason(t *testing.T) {
	t.Parallel()
	if err := (&Record{Kind: Look, Reason: fleet.ReasonRefuted}).Valid(); err != nil {
		t.Error(err)
	}
	for _, r := range []Record{
		{Kind: Look, Reason: fleet.ReasonHealed}, {Kind: Held}, {Kind: RepairEnded}, {Kind: "new"},
		{Kind: Order, Reason: fleet.ReasonRefuted}, {Kind: Intent, Reason: fleet.ReasonCallFailed},
	} {
		if r.Valid() == nil {
			t.Errorf("a record %q has the reason %q", r.Kind, r.Reason)
		}
	}
}

// constants returns the kinds of records and the reasons, as they stand in the source.
func constants(t *testing.T) (kinds, reasons []string) {
	t.Helper()
	return values(t, "record.go", "Kind"), values(t, "../fleet/reason.go", "Reason")
}

// values returns what the constants of the type are.
func values(t *testing.T, name, of string) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if typ, some := spec.Type.(*ast.Ident); !ok || !some || typ.Name != of {
			return true
		}
		value, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, value)
		return true
	})
	return all
}
