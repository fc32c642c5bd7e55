package main

import (
	"go/ast"
	"go/token"
	"strings"
)

// statements leaves statements out, one at a time.
func (w *walker) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE { // without its declaration nothing would compile
				w.leaveOut(opStatement, s)
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt:
			w.leaveOut(opStatement, s)
		case *ast.ReturnStmt, *ast.BranchStmt:
			if !w.lasts[s] {
				w.leaveOut(opEarlyExit, s)
			}
		}
	}
}

func (w *walker) leaveOut(operator string, s ast.Stmt) {
	text := w.text(s)
	w.add(operator, s.Pos(), "without "+brief(text), "without "+text, w.replace(s, ""))
}

// assigned leaves out one part of an assignment of several, by giving it the value that it has, and turns += and its
// like round.
func (w *walker) assigned(a *ast.AssignStmt) {
	if a.Tok != token.ASSIGN && a.Tok != token.DEFINE && w.numeric(a.Lhs[0]) {
		w.swap(a.Tok, a.TokPos, a)
	}
	if a.Tok != token.ASSIGN || len(a.Lhs) < 2 || len(a.Lhs) != len(a.Rhs) {
		return
	}
	for i, left := range a.Lhs {
		text := w.text(left)
		if text == "_" {
			continue
		}
		w.add(opStatement, left.Pos(), "without "+brief(text+" = "+w.text(a.Rhs[i])),
			"without "+text+" = "+w.text(a.Rhs[i])+" of "+w.text(a), w.replace(a.Rhs[i], text))
	}
}

// cases empties and removes the cases of a switch, and negates those that are conditions.
func (w *walker) cases(sw *ast.SwitchStmt) {
	clauses := make([]*ast.CaseClause, 0, len(sw.Body.List))
	hasDefault := false
	for _, s := range sw.Body.List {
		if c, ok := s.(*ast.CaseClause); ok {
			clauses = append(clauses, c)
			w.heads = append(w.heads, head{c.Case, c.Colon, sw.Switch})
			hasDefault = hasDefault || c.List == nil
		}
	}
	for i, c := range clauses {
		if sw.Tag == nil {
			for _, e := range c.List {
				w.condition(e)
			}
		}
		w.emptied(c)
		// Where nothing else in the switch takes over, a case removed is a case emptied.
		takenOver := hasDefault || sw.Tag == nil && i < len(clauses)-1
		w.removed(c, takenOver)
	}
}

// headOf is a case without its body.
func (w *walker) headOf(c *ast.CaseClause) string {
	return string(w.file.text[w.offset(c.Case):w.offset(c.Colon)])
}

func (w *walker) emptied(c *ast.CaseClause) {
	if len(c.Body) == 0 {
		return
	}
	first, last := w.offset(c.Body[0].Pos()), w.offset(c.Body[len(c.Body)-1].End())
	w.add(opCaseBody, c.Body[0].Pos(), brief(w.headOf(c))+" emptied",
		w.headOf(c)+" emptied: "+w.bodyOf(c), edit{first, last, ""})
}

// bodyOf names a case by how its body begins: the same head may stand in several switches of a function.
func (w *walker) bodyOf(c *ast.CaseClause) string {
	if len(c.Body) == 0 {
		return "nothing"
	}
	begin, _, _ := strings.Cut(w.text(c.Body[0]), "\n")
	return begin
}

func (w *walker) removed(c *ast.CaseClause, takenOver bool) {
	if c.List == nil || len(c.Body) == 0 && !takenOver {
		return
	}
	if takenOver {
		w.add(opCase, c.Case, brief(w.headOf(c))+" removed", w.headOf(c)+" removed: "+w.bodyOf(c), w.replace(c, ""))
	}
	if len(c.List) < 2 {
		return
	}
	for i, e := range c.List {
		cut := edit{w.offset(e.Pos()), 0, ""}
		if i < len(c.List)-1 {
			cut.end = w.offset(c.List[i+1].Pos())
		} else {
			cut.start, cut.end = w.offset(c.List[i-1].End()), w.offset(e.End())
		}
		w.add(opCase, e.Pos(), "case without "+brief(w.text(e)),
			w.headOf(c)+" without "+w.text(e)+": "+w.bodyOf(c), cut)
	}
}
