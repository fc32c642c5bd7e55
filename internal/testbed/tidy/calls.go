package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ban forbids the use of some names of an imported package.
type ban struct {
	pkg     string
	names   []string        // empty: all of them
	instead string          // replacement and reason
	allowed func(File) bool // nil: nowhere
}

var bans = []ban{
	{
		pkg: "time", names: []string{"Sleep"}, allowed: inBubble,
		instead: "await the condition with a time.Ticker and a deadline in a select: a sleep is too long or too " +
			"short, and deaf to its context",
	},
	{
		pkg: "fmt", names: []string{"Print", "Printf", "Println"}, allowed: speaks,
		instead: "use log/slog, or write to the io.Writer that was given: only the command line owns standard output",
	},
	{
		pkg: "log", names: nil,
		instead: "use log/slog: keys, levels and one handler; log.Fatal skips every deferred call",
	},
	{
		pkg: "os", names: []string{"Exit"}, allowed: ends,
		instead: "return an error: only main may end the process, everything else would skip deferred calls",
	},
	{
		pkg: "net/http",
		names: []string{
			"DefaultClient", "DefaultTransport", "DefaultServeMux", "Get", "Head", "Post", "PostForm", "Handle",
			"HandleFunc", "ListenAndServe", "ListenAndServeTLS",
		},
		instead: "make an http.Client, Server or ServeMux with its own time limits: the default one has none and is " +
			"shared by all",
	},
	{
		pkg: "context", names: []string{"Background", "TODO"}, allowed: isOrigin,
		instead: "take ctx as the first argument (context.WithoutCancel(ctx) for work that outlives it; t.Context() " +
			"in a suite)",
	},
	{
		pkg: "math/rand", names: nil,
		instead: "use math/rand/v2 with a seed that is printed; the core chooses by a hash of the decision's id",
	},
	{
		pkg: "io/ioutil", names: nil,
		instead: "use io and os: ioutil is deprecated",
	},
}

// coreBans hold on floor 0 in addition.
var coreBans = []ban{
	{
		pkg: "time",
		names: []string{
			"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "LoadLocation", "Local",
		},
		instead: "take fleet.Now as an argument: the core has no clock",
	},
	{
		pkg: "fmt",
		names: []string{
			"Sprint", "Sprintf", "Sprintln", "Fprint", "Fprintf", "Fprintln", "Print", "Printf", "Println", "Append",
			"Appendf", "Appendln",
		},
		instead: "return a value of a closed set: prose is rendered at the surface (fmt.Errorf is allowed)",
	},
}

func inBubble(f File) bool { return f.isTest() && imports(f, "testing/synctest") }

func isMain(f File) bool { return f.syntax.Name.Name == "main" }

// ends tells the files that hold a main function, or a TestMain, which is one in all but name.
func ends(f File) bool {
	return isMain(f) || f.isTest() && slices.ContainsFunc(f.syntax.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Recv == nil && fn.Name.Name == "TestMain"
	})
}

func speaks(f File) bool {
	return isMain(f) || strings.HasPrefix(f.Path, "internal/cli/") || strings.HasPrefix(f.Path, "demo/") ||
		strings.HasSuffix(f.Path, "/example_test.go") // go test compares what an example prints
}

// isOrigin tells where a context may begin: in main, in the app, in tests and in what supports them.
func isOrigin(f File) bool {
	return isMain(f) || f.isTest() || f.supports() || f.dir() == "internal/app"
}

// exception allows one banned name in one file.
type exception struct{ file, name, reason string }

// exceptions are few, and each stands only as long as its file uses the name.
var exceptions = []exception{
	{
		"internal/testbed/lab/warden.go",
		"os.Exit",
		"it is the main function of the warden's process, which is the test binary started again",
	},
	{"internal/testbed/lab/lab.go", "os.Exit", "Main is the body of a TestMain, and os.Exit is how that ends"},
	{
		"internal/probe/netprobe/engine.go",
		"context.Background",
		"Set, Remove and Snapshot of the port take no context; Run's end frees their callers",
	},
	{"internal/state/etcd/log.go", "context.Background", "zap hands its core no context"},
}

func excepted(file, name string) bool {
	return slices.ContainsFunc(exceptions, func(e exception) bool { return e.file == file && e.name == name })
}

// checkExceptions finds exceptions that no file needs any more.
func checkExceptions(t Tree, list []exception) []Finding {
	var found []Finding
	for _, e := range list {
		pkg, name, _ := strings.Cut(e.name, ".")
		i := slices.IndexFunc(t.files, func(f File) bool { return f.Path == e.file })
		switch {
		case i < 0:
			found = append(found, Finding{
				"internal/testbed/tidy/calls.go",
				e.file + " is excepted but does not exist: remove the exception",
			})
		case t.files[i].syntax != nil && len(t.uses(t.files[i], pkg, name)) == 0:
			found = append(found, Finding{
				"internal/testbed/tidy/calls.go",
				e.file + " uses no " + e.name + ": remove the exception",
			})
		}
	}
	return found
}

func imports(f File, what string) bool {
	return slices.ContainsFunc(f.syntax.Imports, func(s *ast.ImportSpec) bool {
		return s.Path.Value == strconv.Quote(what)
	})
}

// checkCalls finds uses of banned names, skipped tests, undocumented panics and exceptions that outlived their use.
func checkCalls(t Tree) []Finding {
	found := checkExceptions(t, exceptions)
	for _, f := range t.goFiles() {
		found = append(found, t.banned(f, bans)...)
		switch {
		case f.isTest():
			found = append(found, t.skips(f)...)
		case !f.supports():
			found = append(found, t.panics(f)...)
		}
	}
	return found
}

// checkCore finds, on floor 0, uses of a clock, of prose and of concurrency.
func checkCore(t Tree) []Finding {
	var found []Finding
	for _, f := range t.product() {
		if r, ok := roomOf(f.dir()); !ok || !r.core() {
			continue
		}
		found = append(found, t.banned(f, coreBans)...)
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				found = append(found, Finding{
					t.at(n),
					"the core is sequential: goroutines and channels belong to internal/engine",
				})
			}
			if comparesClocks(n) && f.Path != "internal/core/fleet/time.go" {
				found = append(found, Finding{t.at(n),
					"test deadlines by the methods of fleet.Now (Due, Reached, Within): " +
						"they note when to look again"})
			}
			return true
		})
	}
	return found
}

// comparesClocks reports whether the expression compares one of the clocks of a fleet.Now with something.
func comparesClocks(n ast.Node) bool {
	isClock := func(e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		return ok && (sel.Sel.Name == "Mono" || sel.Sel.Name == "Wall")
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		ordered := n.Op == token.LSS || n.Op == token.GTR || n.Op == token.LEQ || n.Op == token.GEQ
		return ordered && (isClock(n.X) || isClock(n.Y))
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && (sel.Sel.Name == "Before" || sel.Sel.Name == "After") &&
			(isClock(sel.X) || slices.ContainsFunc(n.Args, isClock))
	}
	return false
}

func (t Tree) banned(f File, list []ban) []Finding {
	var found []Finding
	t.eachUse(f, func(at ast.Node, pkg, name string) {
		for _, b := range list {
			hit := pkg == b.pkg && (b.names == nil || slices.Contains(b.names, name))
			used := path.Base(pkg) + "." + name
			if hit && (b.allowed == nil || !b.allowed(f)) && !excepted(f.Path, used) {
				found = append(found, Finding{t.at(at), used + ": " + b.instead})
			}
		}
	})
	return found
}

// uses finds the places where a file uses pkg.name, pkg being the last element of an import path.
func (t Tree) uses(f File, pkg, name string) []string {
	var places []string
	t.eachUse(f, func(at ast.Node, p, n string) {
		if path.Base(p) == pkg && n == name {
			places = append(places, t.at(at))
		}
	})
	return places
}

// eachUse visits every name of an imported package that the file uses.
func (t Tree) eachUse(f File, visit func(at ast.Node, pkg, name string)) {
	names := importNames(f)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// Obj: declared by the file itself
		if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil && names[id.Name] != "" {
			visit(sel, names[id.Name], sel.Sel.Name)
		}
		return true
	})
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// importNames maps the names under which a file knows its imports to their paths.
func importNames(f File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.syntax.Imports {
		what, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser would not have let it through
		}
		name := path.Base(what)
		if majorVersion.MatchString(name) {
			name = path.Base(path.Dir(what))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = what
	}
	return names
}

func (t Tree) skips(f File) []Finding {
	var found []Finding
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
			found = append(found, Finding{
				t.at(call),
				"a skipped test proves nothing: install or start what it needs, in the test",
			})
		}
		return true
	})
	return found
}

// panics finds calls of panic in functions that do not speak of it in their comments.
func (t Tree) panics(f File) []Finding {
	var found []Finding
	for _, decl := range f.syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && strings.Contains(strings.ToLower(fn.Doc.Text()), "panic") {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" && id.Obj == nil {
					found = append(found, Finding{
						t.at(call),
						"return an error, or say in the function's comment when it panics and why callers cannot " +
							"mend it",
					})
				}
			}
			return true
		})
	}
	return found
}

// onlyBlank are packages that have no other form than an import for its effect.
var onlyBlank = []string{`"embed"`, `"time/tzdata"`}

// checkMagic finds init functions and imports for their side effect alone.
func checkMagic(t Tree) []Finding {
	var found []Finding
	for _, f := range t.goFiles() {
		for _, spec := range f.syntax.Imports {
			if spec.Name != nil && spec.Name.Name == "_" && !slices.Contains(onlyBlank, spec.Path.Value) {
				found = append(found, Finding{
					t.at(spec),
					"blank import of " + spec.Path.Value + ": call what it would register, in one visible list",
				})
			}
		}
		for _, decl := range f.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, Finding{
					t.at(fn),
					"init runs unasked and untested: make it a function that main or app calls",
				})
			}
		}
	}
	return found
}

// owned recognises a comment that says who owns a goroutine, or what ends it.
var owned = regexp.MustCompile(`(?i)\b(goroutines?|own(s|ed|er)|ends? (with|when|at|by|on)|waits?|until)\b`)

// checkGoroutines finds go statements in product code that no comment accounts for: the one directly above or beside
// the statement, or the function's own.
func checkGoroutines(t Tree) []Finding {
	var found []Finding
	for _, f := range t.product() {
		accounted := map[int]bool{}
		for _, c := range f.syntax.Comments {
			line := t.fset.Position(c.End()).Line
			accounted[line], accounted[line+1] = true, true
		}
		for _, decl := range f.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && owned.MatchString(fn.Doc.Text()) {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if g, ok := n.(*ast.GoStmt); ok && !accounted[t.fset.Position(g.Pos()).Line] {
					found = append(found, Finding{
						t.at(g),
						"start it with a sync.WaitGroup's Go, or say in a comment directly above who owns it and " +
							"what ends it",
					})
				}
				return true
			})
		}
	}
	return found
}

// checkErrorText finds decisions on the text of an error in product code.
func checkErrorText(t Tree) []Finding {
	matchers := []string{"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "EqualFold", "Index", "MatchString"}
	var found []Finding
	for _, f := range t.product() {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains(matchers, sel.Sel.Name) && slices.ContainsFunc(call.Args, isErrorText) {
				found = append(found, Finding{
					t.at(call),
					"this decides by an error's text: classify it where it arises",
				})
			}
			return true
		})
	}
	return found
}

// isErrorText recognises x.Error(), also inside strings.ToLower and the like.
func isErrorText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Error" && len(call.Args) == 0 {
		return true
	}
	return slices.ContainsFunc(call.Args, isErrorText)
}
