package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
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
	"RebootMode":      "configuration: the person wrote it",
	"Accel":           "configuration: the person wrote it",
	"Warning":         "configuration: the person wrote it",
	"MetricKind":      "configuration: the person wrote it",
	"MetricName":      "configuration: the person wrote it",
	"Combine":         "configuration: the person wrote it",
	"Usage":           "configuration: the person wrote it",
	"OpinionKind":     "configuration: the person wrote it",
	"LeaveRule":       "configuration: the person wrote it",
	"NoConnection":    "configuration: the person wrote it",
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
		"HoldScope":        has(scopesOfHold),
		"NotifyEvent":      has(events),
		"Reason":           has(reasons),
		"Kind":             has(sentences),
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
		some, err := filepath.Glob(filepath.Join("..", "core", words, "*.go"))
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

// TestNoSentenceIsBroken tells every kind with every reason, bare and furnished: whatever is recorded can be read.
func TestNoSentenceIsBroken(t *testing.T) {
	t.Parallel()
	furnished := record.Record{
		Fleet: "web", Machine: "web-2", Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks, Check: "page",
		Result: fleet.ResultRefused, Incident: "web-2/1", Repair: "web-2/r1", Step: fleet.StepReboot,
		Op:      fleet.OpReboot,
		Outcome: fleet.OutcomeDone, Proof: fleet.ProofConfirmedOff, Instance: "3f2a1b2c-9e5e", Generation: 2,
		Host:     "h1",
		Provider: "lab", Detail: "detail", Failing: 1, Size: 3, Limit: 2, Took: time.Second, Chance: 1e-9,
		Scope: policy.ScopeRack, Order: "o1", Command: fleet.OrderHold, By: "alice", Parent: "web/p1",
		Domain: fleet.Domain{Kind: fleet.DomainRack, Name: "r1"},
		Target: "ops", Event: policy.NotifyPage, Tries: 3, Snapshot: "r3", Bytes: 3 << 20,
	}
	meagre := furnished
	meagre.Cause, meagre.Check, meagre.Result, meagre.Host, meagre.Took = "", "", "", "", 0
	meagre.Scope = ""
	meagre.Order, meagre.Command, meagre.By = "", "", ""
	meagre.Parent, meagre.Domain, meagre.Chance = "", fleet.Domain{}, 0
	for kind := range sentences {
		for why := range reasons {
			for _, r := range []record.Record{furnished, meagre} {
				r.Kind, r.Reason = kind, why
				if s := Sentence(r); !readable(s) {
					t.Errorf("%s because of %s: %q", kind, why, s)
				}
			}
		}
	}
}

// readable reports whether a sentence has no trace of what was left out.
func readable(s string) bool {
	broken := []string{"%!", "  ", "()", ": :", "::", " ,", ", ,", "( ", " )", "\n"}
	return s != "" && s == strings.TrimSpace(s) && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, ".") &&
		!slices.ContainsFunc(broken, func(b string) bool { return strings.Contains(s, b) })
}

func TestWordsFitIntoSentences(t *testing.T) {
	t.Parallel()
	for r, w := range reasons {
		if !readable(w.clause) || strings.ToUpper(w.clause[:1]) == w.clause[:1] {
			t.Errorf("reason %s: %q is not a clause", r, w.clause)
		}
		if w.advice != "" && !readable(w.advice) {
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
