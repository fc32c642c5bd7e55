package fleet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// TestEachStepAndOperationHasItsRow reads the constants: one without a row would count as harmless in most respects.
func TestEachStepAndOperationHasItsRow(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "step.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]func(string) bool{
		"StepKind": func(s string) bool { _, has := steps[StepKind(s)]; return has },
		"Op":       func(s string) bool { _, has := operations[Op(s)]; return has },
	}
	found := 0
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			kind, ok := v.Type.(*ast.Ident)
			value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if !ok || err != nil {
				t.Fatalf("%v is no constant of a kind", v.Names)
			}
			if found++; !rows[kind.Name](value) {
				t.Errorf("%s has no row", v.Names[0])
			}
		}
	}
	if want := len(steps) + len(operations); found != want {
		t.Errorf("%d constants and %d rows", found, want)
	}
}

func TestWhatIsNoStepOrOperationBuilds(t *testing.T) {
	t.Parallel()
	if !StepKind("").Rolled() || !Op("nonesuch").Rolled() {
		t.Error("it would be sent without a note of hale's start")
	}
}
