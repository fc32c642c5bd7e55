package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// mutant is one small change of the source, and what it is known by.
type mutant struct {
	ID       string `json:"id"`
	Package  string `json:"package"` // below the root, as File
	File     string `json:"file"`
	Line     int    `json:"line"`
	Col      int    `json:"col"`
	Function string `json:"function"` // the function or the package-level name that it lies in
	Operator string `json:"operator"`
	Change   string `json:"change"` // source text → source text, in one line
	Source   string `json:"source"` // the line as it stands

	before string            // the line above
	runs   position          // where a run comes by, if it can tell the mutant from the source
	patch  map[string][]byte // file → its whole text, changed
}

type position struct{ line, col int }

// key is what a mutant is explained by: it stays when lines move.
func (m mutant) key() string { return m.File + " " + m.Function + " " + m.Operator + "\n" + m.Change }

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// apply returns the text with the edits made; they do not overlap.
func apply(text []byte, edits []edit) []byte {
	edits = slices.SortedFunc(slices.Values(edits), func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, text[at:]...)
}

// enumerate lists the mutants of a package in the order of its source. Two that come to the same text are one.
func enumerate(s *source) ([]mutant, error) {
	var all []mutant
	for _, f := range s.files {
		w := &walker{
			source: s,
			file:   f,
			at:     s.fset.File(f.syntax.FileStart),
			lasts:  map[ast.Stmt]bool{},
			seen:   map[string]bool{},
		}
		w.seen[squeeze(f.text)] = true
		for _, decl := range f.syntax.Decls {
			w.walk(decl)
		}
		slices.SortStableFunc(w.found, func(a, b mutant) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
		})
		all = append(all, w.found...)
	}
	tellApart(all)
	ids := map[string]bool{}
	for _, m := range all {
		if ids[m.ID] {
			return nil, fmt.Errorf("two mutants are called %s", m.ID)
		}
		ids[m.ID] = true
	}
	return all, nil
}

// tellApart completes the changes that a function holds more than once by what stands before them, so that each can be
// explained by itself; those that are still equal are numbered.
func tellApart(mutants []mutant) {
	same := map[string][]*mutant{}
	for i := range mutants {
		m := &mutants[i]
		same[m.key()] = append(same[m.key()], m)
	}
	times := map[string]int{}
	for _, key := range sortedKeys(same) {
		if len(same[key]) == 1 {
			continue
		}
		for _, m := range same[key] {
			m.Change += " (after: " + m.before + ")"
			times[m.key()]++
			if n := times[m.key()]; n > 1 {
				m.Change += fmt.Sprintf(" (%d)", n)
			}
		}
	}
}

// squeeze removes all space, so that texts which differ in layout only are equal.
func squeeze(text []byte) string {
	return string(bytes.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text))
}

// walker collects the mutants of one file.
type walker struct {
	*source
	file     *sourceFile
	at       *token.File
	function string
	lasts    map[ast.Stmt]bool // returns that end a function with results: it cannot do without them
	heads    []head
	seen     map[string]bool
	found    []mutant
}

// head is what stands between case and colon: it belongs to no stretch of code of its own, but is run with its switch.
type head struct{ from, to, start token.Pos }

func (w *walker) walk(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		w.function = functionName(d)
		ast.Inspect(d, w.visit)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				w.function = v.Names[0].Name
				ast.Inspect(v, w.visit)
			}
		}
	}
}

// functionName is Func, or Type.Method.
func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	owner := types.ExprString(d.Recv.List[0].Type)
	owner, _, _ = strings.Cut(strings.TrimPrefix(owner, "*"), "[")
	return owner + "." + d.Name.Name
}

func (w *walker) offset(p token.Pos) int { return w.at.Offset(p) }

func (w *walker) text(n ast.Node) string {
	return string(w.file.text[w.offset(n.Pos()):w.offset(n.End())])
}

// replace is the edit that puts text in a node's place.
func (w *walker) replace(n ast.Node, text string) edit {
	return edit{w.offset(n.Pos()), w.offset(n.End()), text}
}

// add notes a mutant at the place. What is short goes into its id; change says it in full.
func (w *walker) add(operator string, at token.Pos, short, change string, edits ...edit) {
	text := apply(w.file.text, edits)
	key := squeeze(text)
	if w.seen[key] {
		return
	}
	w.seen[key] = true
	p := w.at.Position(at)
	w.found = append(w.found, mutant{
		ID:      fmt.Sprintf("%s:%d:%d %s", w.file.path, p.Line, p.Column, short),
		Package: w.dir, File: w.file.path, Line: p.Line, Col: p.Column,
		Function: w.function, Operator: operator, Change: oneLine(change), Source: lineOf(w.file.text, p.Line),
		before: lineOf(w.file.text, p.Line-1), runs: w.runs(at), patch: map[string][]byte{w.file.path: text},
	})
}

func (w *walker) runs(at token.Pos) position {
	for _, h := range w.heads {
		if h.from <= at && at < h.to {
			at = h.start
		}
	}
	p := w.at.Position(at)
	return position{p.Line, p.Column}
}

func lineOf(text []byte, line int) string {
	lines := bytes.Split(text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	return string(bytes.TrimSpace(lines[line-1]))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// brief is the text in one line, cut where it gets long.
func brief(s string) string {
	const longest = 48
	r := []rune(oneLine(s))
	if len(r) <= longest {
		return string(r)
	}
	return string(r[:longest-1]) + "…"
}
