package tidy

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// mention is a word of a document that may name a path or a function.
type mention struct {
	file File
	line int
	text string
	link bool // a link's target: relative to the document, not to the root
}

var (
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inComment  = regexp.MustCompile(`\b(?:docs|scripts|demo|internal|cmd)/[\w./-]*\w\.(?:md|go|sh|txtar)\b`)
	pathWord   = regexp.MustCompile(`^(?:\./)?[\w.{*][\w.{},*-]*(?:/[\w.{},*-]+)*/?$`)
	goName     = regexp.MustCompile(`^((?:hale/)?(?:[a-z][\w]*/)*[a-z][a-z0-9]*)\.` +
		`([A-Z]\w*(?:\.[A-Z]\w*)?)(?:\(.*\))?$`)
	braces = regexp.MustCompile(`\{([^{}]*)\}`)
)

// mentions lists the words in code of a document: spans, fenced blocks and links.
func mentions(f File) []mention {
	var all []mention
	fenced := false
	for i, line := range strings.Split(f.Text, "\n") {
		add := func(text string, link bool) {
			all = append(all, mention{file: f, line: i + 1, text: strings.Trim(text, `"',;:`), link: link})
		}
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			for _, w := range strings.Fields(line) {
				add(w, false)
			}
			continue
		}
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			for _, w := range strings.Fields(m[1]) {
				add(w, false)
			}
		}
		for _, m := range linkTarget.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "``"), -1) {
			add(m[1], true)
		}
	}
	return all
}

// checkPaths finds paths that do not exist: in the code spans, blocks and links of the documents, and in Go comments.
func checkPaths(t Tree) []Finding {
	var found []Finding
	for _, f := range t.markdown() {
		for _, m := range mentions(f) {
			if missing := t.missing(m); missing != "" {
				found = append(found, Finding{place(f.Path, m.line), missing + " does not exist"})
			}
		}
	}
	for _, f := range t.goFiles() {
		for _, group := range f.syntax.Comments {
			for _, p := range inComment.FindAllString(group.Text(), -1) {
				if !t.exists(p) {
					found = append(found, Finding{t.at(group), p + " does not exist"})
				}
			}
		}
	}
	return found
}

// missing returns the path that the mention names and the tree lacks, or nothing.
func (t Tree) missing(m mention) string {
	if m.link {
		target, _, _ := strings.Cut(m.text, "#")
		if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			return ""
		}
		if p := path.Join(path.Dir(m.file.Path), target); !t.exists(p) {
			return p
		}
		return ""
	}
	word := strings.TrimPrefix(m.text, "./")
	word, _, _ = strings.Cut(word, "...") // a Go pattern such as ./internal/...
	if !pathWord.MatchString(word) || goName.MatchString(word) {
		return ""
	}
	word = strings.TrimPrefix(word, module+"/")
	top, _, nested := strings.Cut(word, "/")
	switch {
	case nested && !t.folder(top):
		return "" // not one of ours: a package's import path, a file of the user's
	case !nested && !strings.HasSuffix(word, ".md") && word != "Makefile":
		return ""
	}
	for _, p := range expand(strings.TrimSuffix(word, "/")) {
		beside := path.Join(path.Dir(m.file.Path), p)
		if !t.exists(p) && !t.exists(beside) {
			return p
		}
	}
	return ""
}

// topFolders are the folders with paths that are checked even before the folder exists.
var topFolders = []string{"internal", "cmd", "docs", "scripts", "tools"}

func (t Tree) folder(top string) bool {
	if slices.Contains(topFolders, top) {
		return true
	}
	return t.known[top] && slices.ContainsFunc(t.files, func(f File) bool { return strings.HasPrefix(f.Path, top+"/") })
}

func (t Tree) exists(p string) bool {
	if p == "." || t.known[p] || generated(p+"/") {
		return true
	}
	if !strings.Contains(p, "*") {
		return false
	}
	for known := range t.known {
		if ok, err := path.Match(p, known); err == nil && ok {
			return true
		}
	}
	return false
}

// expand resolves {a,b} in a path, as a shell does.
func expand(p string) []string {
	at := braces.FindStringSubmatchIndex(p)
	if at == nil {
		return []string{p}
	}
	var all []string
	for _, choice := range strings.Split(p[at[2]:at[3]], ",") {
		all = append(all, expand(p[:at[0]]+choice+p[at[1]:])...)
	}
	return all
}

// checkNames finds names such as decide.Decide, belief.Machine.Check or hale/internal/core/decide.Decide in the
// documents' code spans that no package of hale declares. A package name that is not hale's is left alone.
func checkNames(t Tree) []Finding {
	byDir, byName := t.declared()
	var found []Finding
	for _, f := range t.markdown() {
		for _, m := range mentions(f) {
			parts := goName.FindStringSubmatch(m.text)
			if m.link || parts == nil {
				continue
			}
			pkg, name := strings.TrimPrefix(parts[1], module+"/"), parts[2]
			names, ours := byName[pkg]
			if strings.Contains(pkg, "/") {
				names, ours = byDir[pkg]
				ours = ours || strings.HasPrefix(pkg, "internal/")
			}
			if ours && !names[name] {
				found = append(found, Finding{
					place(f.Path, m.line),
					fmt.Sprintf("package %s declares no %s", pkg, name),
				})
			}
		}
	}
	return found
}

// declared lists the names of each package, by its folder and by its name: Func, Type, Type.Method, Type.Field, Const.
func (t Tree) declared() (byDir, byName map[string]map[string]bool) {
	byDir, byName = map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, f := range t.goFiles() {
		if f.isTest() {
			continue
		}
		dir, name := f.dir(), f.syntax.Name.Name
		if byDir[dir] == nil {
			byDir[dir] = map[string]bool{}
		}
		if byName[name] == nil {
			byName[name] = map[string]bool{}
		}
		for _, decl := range f.syntax.Decls {
			for _, n := range namesOf(decl) {
				byDir[dir][n] = true
				byName[name][n] = true
			}
		}
	}
	return byDir, byName
}

func namesOf(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name, _ := funcName(d)
		return []string{name}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
				names = append(names, membersOf(s)...)
			}
		}
		return names
	}
	return nil
}

func membersOf(s *ast.TypeSpec) []string {
	var fields *ast.FieldList
	switch kind := s.Type.(type) {
	case *ast.StructType:
		fields = kind.Fields
	case *ast.InterfaceType:
		fields = kind.Methods
	default:
		return nil
	}
	var names []string
	for _, field := range fields.List {
		for _, id := range field.Names {
			names = append(names, s.Name.Name+"."+id.Name)
		}
	}
	return names
}
