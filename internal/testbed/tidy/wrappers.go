package tidy

import (
	"go/ast"
)

// checkWrappers finds types outside of tests that embed a whole provider. Such a type has the methods of the interface,
// and hides the abilities of the provider behind it.
func checkWrappers(t Tree) []Finding {
	var found []Finding
	for _, f := range t.goFiles() {
		if f.isTest() || f.supports() {
			continue
		}
		local := f.dir() == "internal/provider"
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				if len(field.Names) == 0 && isProvider(field.Type, local) {
					found = append(found, Finding{
						t.at(field),
						"it embeds a provider, and hides what else that one can do: keep it in a field, and pass " +
							"each of provider.Abilities on",
					})
				}
			}
			return true
		})
	}
	return found
}

func isProvider(e ast.Expr, local bool) bool {
	switch x := e.(type) {
	case *ast.Ident:
		return local && x.Name == "Provider"
	case *ast.SelectorExpr:
		pkg, ok := x.X.(*ast.Ident)
		return ok && pkg.Name == "provider" && x.Sel.Name == "Provider"
	}
	return false
}
