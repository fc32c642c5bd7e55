package tidy

import (
	"fmt"
	"go/ast"
	"go/format"
	"slices"
	"strings"
)

// The limits of a function's length, in lines from func to the closing brace.
const (
	lineLimit  = 100 // no function is longer, tests included
	longLimit  = 50  // few functions of the product are longer
	longBudget = 10  // as many as may be; lower it when there are fewer, never raise it
)

// checkLength finds functions over the limit, and all the long ones when there are too many of them.
func checkLength(t Tree) []Finding {
	var found, long []Finding
	product := map[string]bool{}
	for _, f := range t.product() {
		product[f.Path] = true
	}
	for _, f := range t.goFiles() {
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			switch n := t.lines(fn); {
			case n > lineLimit:
				found = append(found, Finding{
					t.at(fn),
					fmt.Sprintf("%s has %d lines; the limit is %d", fn.Name.Name, n, lineLimit),
				})
			case n > longLimit && product[f.Path]:
				long = append(long, Finding{
					t.at(fn),
					fmt.Sprintf("%s has %d lines, and more than %d functions have over %d",
						fn.Name.Name, n, longBudget, longLimit),
				})
			}
		}
	}
	if len(long) > longBudget {
		found = append(found, long...)
	}
	return found
}

// checkPackageComments finds packages that do not introduce themselves.
func checkPackageComments(t Tree) []Finding {
	introduced := map[string]bool{}
	for _, f := range t.goFiles() {
		want := "Package " + f.syntax.Name.Name + " "
		if isMain(f) {
			want = "Command "
		}
		introduced[f.dir()] = introduced[f.dir()] || strings.HasPrefix(f.syntax.Doc.Text(), want)
	}
	var found []Finding
	for _, f := range t.goFiles() {
		if !introduced[f.dir()] {
			introduced[f.dir()] = true // once for each package
			found = append(found, Finding{
				f.Path,
				`no package comment: begin one with "Package ` + f.syntax.Name.Name + `" (for a main, "Command")`,
			})
		}
	}
	return found
}

// checkPackageNames finds packages with names that say nothing.
func checkPackageNames(t Tree) []Finding {
	empty := []string{"util", "utils", "common", "helper", "helpers", "types", "base", "manager", "misc", "shared"}
	var found []Finding
	for _, f := range t.goFiles() {
		if slices.Contains(empty, strings.TrimSuffix(f.syntax.Name.Name, "_test")) {
			found = append(found, Finding{f.Path, "package " + f.syntax.Name.Name + ": name it after what is inside"})
		}
	}
	return found
}

// booleans lists the exported functions that may take a boolean, with the reason: "internal/core/fleet.Thing.Method".
var booleans = map[string]string{}

// checkBooleans finds boolean parameters of exported functions, methods and interface methods.
func checkBooleans(t Tree) []Finding {
	var found []Finding
	used := map[string]bool{}
	report := func(f File, name string, fn *ast.FuncType) {
		if !takesBool(fn) {
			return
		}
		full := f.dir() + "." + name
		used[full] = true
		if _, ok := booleans[full]; !ok {
			found = append(found, Finding{t.at(fn), name + " takes a boolean"})
		}
	}
	for _, f := range t.goFiles() {
		if f.isTest() {
			continue
		}
		for _, decl := range f.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if name, exported := funcName(d); exported {
					report(f, name, d.Type)
				}
			case *ast.GenDecl:
				eachInterfaceMethod(d, func(name string, fn *ast.FuncType) { report(f, name, fn) })
			}
		}
	}
	for name := range booleans {
		if !used[name] {
			found = append(found, Finding{
				"internal/testbed/tidy/shape.go",
				name + " is exempt but takes no boolean: remove it from the list",
			})
		}
	}
	return found
}

func takesBool(fn *ast.FuncType) bool {
	return slices.ContainsFunc(fn.Params.List, func(p *ast.Field) bool {
		kind := p.Type
		if rest, ok := kind.(*ast.Ellipsis); ok {
			kind = rest.Elt
		}
		id, ok := kind.(*ast.Ident)
		return ok && id.Name == "bool"
	})
}

// funcName is "Func" or "Type.Method", and whether others can call it.
func funcName(fn *ast.FuncDecl) (string, bool) {
	name := fn.Name.Name
	if fn.Recv == nil {
		return name, ast.IsExported(name)
	}
	owner := receiver(fn.Recv.List[0].Type)
	return owner + "." + name, ast.IsExported(name) && ast.IsExported(owner)
}

// receiver strips pointer and type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func eachInterfaceMethod(d *ast.GenDecl, visit func(name string, fn *ast.FuncType)) {
	for _, spec := range d.Specs {
		ts, ok := spec.(*ast.TypeSpec)
		if !ok || !ts.Name.IsExported() {
			continue
		}
		iface, ok := ts.Type.(*ast.InterfaceType)
		if !ok {
			continue
		}
		for _, m := range iface.Methods.List {
			if fn, ok := m.Type.(*ast.FuncType); ok && len(m.Names) == 1 && m.Names[0].IsExported() {
				visit(ts.Name.Name+"."+m.Names[0].Name, fn)
			}
		}
	}
}

// checkFormat finds Go files that do not parse or that gofmt would change.
func checkFormat(t Tree) []Finding {
	var found []Finding
	for _, f := range t.files {
		switch {
		case f.broken != nil:
			found = append(found, Finding{f.Path, "does not parse: " + f.broken.Error()})
		case f.syntax != nil:
			if want, err := format.Source([]byte(f.Text)); err != nil || string(want) != f.Text {
				found = append(found, Finding{f.Path, "run gofmt -w " + f.Path})
			}
		}
	}
	return found
}
