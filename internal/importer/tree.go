package importer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// value is a piece of a file, which knows where it stands and what of it was read. A nil one is not there, and reads as
// nothing.
type value struct {
	file  string
	line  int
	path  string
	text  string // of a scalar
	pairs []*pair
	items []*value
	many  bool // a list
	read  bool // it was looked at; for a mapping or list that says nothing about what is in it
}

type pair struct {
	key   string
	value *value
	taken bool
}

// parse reads a file of one document.
func parse(s Source) (*value, error) {
	if len(s.Data) > largest {
		return nil, fmt.Errorf("%s: it is larger than 1 MiB", s.Name)
	}
	file, err := parser.ParseBytes(s.Data, 0)
	if err != nil {
		// without the lines: there may be a secret in them
		return nil, fmt.Errorf("%s: %s", s.Name, yaml.FormatError(err, false, false))
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType && doc.Body.Type() != ast.DirectiveType {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) != 1 {
		return nil, fmt.Errorf("%s: one document is wanted, and it has %d", s.Name, len(bodies))
	}
	t := tree{file: s.Name, anchors: map[string]ast.Node{}, left: new(mostValues)}
	v := t.value(bodies[0], "", 0)
	if *t.left <= 0 {
		return nil, fmt.Errorf("%s: it has more than %d values, when what its aliases refer to is counted each time; "+
			"write out fewer of them", s.Name, mostValues)
	}
	return v, nil
}

// tree follows anchors on its way through a file.
type tree struct {
	file    string
	anchors map[string]ast.Node
	left    *int // values that may still be made: aliases of aliases multiply
}

// largest is a file's size in bytes, and mostValues are its values; no blueprint or policy comes near.
const (
	largest    = 1 << 20
	mostValues = 100_000
)

// deepest ends files that refer to themselves.
const deepest = 60

func (t tree) value(n ast.Node, path string, depth int) *value {
	v := &value{file: t.file, path: path}
	if token := n.GetToken(); token != nil && token.Position != nil {
		v.line = token.Position.Line
	}
	if *t.left--; depth > deepest || *t.left <= 0 {
		return v
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		t.anchors[n.Name.String()] = n.Value
		return t.value(n.Value, path, depth+1)
	case *ast.AliasNode:
		if to, ok := t.anchors[n.Value.String()]; ok {
			return t.value(to, path, depth+1)
		}
	case *ast.TagNode:
		return t.value(n.Value, path, depth+1)
	case *ast.MappingNode:
		for _, p := range n.Values {
			t.pair(v, p, depth)
		}
	case *ast.MappingValueNode:
		t.pair(v, n, depth)
	case *ast.SequenceNode:
		v.many = true
		for i, item := range n.Values {
			v.items = append(v.items, t.value(item, path+"["+strconv.Itoa(i)+"]", depth+1))
		}
	case *ast.LiteralNode:
		v.text = n.Value.Value
	case *ast.StringNode:
		v.text = n.Value
	case *ast.NullNode:
	default:
		v.text = n.GetToken().Value
	}
	return v
}

func (t tree) pair(v *value, n *ast.MappingValueNode, depth int) {
	if n.Key.Type() == ast.MergeKeyType {
		v.pairs = append(v.pairs, t.value(n.Value, v.path, depth+1).pairs...)
		return
	}
	key := n.Key.GetToken().Value
	path := strings.TrimPrefix(v.path+"."+key, ".")
	child := t.value(n.Value, path, depth+1)
	child.line = n.Key.GetToken().Position.Line
	v.pairs = append(v.pairs, &pair{key: key, value: child})
	if len(v.pairs) == 1 {
		v.line = child.line
	}
}

// get takes the value under a key; nil: there is none.
func (v *value) get(keys ...string) *value {
	for _, key := range keys {
		if v == nil {
			return nil
		}
		v.read = true
		var found *value
		for _, p := range v.pairs {
			if p.key == key {
				p.taken, found = true, p.value
			}
		}
		v = found
	}
	return v
}

// has reports whether there is something under a key, without taking it.
func (v *value) has(key string) bool {
	if v == nil {
		return false
	}
	for _, p := range v.pairs {
		if p.key == key {
			return true
		}
	}
	return false
}

// str takes a text; empty: there is none, or something else stands there.
func (v *value) str() string {
	if v == nil || len(v.pairs) > 0 || v.many {
		return ""
	}
	v.read = true
	return v.text
}

// strs takes a text, or a list of texts.
func (v *value) strs() []string {
	if v == nil {
		return nil
	}
	if !v.many {
		if s := v.str(); s != "" {
			return []string{s}
		}
		return nil
	}
	v.read = true
	var out []string
	for _, item := range v.items {
		if s := item.str(); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// list takes a list's items.
func (v *value) list() []*value {
	if v == nil || !v.many {
		return nil
	}
	v.read = true
	return v.items
}

// isTrue takes a truth.
func (v *value) isTrue() bool {
	return strings.EqualFold(v.str(), "true") || strings.EqualFold(v.str(), "yes")
}

// number takes a whole number that is positive; otherwise where there is none. A note says what stands there instead.
func (m *mover) number(v *value, otherwise int) int {
	if v == nil {
		return otherwise
	}
	n, err := strconv.Atoi(v.str())
	if err != nil || n < 0 {
		m.note(Lost, v, "%s is no number; %d is taken", v.path, otherwise)
		return otherwise
	}
	return n
}

// leftovers names everything that was not read. why says more of some keys.
func (m *mover) leftovers(v *value, why map[string]string) {
	if v == nil {
		return
	}
	for _, p := range v.pairs {
		if p.taken && (p.value.read || p.value.empty()) {
			m.leftovers(p.value, why)
			continue
		}
		m.lost(p.key, p.value, why)
	}
	for _, item := range v.items {
		if item.read || item.empty() {
			m.leftovers(item, why)
			continue
		}
		m.lost(item.text, item, why)
	}
}

func (v *value) empty() bool { return v.text == "" && len(v.pairs) == 0 && len(v.items) == 0 }

func (m *mover) lost(key string, v *value, why map[string]string) {
	reason, known := why[key]
	if !known {
		reason = "hale has nothing like it"
	}
	m.note(Lost, v, "%s: %s", v.path, reason)
}
