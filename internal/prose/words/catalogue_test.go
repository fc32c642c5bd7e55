package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hale/internal/core/fleet"
)

// untold are the closed sets that have no words of their own, with the reason.
var untold = map[string]string{
	"Access":          "between a method and the decision",
	"ActionKind":      "between decision and engine",
	"LookScope":       "between decision and engine",
	"CheckKind":       "configuration: the person wrote it",
	"RecordType":      "configuration: the person wrote it",
	"CheckName":       "configuration: the person wrote it",
	"ConditionOp":     "configuration: the person wrote it",
	"ExternalStop":    "configuration: the person wrote it",
	"HostDisabled":    "configuration: the person wrote it",
	"Silence":         "configuration: the person wrote it",
	"FateAnswer":      "configuration: the person wrote it",
	"OnDeleteFailure": "configuration: the person wrote it",
	"OnFailure":       "configuration: the person wrote it",
	"OnUpdateFailure": "configuration: the person wrote it",
	"UpdateOrder":     "configuration: the person wrote it",
	"RebootMode":      "configuration: the person wrote it",
	"HookKind":        "configuration: the person wrote it",
	"MemberState":     "a pool's own word",
	"MemberVerdict":   "a pool's own word",
	"Unapproved":      "configuration: the person wrote it",
	"HookFailure":     "configuration: the person wrote it",
	"Accel":           "configuration: the person wrote it",
	"Warning":         "configuration: the person wrote it",
	"MetricKind":      "configuration: the person wrote it",
	"MetricName":      "configuration: the person wrote it",
	"Combine":         "configuration: the person wrote it",
	"Usage":           "configuration: the person wrote it",
	"OpinionKind":     "configuration: the person wrote it",
	"LeaveRule":       "configuration: the person wrote it",
	"Part":            "a key of the template: the person wrote it",
	"NoConnection":    "configuration: the person wrote it",
	"Kind":            "package prose has a sentence for each",
}

// TestEveryConstantHasWords reads the source of the words: a constant that is added there without words fails here.
func TestEveryConstantHasWords(t *testing.T) {
	t.Parallel()
	catalogues := map[string]func(string) bool{
		"Verdict":          has(verdicts),
		"Cause":            has(causes),
		"ResultReason":     has(results),
		"Standing":         has(standings),
		"Power":            has(powers),
		"Stop":             has(stops),
		"Op":               has(ops),
		"Moment":           has(moments),
		"HookWord":         has(hookWords),
		"OutcomeKind":      has(outcomes),
		"Proof":            has(proofs),
		"StepKind":         has(steps),
		"RepairKind":       has(repairs),
		"Phase":            has(phases),
		"Mode":             has(modes),
		"ProviderStanding": has(providers),
		"VantageStanding":  has(vantages),
		"DomainKind":       has(domains),
		"OrderKind":        has(orders),
		"ScopeKind":        has(scopes),
		"HoldScope":        has(holds),
		"NotifyEvent":      has(events),
		"Reason":           has(reasons),
	}
	constants := constantsOfTheWords(t)
	for set, values := range constants {
		known, told := catalogues[set]
		if _, silent := untold[set]; !told && !silent {
			t.Errorf("%s is a closed set without a catalogue: give it one, or say in untold why it needs none",
				set)
			continue
		}
		for _, v := range values {
			if told && !known(v) {
				t.Errorf("%s %q has no words", set, v)
			}
		}
	}
	for set := range catalogues {
		if len(constants[set]) == 0 {
			t.Errorf("the words have no constants of type %s: this test does not see them any more", set)
		}
	}
	if n := len(constants["Reason"]); n < 50 {
		t.Errorf("only %d reasons were found: the source is not read as it should be", n)
	}
}

func has[K ~string, V any](catalogue map[K]V) func(string) bool {
	return func(value string) bool { _, ok := catalogue[K(value)]; return ok }
}

// constantsOfTheWords returns the values of the string constants of the packages that are the words, by their type.
func constantsOfTheWords(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	var files []string
	for _, words := range []string{"fleet", "policy", "belief", "record", "situation"} {
		some, err := filepath.Glob(filepath.Join("..", "..", "core", words, "*.go"))
		if err != nil || len(some) == 0 {
			t.Fatalf("no source of package %s: %v", words, err)
		}
		files = append(files, some...)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.CONST {
				collect(t, g, found)
			}
		}
	}
	return found
}

func collect(t *testing.T, g *ast.GenDecl, into map[string][]string) {
	t.Helper()
	for _, s := range g.Specs {
		spec, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		set, ok := spec.Type.(*ast.Ident)
		if !ok {
			continue
		}
		for _, v := range spec.Values {
			lit, ok := v.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			into[set.Name] = append(into[set.Name], value)
		}
	}
}

func TestWordsFitIntoSentences(t *testing.T) {
	t.Parallel()
	for r, w := range reasons {
		if !fits(w.clause) || strings.ToUpper(w.clause[:1]) == w.clause[:1] {
			t.Errorf("reason %s: %q is not a clause", r, w.clause)
		}
		if w.advice != "" && !fits(w.advice) {
			t.Errorf("advice on %s: %q is not a clause", r, w.advice)
		}
	}
	for _, r := range []fleet.Reason{
		fleet.ReasonQuarantined, fleet.ReasonNameTaken, fleet.ReasonRefusedBy, fleet.ReasonNoProof,
		fleet.ReasonAttempts,
		fleet.ReasonStoreFull, fleet.ReasonProviderDoubtful, fleet.ReasonMarkChanged, fleet.ReasonBrake,
		fleet.ReasonDeleteFailed,
	} {
		if Advice(r) == "" {
			t.Errorf("%s leaves a person without advice", r)
		}
	}
}

// fits reports whether the words can be a part of a sentence.
func fits(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, ".") &&
		!strings.Contains(s, "  ")
}
