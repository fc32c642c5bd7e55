package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
)

// The kinds of change, as they stand in the table.
const (
	opBoundary   = "boundary"   // > and >=, < and <=
	opEquality   = "equality"   // == and !=
	opLogic      = "logic"      // && and ||
	opCondition  = "condition"  // a condition negated, a ! removed
	opBoolean    = "boolean"    // true and false
	opNumber     = "number"     // an integer one more, one less
	opDuration   = "duration"   // a time doubled, halved
	opArithmetic = "arithmetic" // + and -, * and /, ++ and --
	opMinMax     = "min-max"
	opReason     = "reason"     // a reason returned as none
	opCase       = "case"       // a case, or one of its values, removed
	opCaseBody   = "case-body"  // a case that does nothing
	opStatement  = "statement"  // an assignment or a call left out
	opEarlyExit  = "early-exit" // a return or continue left out
	opHand       = "hand"       // made by hand
)

var swaps = map[token.Token]struct {
	operator string
	to       token.Token
}{
	token.GTR: {opBoundary, token.GEQ}, token.GEQ: {opBoundary, token.GTR},
	token.LSS: {opBoundary, token.LEQ}, token.LEQ: {opBoundary, token.LSS},
	token.EQL: {opEquality, token.NEQ}, token.NEQ: {opEquality, token.EQL},
	token.LAND: {opLogic, token.LOR}, token.LOR: {opLogic, token.LAND},
	token.ADD: {opArithmetic, token.SUB}, token.SUB: {opArithmetic, token.ADD},
	token.MUL: {opArithmetic, token.QUO}, token.QUO: {opArithmetic, token.MUL},
	token.ADD_ASSIGN: {opArithmetic, token.SUB_ASSIGN}, token.SUB_ASSIGN: {opArithmetic, token.ADD_ASSIGN},
	token.MUL_ASSIGN: {opArithmetic, token.QUO_ASSIGN}, token.QUO_ASSIGN: {opArithmetic, token.MUL_ASSIGN},
	token.INC: {opArithmetic, token.DEC}, token.DEC: {opArithmetic, token.INC},
}

// visit notes the mutants of one node, and reports whether those within it are wanted, too.
func (w *walker) visit(n ast.Node) bool {
	if e, ok := n.(ast.Expr); ok && w.scaled(e) {
		return false
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		w.last(n.Type, n.Body)
	case *ast.FuncLit:
		w.last(n.Type, n.Body)
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.UnaryExpr:
		w.negation(n)
	case *ast.Ident:
		w.boolean(n)
	case *ast.BasicLit:
		w.number(n)
	case *ast.CallExpr:
		w.minMax(n)
	case *ast.IfStmt:
		w.condition(n.Cond)
	case *ast.SwitchStmt:
		w.cases(n)
	case *ast.ReturnStmt:
		w.returned(n)
	case *ast.AssignStmt:
		w.assigned(n)
	case *ast.IncDecStmt:
		w.swap(n.Tok, n.TokPos, n)
	case *ast.BlockStmt:
		w.statements(n.List)
	case *ast.CaseClause:
		w.statements(n.Body)
	case *ast.CommClause:
		w.statements(n.Body)
	}
	return true
}

// last notes a function's final return.
func (w *walker) last(kind *ast.FuncType, body *ast.BlockStmt) {
	if kind.Results != nil && body != nil && len(body.List) > 0 {
		w.lasts[body.List[len(body.List)-1]] = true
	}
}

// timelike tells times and durations: one nanosecond more or less is no change to them.
func timelike(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && (named.Obj().Name() == "Duration" || named.Obj().Name() == "Instant")
}

// scaled doubles and halves a constant time, and reports whether the expression is one.
func (w *walker) scaled(e ast.Expr) bool {
	tv := w.info.Types[e]
	if tv.Value == nil || !timelike(tv.Type) || constant.Sign(tv.Value) == 0 || !hasNumber(e) {
		return false
	}
	text := w.text(e)
	for _, factor := range []string{"*2", "/2"} {
		w.add(opDuration, e.Pos(), brief(text)+" → "+factor,
			text+" → ("+text+")"+factor, w.replace(e, "("+text+")"+factor))
	}
	return true
}

func hasNumber(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, ok := n.(*ast.BasicLit)
		found = found || ok
		return true
	})
	return found
}

// swap replaces an operator by its opposite; whole is what it stands in.
func (w *walker) swap(from token.Token, at token.Pos, whole ast.Node) {
	s, ok := swaps[from]
	if !ok {
		return
	}
	i := w.offset(at)
	e := edit{i, i + len(from.String()), s.to.String()}
	text, start := w.file.text, w.offset(whole.Pos())
	after := apply(text[start:w.offset(whole.End())], []edit{{e.start - start, e.end - start, e.text}})
	w.add(s.operator, at, from.String()+" → "+s.to.String(), w.text(whole)+" → "+string(after), e)
}

func (w *walker) numeric(e ast.Expr) bool {
	t := w.info.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

func (w *walker) binary(b *ast.BinaryExpr) {
	switch swaps[b.Op].operator {
	case "":
	case opLogic:
		w.logic(b)
	case opArithmetic:
		if w.numeric(b) { // text can be joined, but not subtracted
			w.swap(b.Op, b.OpPos, b)
		}
	default:
		w.swap(b.Op, b.OpPos, b)
	}
}

// logic swaps && and ||, and sets parentheses so that nothing else changes.
func (w *walker) logic(b *ast.BinaryExpr) {
	to := swaps[b.Op].to
	edits := []edit{{w.offset(b.OpPos), w.offset(b.OpPos) + len(b.Op.String()), to.String()}}
	wrap := func(n ast.Expr) {
		edits = append(edits, edit{w.offset(n.Pos()), w.offset(n.Pos()), "("}, edit{
			w.offset(n.End()), w.offset(n.End()), ")",
		})
	}
	if to == token.LOR { // it binds less than what may stand around it
		wrap(b)
	}
	for _, side := range []ast.Expr{b.X, b.Y} {
		if inner, ok := side.(*ast.BinaryExpr); ok && inner.Op == token.LOR && to == token.LAND {
			wrap(side)
		}
	}
	w.add(opLogic, b.OpPos, b.Op.String()+" → "+to.String(), w.text(b)+" → "+to.String(), edits...)
}

// condition negates a condition, unless another operator makes the same of it.
func (w *walker) condition(e ast.Expr) {
	switch c := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if c.Op == token.NOT {
			return // negation
		}
	case *ast.BinaryExpr:
		if c.Op == token.EQL || c.Op == token.NEQ {
			return // equality
		}
	}
	text := w.text(e)
	w.add(opCondition, e.Pos(), "!("+brief(text)+")", text+" → !("+oneLine(text)+")", w.replace(e, "!("+text+")"))
}

func (w *walker) negation(u *ast.UnaryExpr) {
	if u.Op != token.NOT {
		return
	}
	i := w.offset(u.OpPos)
	w.add(opCondition, u.OpPos, brief(w.text(u))+" → without !", w.text(u)+" → "+w.text(u.X), edit{i, i + 1, ""})
}

func (w *walker) boolean(id *ast.Ident) {
	opposite := map[string]string{"true": "false", "false": "true"}[id.Name]
	if opposite == "" || w.info.Uses[id] != types.Universe.Lookup(id.Name) {
		return
	}
	w.add(opBoolean, id.Pos(), id.Name+" → "+opposite,
		w.inLine(id.Pos())+": "+id.Name+" → "+opposite, w.replace(id, opposite))
}

// inLine is the line that the place lies in: a literal alone says too little about itself.
func (w *walker) inLine(p token.Pos) string { return lineOf(w.file.text, w.at.Line(p)) }

func (w *walker) number(lit *ast.BasicLit) {
	if lit.Kind != token.INT || timelike(w.info.TypeOf(lit)) {
		return
	}
	n, err := strconv.ParseInt(lit.Value, 0, 32)
	if err != nil {
		return // one more or less of so much is no change
	}
	for _, m := range []int64{n + 1, n - 1} {
		to := strconv.FormatInt(m, 10)
		text := to
		if m < 0 {
			text = "(" + to + ")" // x--1 would be another thing
		}
		w.add(opNumber, lit.Pos(), lit.Value+" → "+to,
			w.inLine(lit.Pos())+": "+lit.Value+" → "+to, w.replace(lit, text))
	}
}

func (w *walker) minMax(call *ast.CallExpr) {
	id, ok := call.Fun.(*ast.Ident)
	if !ok {
		return
	}
	to := map[string]string{"min": "max", "max": "min"}[id.Name]
	if _, builtin := w.info.Uses[id].(*types.Builtin); to == "" || !builtin {
		return
	}
	w.add(opMinMax, id.Pos(), id.Name+" → "+to, w.text(call)+" → "+to, w.replace(id, to))
}

// returned takes a reason back, and negates what is returned as true or false.
func (w *walker) returned(r *ast.ReturnStmt) {
	for _, e := range r.Results {
		tv := w.info.Types[e]
		if tv.Value != nil && tv.Value.Kind() != constant.String {
			continue
		}
		if named, ok := types.Unalias(tv.Type).(*types.Named); ok && named.Obj().Name() == "Reason" {
			w.add(opReason, e.Pos(), brief(w.text(e))+` → ""`, "return "+w.text(e)+` → ""`, w.replace(e, `""`))
		}
		if b, ok := tv.Type.Underlying().(*types.Basic); ok && b.Info()&types.IsBoolean != 0 {
			w.condition(e)
		}
	}
}
