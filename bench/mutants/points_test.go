package main

import (
	"fmt"
	"go/format"
	"slices"
	"strings"
	"testing"
)

// pointsOfGate is the whole list of what is changed in the fixture: function, operator, place and change.
const pointsOfGate = `
Patience duration: 9:17 2 * time.Second → *2
Patience duration: 9:17 2 * time.Second → /2
Gate.Refuses condition: 19:5 !(!g.Open && by > 0)
Gate.Refuses condition: 19:5 !g.Open → without !
Gate.Refuses logic: 19:13 && → ||
Gate.Refuses boundary: 19:19 > → >=
Gate.Refuses number: 19:21 0 → 1
Gate.Refuses number: 19:21 0 → -1
Gate.Refuses early-exit: 20:3 without return Full
Gate.Refuses reason: 20:10 Full → ""
Gate.Refuses case: 23:2 case g.Inside+by > max(g.Size, 1) removed
Gate.Refuses condition: 23:7 !(g.Inside+by > max(g.Size, 1))
Gate.Refuses arithmetic: 23:15 + → -
Gate.Refuses boundary: 23:19 > → >=
Gate.Refuses min-max: 23:21 max → min
Gate.Refuses number: 23:33 1 → 2
Gate.Refuses number: 23:33 1 → 0
Gate.Refuses case-body: 24:3 case g.Inside+by > max(g.Size, 1) emptied
Gate.Refuses statement: 24:3 without g.note("full")
Gate.Refuses early-exit: 25:3 without return Full
Gate.Refuses reason: 25:10 Full → ""
Gate.Refuses case: 26:7 case without wait == 0
Gate.Refuses equality: 26:12 == → !=
Gate.Refuses condition: 26:18 !(wait > Patience)
Gate.Refuses case: 26:18 case without wait > Patience
Gate.Refuses boundary: 26:23 > → >=
Gate.Refuses case-body: 27:3 case wait == 0, wait > Patience emptied
Gate.Refuses statement: 27:3 without g.Alarm = true
Gate.Refuses statement: 27:12 without g.Last = "late"
Gate.Refuses boolean: 27:21 true → false
Gate.note statement: 32:33 without g.Last = s
Sum number: 35:11 0 → 1
Sum number: 35:11 0 → -1
Sum case: 38:8 case without "odd"
Sum case: 38:15 case without "all"
Sum case-body: 39:4 case "odd", "all" emptied
Sum statement: 41:3 without total += n (does not compile)
Sum arithmetic: 41:9 += → -=`

func TestPointsOfTheFixture(t *testing.T) {
	t.Parallel()
	_, s := loadGate(t, fixture(t, nil))
	mutants, err := enumerate(s)
	if err != nil {
		t.Fatal(err)
	}
	sound, broken := screen([]*source{s}, mutants)
	if len(sound)+len(broken) != len(mutants) {
		t.Errorf("%d mutants, but %d that compile and %d that do not", len(mutants), len(sound), len(broken))
	}
	var got []string
	for _, m := range mutants {
		compiles := ""
		if slices.ContainsFunc(broken, func(r result) bool { return r.ID == m.ID }) {
			compiles = " (does not compile)"
		}
		got = append(got,
			fmt.Sprintf("%s %s: %s%s", m.Function, m.Operator, strings.TrimPrefix(m.ID, "internal/gate/gate.go:"),
				compiles))
		if len(m.patch) != 1 || string(m.patch[m.File]) == gate {
			t.Errorf("%s changes nothing", m.ID)
		}
	}
	if got := strings.Join(got, "\n"); got != strings.TrimSpace(pointsOfGate) {
		t.Errorf("got\n%s", got)
	}
	again, err := enumerate(s)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(mutants, again, func(a, b mutant) bool { return a.ID == b.ID && a.key() == b.key() }) {
		t.Error("the same source gives other mutants the second time")
	}
}

// changesOf lists what the mutants make of one function's body.
func changesOf(t *testing.T, signature, body string, operators ...string) []string {
	t.Helper()
	before := "package gate\n\n" + signature + " {\n"
	_, s := loadGate(t, fixture(t, map[string]string{"internal/gate/gate.go": before + body + "\n}\n"}))
	mutants, err := enumerate(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		if !slices.Contains(operators, m.Operator) {
			continue
		}
		text, err := format.Source(m.patch[m.File])
		if err != nil {
			t.Fatalf("%s: %v", m.ID, err)
		}
		changed, _ := strings.CutPrefix(string(text), before)
		got = append(got, oneLine(strings.TrimSuffix(changed, "\n}\n")))
	}
	return got
}

func TestWhatBecomesOfAFunction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signature, body string
		operators       []string
		want            []string
	}{
		"only the one operator changes, whatever binds stronger": {
			"func f(a, b, c bool) bool", "return a || b || c && a", []string{opLogic},
			[]string{"return a && b || c && a", "return (a || b) && c && a", "return a || b || (c || a)"},
		},
		"a condition that == decides is negated once": {
			"func f(a int) bool", "if a == 1 {\nreturn a > 2\n}\nreturn !(a < 0)", []string{opEquality, opCondition},
			[]string{
				"if a != 1 { return a > 2 } return !(a < 0)",
				"if a == 1 { return !(a > 2) } return !(a < 0)",
				"if a == 1 { return a > 2 } return (a < 0)",
			},
		},
		"what else in a switch takes over decides whether removing differs from emptying": {
			"func f(a int) (n int)",
			"switch a {\ncase 1:\nn = 3\ndefault:\nn = 4\n}\nreturn n",
			[]string{opCase, opCaseBody},
			[]string{
				"switch a { default: n = 4 } return n", "switch a { case 1: default: n = 4 } return n",
				"switch a { case 1: n = 3 default: } return n",
			},
		},
		"a text cannot be subtracted": {"func f(a string) string", "return a + a", []string{opArithmetic}, nil},
		"negative numbers stay apart from the minus before them": {
			"func f(a int) int", "return a-0", []string{opNumber}, []string{"return a - 1", "return a - (-1)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := changesOf(t, c.signature, c.body, c.operators...); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestACaseIsReachedWithItsSwitch(t *testing.T) {
	t.Parallel()
	_, s := loadGate(t, fixture(t, nil))
	mutants, err := enumerate(s)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]position{
		"26:12 == → !=":                  {22, 2}, // in a case's condition
		`38:8 case without "odd"`:        {37, 3},
		`39:4 case "odd", "all" emptied`: {39, 4}, // only where the case is taken
		"41:9 += → -=":                   {41, 9},
	} {
		if got := find(t, mutants, "internal/gate/gate.go:"+id).runs; got != want {
			t.Errorf("%s is reached at %v, want %v", id, got, want)
		}
	}
}

func TestEqualChangesAreToldApart(t *testing.T) {
	t.Parallel()
	_, s := loadGate(t, fixture(t, map[string]string{"internal/gate/gate.go": `package gate

func f(a int) {
	if a > 1 {
		return
	}
	if a > 2 {
		return
	}
	if a > 2 {
		return
	}
	println(a)
}
`}))
	mutants, err := enumerate(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		if m.Operator == opEarlyExit {
			got = append(got, m.Change)
		}
	}
	want := []string{
		"without return (after: if a > 1 {)", "without return (after: if a > 2 {)",
		"without return (after: if a > 2 {) (2)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
