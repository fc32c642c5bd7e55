package tidy

import (
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// The bounds of what one package, one file or one type may hold.
const (
	packageLimit = 3000 // lines of a package of the product, without tests
	fileLimit    = 600  // lines of a file of the product
	methodLimit  = 60   // methods of one type of the core, or of the owner
)

// adapters may be as large as what they speak to: each is one subject, and nothing but its port knows it.
var adapters = []string{
	"internal/provider/libvirt", "internal/provider/openstack", "internal/provider/vsphere",
	"internal/probe/bulkprobe", "internal/probe/netprobe",
}

// checkPackageSize finds packages of the product that hold more than one subject.
func checkPackageSize(t Tree) []Finding {
	lines := map[string]int{}
	for _, f := range t.product() {
		lines[f.dir()] += strings.Count(f.Text, "\n")
	}
	var found []Finding
	for _, dir := range slices.Sorted(maps.Keys(lines)) {
		if n := lines[dir]; n > packageLimit && !slices.Contains(adapters, dir) {
			found = append(found, Finding{dir, fmt.Sprintf("%d lines; the limit is %d: cut it by subject", n,
				packageLimit)})
		}
	}
	return found
}

// checkFileLength finds files of the product that hold more than one subject.
func checkFileLength(t Tree) []Finding {
	var found []Finding
	for _, f := range t.product() {
		if n := t.lines(f.syntax); n > fileLimit {
			found = append(found, Finding{f.Path, fmt.Sprintf("%d lines; the limit is %d: split it by subject", n,
				fileLimit)})
		}
	}
	return found
}

// checkMethods finds types of the core and of the owner that do everything.
func checkMethods(t Tree) []Finding {
	methods := map[string]int{}
	var names []string
	for _, f := range t.product() {
		if !isCore(f.dir()) {
			continue
		}
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			name := f.dir() + "." + receiver(fn.Recv.List[0].Type)
			if methods[name]++; methods[name] == methodLimit+1 {
				names = append(names, name)
			}
		}
	}
	var found []Finding
	for _, name := range names {
		found = append(found, Finding{name, fmt.Sprintf("%d methods; the limit is %d", methods[name], methodLimit)})
	}
	return found
}

// isCore reports whether the package is of the core, or the owner, which drives it.
func isCore(dir string) bool {
	return slices.ContainsFunc(packages, func(r pkgRule) bool {
		return r.path == dir && (r.floor == 0 && !r.leaf || dir == "internal/owner")
	})
}

// stepsFile declares the steps of the ladder and the operations at the provider.
const stepsFile = "internal/core/fleet/step.go"

// namings is in how many files of the product one step or one operation may be named: a new one costs as many. Lower
// what is higher here when it has fallen, never raise it.
var namings = map[string]int{"StepRecreate": 19, "OpRun": 14}

const namingLimit = 11

// checkNamings finds steps and operations that too many files know by name.
func checkNamings(t Tree) []Finding {
	in := map[string][]string{}
	for _, f := range t.product() {
		if f.Path == stepsFile {
			for _, name := range constants(f.syntax) {
				in[name] = nil
			}
		}
	}
	for _, f := range t.product() {
		if remarks(f.Path) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if files, declared := in[id.Name]; declared && !slices.Contains(files, f.Path) {
				in[id.Name] = append(files, f.Path)
			}
			return true
		})
	}
	var found []Finding
	for name, files := range in {
		limit := namingLimit
		if own, some := namings[name]; some {
			limit = own
		}
		if len(files) > limit {
			found = append(found, Finding{stepsFile,
				fmt.Sprintf("%s is named in %d files, and may be in %d: %s", name, len(files), limit,
					strings.Join(files, " "))})
		}
	}
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.What, b.What) })
	return found
}

// remarks reports whether the file is where a provider says in words how it does something, or why it cannot. A new
// operation needs none of them.
func remarks(path string) bool {
	ok, err := filepath.Match("internal/provider/*/keys.go", path)
	return ok && err == nil
}

// constants are the names of the steps and operations that the file declares.
func constants(f *ast.File) []string {
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, id := range spec.Names {
			if strings.HasPrefix(id.Name, "Step") || strings.HasPrefix(id.Name, "Op") {
				names = append(names, id.Name)
			}
		}
		return false
	})
	return names
}
