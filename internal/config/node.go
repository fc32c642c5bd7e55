package config

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// reader turns nodes into drafts and collects the problems on the way.
type reader struct {
	*finder
	// homes says for each known key where it belongs, to help with one in the wrong place.
	homes keyHomes
}

// form is what a node looks like, in the words of a person who wrote it.
type form string

const (
	formText    form = "text"
	formNumber  form = "a number"
	formBool    form = "true or false"
	formEmpty   form = "empty"
	formMapping form = "a mapping"
	formList    form = "a list"
)

// node is a piece of the file with its spot.
type node struct {
	spot
	form  form
	text  string     // of a scalar
	pairs []pair     // of a mapping, in order, each key once
	items []ast.Node // of a list
}

// pair is one entry of a mapping.
type pair struct {
	key   string
	where place // of the key
	value ast.Node
}

// file reads one file. False: there is nothing usable; the problem is reported.
func (r *reader) file(s source) (document, bool) {
	top := spot{place: place{file: s.name, line: 1, column: 1}}
	body, ok := r.parse(s, top)
	if !ok {
		return document{}, false
	}
	n, ok := r.node(body, top)
	if !ok {
		return document{}, false
	}
	return documentShape().read(r, n)
}

// parse hands the file to the YAML parser and returns its one document.
func (r *reader) parse(s source, top spot) (ast.Node, bool) {
	if !utf8.Valid(s.data) {
		r.add(top, "is not UTF-8 text", "save it as UTF-8")
		return nil, false
	}
	if len(s.data) > maxFile {
		r.add(top, "is larger than "+formatSize(maxFile), "spread it over several files in a folder")
		return nil, false
	}
	tokens := lexer.Tokenize(string(s.data))
	if t := tooDeep(tokens); t != nil {
		r.add(spot{place: place{file: s.name, line: max(1, t.Position.Line), column: max(1, t.Position.Column)}},
			"is nested too deeply", "use fewer levels")
		return nil, false
	}
	if t := tooWide(tokens); t != nil {
		r.add(spot{place: place{file: s.name, line: max(1, t.Position.Line), column: max(1, t.Position.Column)}},
			fmt.Sprintf("is entry %d of one mapping", mostEntries+1), "spread it over several files in a folder")
		return nil, false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err, top)
		return nil, false
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.DirectiveType && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch len(bodies) {
	case 0:
		r.add(top, "is empty", "hale init writes a file to start from")
		return nil, false
	case 1:
		return bodies[0], true
	}
	r.add(spot{place: placeOf(bodies[1], top.place)}, "a second document begins here",
		"put it into a file of its own; a folder of files is read as one")
	return nil, false
}

// mostEntries are the entries of one mapping: the parser's time grows with their square.
const mostEntries = 5_000

// tooWide returns the token in which a mapping gets more entries than any configuration has; nil: there is none.
func tooWide(tokens token.Tokens) *token.Token {
	type mapping struct{ column, entries int }
	// of those in flow style, the column is of no account: they lie to the right of all in block style
	var open []mapping
	flow := 0
	for i, t := range tokens {
		switch t.Type {
		case token.MappingStartType:
			flow++
			open = append(open, mapping{column: math.MaxInt})
		case token.MappingEndType:
			flow--
			open = open[:max(0, len(open)-1)]
		case token.MappingValueType:
			column := math.MaxInt
			if flow <= 0 && i > 0 {
				column = tokens[i-1].Position.Column
			}
			for len(open) > 0 && open[len(open)-1].column > column {
				open = open[:len(open)-1]
			}
			if len(open) == 0 || open[len(open)-1].column < column {
				open = append(open, mapping{column: column})
			}
			if open[len(open)-1].entries++; open[len(open)-1].entries > mostEntries {
				return t
			}
		default:
		}
	}
	return nil
}

// tooDeep returns the first token that is nested deeper than any configuration; nil: there is none. The parser recurses
// per level, and its time grows with the square of the depth. In block style each level needs a column.
func tooDeep(tokens token.Tokens) *token.Token {
	const flowLevels, columns, marks = 100, 1000, 10
	flow, marked := 0, 0
	for _, t := range tokens {
		deep := false
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
			deep = flow > flowLevels
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			deep = flow <= 0 && t.Position.Column > columns
		case token.TagType, token.AnchorType:
			marked += 3
			deep = marked > marks
		}
		if deep {
			return t
		}
		marked = max(0, marked-1)
	}
	return nil
}

// syntax reports what the YAML parser found. It stops at the first error, so there is one.
func (r *reader) syntax(err error, top spot) {
	var e yaml.Error
	if !errors.As(err, &e) {
		r.add(top, "is not YAML: "+firstLine(err.Error()), "")
		return
	}
	hint := ""
	if t := e.GetToken(); t != nil && t.Position != nil {
		top.line, top.column = max(1, t.Position.Line), max(1, t.Position.Column)
		if strings.HasPrefix(strings.TrimLeft(t.Origin, "\n "), "\t") {
			hint = "indent with spaces, not with tabs"
		}
	}
	r.add(top, "is not YAML: "+firstLine(e.GetMessage()), hint)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// node looks at what the parser found. The spot is where to report when the value spreads over lines of its own.
// False: it is not usable; the problem is reported.
func (r *reader) node(n ast.Node, s spot) (node, bool) {
	if plainOnOneLine(n) {
		s.place = placeOf(n, s.place)
	}
	out := node{spot: s}
	switch v := n.(type) {
	case nil, *ast.NullNode:
		out.form = formEmpty
	case *ast.StringNode:
		out.form, out.text = formText, v.Value
	case *ast.LiteralNode:
		out.form, out.text = formText, v.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.form, out.text = formNumber, n.GetToken().Value
	case *ast.BoolNode:
		out.form, out.text = formBool, v.GetToken().Value
	case *ast.SequenceNode:
		out.form, out.items = formList, v.Values
	case *ast.MappingNode:
		return r.mapping(v.Values, s)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{v}, s)
	case *ast.AnchorNode, *ast.AliasNode:
		r.add(s, "anchors and aliases are not available yet", "write the value out")
		return out, false
	default:
		r.add(s, "YAML tags and other special forms are not supported", "write a plain value")
		return out, false
	}
	return out, true
}

// mapping reads the entries of a mapping; a key that comes twice is reported at its second place.
func (r *reader) mapping(values []*ast.MappingValueNode, s spot) (node, bool) {
	out := node{spot: s, form: formMapping}
	first := make(map[string]place, len(values))
	for _, v := range values {
		where := placeOf(v.Key, s.place)
		key, ok := keyText(v.Key)
		if !ok { // what a merge key would add is not known, so nothing can be said of the rest
			r.add(spot{place: where, path: s.path}, "merge keys and other special keys are not available yet",
				"write the entries out")
			return out, false
		}
		if there, twice := first[key]; twice {
			r.add(spot{place: where, path: joinPath(s.path, key)},
				fmt.Sprintf("is there already, at line %d", there.line), "keep one of the two")
			continue
		}
		first[key] = where
		out.pairs = append(out.pairs, pair{key: key, where: where, value: v.Value})
	}
	return out, true
}

// keyText returns the text of a plain key.
func keyText(k ast.MapKeyNode) (string, bool) {
	switch v := k.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return v.GetToken().Value, true
	}
	return "", false
}

// child returns the node of a mapping's entry.
func (r *reader) child(parent node, p pair) (node, bool) {
	return r.node(p.value, spot{place: p.where, path: joinPath(parent.path, p.key)})
}

// plainOnOneLine reports whether a problem with the value is best shown at the value itself. A mapping or list that
// spreads over lines is shown at its key.
func plainOnOneLine(n ast.Node) bool {
	switch v := n.(type) {
	case nil:
		return false
	case *ast.MappingNode:
		return v.IsFlowStyle
	case *ast.SequenceNode:
		return v.IsFlowStyle
	case *ast.MappingValueNode, *ast.NullNode:
		return false
	}
	return true
}

// placeOf returns where a node begins.
func placeOf(n ast.Node, fallback place) place {
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return placeOf(v.Values[0].Key, fallback)
		}
	case *ast.MappingValueNode:
		return placeOf(v.Key, fallback)
	case nil:
		return fallback
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return fallback
	}
	fallback.line, fallback.column = max(1, t.Position.Line), max(1, t.Position.Column)
	return fallback
}
