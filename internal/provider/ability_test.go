package provider_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// An interface that is added to the port is listed, so that no wrapper hides it unseen.
func TestEveryAbilityIsListed(t *testing.T) {
	t.Parallel()
	// every provider's, and what the engine asks for by itself
	want := []string{"Builder", "Chooser", "Power", "Provider", "Reader", "Watcher"}
	for _, a := range provider.Abilities() {
		want = append(want, a.Name)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if _, ok := spec.Type.(*ast.InterfaceType); ok {
					found = append(found, spec.Name.Name)
				}
			}
			return true
		})
	}
	slices.Sort(found)
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("the port has %q, and listed are %q", found, want)
	}
}

// bare has what every provider has.
type bare struct{ provider.Provider }

func (bare) Start(_ context.Context, ref provider.Ref) error {
	return fault.New(fault.Transient, "start", string(ref.ID), nil)
}

func TestWhatAProviderCannotDoIsNotOrderedOfIt(t *testing.T) {
	t.Parallel()
	ref := provider.Ref{ID: "i-1"}
	for op, want := range map[fleet.Op]fault.Kind{
		fleet.OpStart:  fault.Transient,
		fleet.OpRescue: fault.Unsupported,
		fleet.OpFence:  fault.Invalid,
		"":             fault.Invalid,
	} {
		if _, err := provider.Do(t.Context(), bare{}, provider.Call{Op: op, Ref: ref}); fault.KindOf(err) != want {
			t.Errorf("%q ends with %v, not with %s", op, err, want)
		}
	}
}
