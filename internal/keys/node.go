package keys

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

// Reader turns nodes into drafts and collects the problems on the way.
type Reader struct {
	*Finder
	// homes says for each known key where it belongs, to help with one in the wrong place.
	homes keyHomes
}

// NewReader returns a reader of what the schema describes, which hands its problems to f.
func NewReader(f *Finder, s *Schema) *Reader { return &Reader{Finder: f, homes: homesOf(s)} }

// Form is what a node looks like, in the words of a person who wrote it.
type Form string

// What a node can look like.
const (
	FormText    Form = "text"
	FormNumber  Form = "a number"
	FormBool    Form = "true or false"
	formEmpty   Form = "empty"
	FormMapping Form = "a mapping"
	FormList    Form = "a list"
)

// Node is a piece of the file with its spot.
type Node struct {
	Spot
	Form  Form
	Text  string     // of a scalar
	pairs []pair     // of a mapping, in order, each key once
	items []ast.Node // of a list
}

// pair is one entry of a mapping.
type pair struct {
	key   string
	where Place // of the key
	value ast.Node
}

// Source is one file of a configuration.
type Source struct {
	Name string
	Data []byte
}

// File reads one file. False: there is nothing usable; the problem is reported.
func (r *Reader) File(s Source) (Node, bool) {
	top := Spot{Place: Place{File: s.Name, Line: 1, column: 1}}
	body, ok := r.parse(s, top)
	if !ok {
		return Node{}, false
	}
	return r.node(body, top)
}

// parse hands the file to the YAML parser and returns its one document.
func (r *Reader) parse(s Source, top Spot) (ast.Node, bool) {
	if !utf8.Valid(s.Data) {
		r.Add(top, "is not UTF-8 text", "save it as UTF-8")
		return nil, false
	}
	if len(s.Data) > maxFile {
		r.Add(top, "is larger than "+FormatSize(maxFile), "spread it over several files in a folder")
		return nil, false
	}
	tokens := lexer.Tokenize(string(s.Data))
	if t := tooDeep(tokens); t != nil {
		r.Add(Spot{Place: Place{File: s.Name, Line: max(1, t.Position.Line), column: max(1, t.Position.Column)}},
			"is nested too deeply", "use fewer levels")
		return nil, false
	}
	if t := tooWide(tokens); t != nil {
		r.Add(Spot{Place: Place{File: s.Name, Line: max(1, t.Position.Line), column: max(1, t.Position.Column)}},
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
		r.Add(top, "is empty", "hale init writes a file to start from")
		return nil, false
	case 1:
		return bodies[0], true
	}
	r.Add(Spot{Place: placeOf(bodies[1], top.Place)}, "a second document begins here",
		"put it into a file of its own; a folder of files is read as one")
	return nil, false
}

// maxFile is how large one file may be, in bytes.
const maxFile = 1 << 20

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
func (r *Reader) syntax(err error, top Spot) {
	var e yaml.Error
	if !errors.As(err, &e) {
		r.Add(top, "is not YAML: "+firstLine(err.Error()), "")
		return
	}
	hint := ""
	if t := e.GetToken(); t != nil && t.Position != nil {
		top.Line, top.column = max(1, t.Position.Line), max(1, t.Position.Column)
		if strings.HasPrefix(strings.TrimLeft(t.Origin, "\n "), "\t") {
			hint = "indent with spaces, not with tabs"
		}
	}
	r.Add(top, "is not YAML: "+firstLine(e.GetMessage()), hint)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// node looks at what the parser found. The spot is where to report when the value spreads over lines of its own.
// False: it is not usable; the problem is reported.
func (r *Reader) node(n ast.Node, s Spot) (Node, bool) {
	if plainOnOneLine(n) {
		s.Place = placeOf(n, s.Place)
	}
	out := Node{Spot: s}
	switch v := n.(type) {
	case nil, *ast.NullNode:
		out.Form = formEmpty
	case *ast.StringNode:
		out.Form, out.Text = FormText, v.Value
	case *ast.LiteralNode:
		out.Form, out.Text = FormText, v.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.Form, out.Text = FormNumber, n.GetToken().Value
	case *ast.BoolNode:
		out.Form, out.Text = FormBool, v.GetToken().Value
	case *ast.SequenceNode:
		out.Form, out.items = FormList, v.Values
	case *ast.MappingNode:
		return r.mapping(v.Values, s)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{v}, s)
	case *ast.AnchorNode, *ast.AliasNode:
		r.Add(s, "anchors and aliases are not available yet", "write the value out")
		return out, false
	default:
		r.Add(s, "YAML tags and other special forms are not supported", "write a plain value")
		return out, false
	}
	return out, true
}

// mapping reads the entries of a mapping; a key that comes twice is reported at its second place.
func (r *Reader) mapping(values []*ast.MappingValueNode, s Spot) (Node, bool) {
	out := Node{Spot: s, Form: FormMapping}
	first := make(map[string]Place, len(values))
	for _, v := range values {
		where := placeOf(v.Key, s.Place)
		key, ok := keyText(v.Key)
		if !ok { // what a merge key would add is not known, so nothing can be said of the rest
			r.Add(Spot{Place: where, path: s.path}, "merge keys and other special keys are not available yet",
				"write the entries out")
			return out, false
		}
		if there, twice := first[key]; twice {
			r.Add(Spot{Place: where, path: joinPath(s.path, key)},
				fmt.Sprintf("is there already, at line %d", there.Line), "keep one of the two")
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
func (r *Reader) child(parent Node, p pair) (Node, bool) {
	return r.node(p.value, Spot{Place: p.where, path: joinPath(parent.path, p.key)})
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
func placeOf(n ast.Node, fallback Place) Place {
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
	fallback.Line, fallback.column = max(1, t.Position.Line), max(1, t.Position.Column)
	return fallback
}
