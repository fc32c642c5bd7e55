package provider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"hale/internal/provider"
)

// Whoever adds an interface to the port lists it, so that no wrapper hides it unseen.
func TestEveryAbilityIsListed(t *testing.T) {
	t.Parallel()
	want := []string{"Builder", "Chooser", "Power", "Provider", "Reader", "Watcher"} // every provider's, and what the engine asks for by itself
	for _, a := range provider.Abilities() {
		want = append(want, a.Name)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "provider.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if _, ok := spec.Type.(*ast.InterfaceType); ok {
				found = append(found, spec.Name.Name)
			}
		}
		return true
	})
	slices.Sort(found)
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("the port has %q, and listed are %q", found, want)
	}
}
