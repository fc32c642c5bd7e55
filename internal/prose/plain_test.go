package prose_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unclear are the words that leave open who does what.
var unclear = regexp.MustCompile(`(?i)\b(some|no|any)body\b|\bwhoever\b|\bwhom\b`)

// A sentence names who did something (a person, hale, the provider), or says what is unknown.
func TestNoSentenceSpeaksOfSomebodyOrNobody(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	more, errs := filepath.Glob("words/*.go")
	if err != nil || errs != nil || len(files) == 0 || len(more) == 0 {
		t.Fatal(err, errs)
	}
	set := token.NewFileSet()
	for _, f := range append(files, more...) {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && unclear.MatchString(lit.Value) {
				t.Errorf("%s: %s", set.Position(lit.Pos()), lit.Value)
			}
			return true
		})
	}
}
