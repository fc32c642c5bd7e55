package tidy

import (
	"go/ast"
	"slices"
)

// unguarded are the packages where goroutines need no guard against panics, with the reason.
var unguarded = map[string]string{
	"internal/sim/survey":         "it is one run of a command",
	"internal/cli/play":           "it is one run of a command",
	"internal/trial/report":       "it is one run of a command",
	"internal/provider/examine":   "it is one run of a command",
	"internal/provider/simulated": "what panics there is the tests' own world",
	"internal/state/etcd":         "hale does not outlive its store: what it fails by ends hale in order",
	"internal/state/memory":       "hale does not outlive its store",
}

// guards are the calls that end a panic: Catch where it is deferred, Try and Keep around what they are given (package
// defect).
var guards = []string{"Try", "Keep"}

// plumbing are calls that run no code of a caller's: they end, cut, wait and look at contexts.
var plumbing = []string{
	"Add", "Cause", "Close", "Done", "Err", "Failed", "Lock", "Now", "SetDeadline", "Unix", "Unlock",
	"cancel", "close", "cut", "delete", "end", "leave", "len", "stop", "string",
}

// checkSurvival finds goroutines in which a panic would end hale: those that neither begin with a guard nor only
// connect contexts and channels. What a call leads to is seen as far as the same package has it.
func checkSurvival(t Tree) []Finding {
	functions := map[string]map[string][]*ast.FuncDecl{} // by folder and name
	for _, f := range t.product() {
		for _, decl := range f.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				in := functions[f.dir()]
				if in == nil {
					in = map[string][]*ast.FuncDecl{}
					functions[f.dir()] = in
				}
				in[fn.Name.Name] = append(in[fn.Name.Name], fn)
			}
		}
	}
	var found []Finding
	for _, f := range t.product() {
		r, known := roomOf(f.dir())
		if !known || r.floor < 1 || r.floor > 5 || unguarded[f.dir()] != "" {
			continue
		}
		s := survivor{functions[f.dir()]}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if start := started(n); start != nil && !s.safe(start) {
				found = append(found, Finding{t.at(n),
					"a panic in this goroutine would end hale: begin it with defer …Catch(…) of package defect, " +
						"or do the work by its Try or Keep"})
			}
			return true
		})
	}
	return found
}

// started returns what the node has run on another goroutine; nil: nothing.
func started(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.GoStmt:
		if lit, ok := n.Call.Fun.(*ast.FuncLit); ok {
			return lit
		}
		return n.Call
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		switch {
		case ok && sel.Sel.Name == "Go" && len(n.Args) == 1:
			return n.Args[0]
		case ok && sel.Sel.Name == "AfterFunc" && len(n.Args) == 2:
			return n.Args[1]
		}
	}
	return nil
}

// survivor knows the functions of a package.
type survivor struct{ functions map[string][]*ast.FuncDecl }

// safe reports whether what is started can do no harm by a panic.
func (s survivor) safe(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncLit:
		return s.guarded(e.Body, nil)
	case *ast.CallExpr:
		return s.harmless(e, nil)
	case *ast.Ident, *ast.SelectorExpr:
		return s.byName(nameOf(e), nil)
	}
	return false
}

// guarded reports whether the statements are: up to the first deferred Catch, none of them runs a caller's code.
func (s survivor) guarded(body *ast.BlockStmt, seen []string) bool {
	for _, stmt := range body.List {
		if d, ok := stmt.(*ast.DeferStmt); ok {
			if nameOf(d.Call.Fun) == "Catch" {
				return true
			}
			continue // it runs after the guard, or is looked at where it stands alone
		}
		if !s.harmless(stmt, seen) {
			return false
		}
	}
	return true
}

// harmless reports whether every call in the node is guarded, or plumbing. Functions that are only written down there
// are not called.
func (s survivor) harmless(n ast.Node, seen []string) bool {
	ok := true
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if name := nameOf(n.Fun); slices.Contains(guards, name) {
				return false
			} else if !s.byName(name, seen) {
				ok = false
			}
		}
		return ok
	})
	return ok
}

// byName reports whether each function of the package that has the name is guarded.
func (s survivor) byName(name string, seen []string) bool {
	if slices.Contains(plumbing, name) || slices.Contains(seen, name) {
		return true
	}
	all := s.functions[name]
	for _, fn := range all {
		if !s.guarded(fn.Body, append(slices.Clone(seen), name)) {
			return false
		}
	}
	return len(all) > 0
}

// nameOf is the last part of what is called.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
