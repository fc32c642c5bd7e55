package fleet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// elsewhere are the reasons that no record has as its own: they are told in a record's detail, of a piece of evidence,
// or in a status.
var elsewhere = []Reason{
	ReasonStandsStill, ReasonLeaseShort, ReasonNotOwner,
	ReasonTooLate, ReasonTooLarge, ReasonNothing, ReasonNotWanted, ReasonInterrupted,
	ReasonFailing, ReasonHighestNumber, ReasonBeingBuilt,
	ReasonUnread, ReasonClosed, ReasonEven, ReasonOldTemplate, ReasonOldest, ReasonNewest, ReasonRandom, ReasonLeastBusy,
}

// TestEachReasonHasItsRecords holds the table to the constants: each kind is in it, and each reason in one of its
// lists.
func TestEachReasonHasItsRecords(t *testing.T) {
	t.Parallel()
	kinds, all := constants(t)
	placed := map[Reason]bool{}
	for _, k := range kinds {
		list := reasons[RecordKind(k)]
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
		if told := slices.Contains(elsewhere, Reason(r)); placed[Reason(r)] == told {
			t.Errorf("reason %s: a record can have it: %v, and it is told elsewhere alone: %v", r, !told, told)
		}
	}
	for _, list := range [][]Reason{held, halts, muteMetric, passedOver, failures, refusals, panicked} {
		for i, r := range list {
			if slices.Contains(list[:i], r) {
				t.Errorf("reason %s is listed twice", r)
			}
		}
	}
}

func TestARecordCannotHaveAnotherOnesReason(t *testing.T) {
	t.Parallel()
	if err := (&Record{Kind: RecordLook, Reason: ReasonRefuted}).Valid(); err != nil {
		t.Error(err)
	}
	for _, r := range []Record{
		{Kind: RecordLook, Reason: ReasonHealed}, {Kind: RecordHeld}, {Kind: RecordRepairEnded}, {Kind: "new"},
		{Kind: RecordOrder, Reason: ReasonRefuted}, {Kind: RecordIntent, Reason: ReasonCallFailed},
	} {
		if r.Valid() == nil {
			t.Errorf("a record %q has the reason %q", r.Kind, r.Reason)
		}
	}
}

// constants returns the kinds of records and the reasons, as they stand in the source.
func constants(t *testing.T) (kinds, reasons []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "record.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		value, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch typ, _ := spec.Type.(*ast.Ident); {
		case typ == nil:
		case typ.Name == "RecordKind":
			kinds = append(kinds, value)
		case typ.Name == "Reason":
			reasons = append(reasons, value)
		}
		return true
	})
	return kinds, reasons
}
