package keys

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Object is a mapping with known keys, read into a T.
type Object[T any] struct {
	Fields []Field[T]
	// later are keys that the design names and that do not work yet, with what to do instead.
	Later map[string]string
}

// Field is one known key of an object.
type Field[T any] struct {
	key     string
	Doc     string
	example string // not empty: the key must be there, written for example so
	words   string // the default in words, where no value can say it
	preset  any    // the default as JSON has it; nil: none
	// read reads the value into the draft; missing fills in what an unwritten key means.
	read    func(r *Reader, n Node, ok bool, into *T)
	missing func(owner Spot, into *T)
	schema  func() *Schema
}

// Must is a key that has to be there, written for example as the example.
func Must[T, V any](key, example, doc string, s Shape[V], of func(*T) *At[V]) Field[T] {
	f := May(key, doc, s, of)
	f.example = example
	f.missing = func(owner Spot, into *T) { *of(into) = At[V]{Spot: owner.Under(key), How: Broken} }
	return f
}

// May is a key that can be left out and then means nothing, or what a compiler makes of it.
func May[T, V any](key, doc string, s Shape[V], of func(*T) *At[V]) Field[T] {
	return Field[T]{
		key: key, Doc: doc, schema: s.Schema,
		read: func(r *Reader, n Node, ok bool, into *T) {
			v := At[V]{Spot: n.Spot, How: Broken}
			if ok {
				if v.Value, ok = s.Read(r, n); ok {
					v.How = Given
				}
			}
			*of(into) = v
		},
		missing: func(owner Spot, into *T) { *of(into) = At[V]{Spot: owner.Under(key)} },
	}
}

// Or is a key with a default.
func Or[T, V any](key string, otherwise V, doc string, s Scalar[V], of func(*T) *At[V]) Field[T] {
	f := May(key, doc, s, of)
	f.preset = s.Format(otherwise)
	f.missing = func(owner Spot, into *T) {
		*of(into) = At[V]{Spot: owner.Under(key), Value: otherwise, How: Preset}
	}
	return f
}

// Part is an object within an object; left out, it has its keys' defaults.
func Part[T, V any](key, doc string, o Object[V], of func(*T) *At[V]) Field[T] {
	f := May(key, doc, o, of)
	f.missing = func(owner Spot, into *T) {
		v := At[V]{Spot: owner.Under(key), How: Preset}
		o.fill(v.Spot, &v.Value)
		*of(into) = v
	}
	return f
}

// Said sets the default in words.
func (f Field[T]) Said(words string) Field[T] {
	f.words = words
	return f
}

func (o Object[T]) keys() []string {
	keys := make([]string, len(o.Fields))
	for i, f := range o.Fields {
		keys[i] = f.key
	}
	return keys
}

// fill gives every field what an unwritten key means.
func (o Object[T]) fill(owner Spot, into *T) {
	for _, f := range o.Fields {
		f.missing(owner, into)
	}
}

// Read implements Shape.
func (o Object[T]) Read(r *Reader, n Node) (T, bool) {
	var v T
	o.fill(n.Spot, &v)
	if n.Form != FormMapping && n.Form != formEmpty {
		r.Add(n.Spot, "is "+string(n.Form)+"; a mapping is wanted", DidYouMean("", o.keys()))
		return v, false
	}
	seen := map[string]bool{}
	for _, p := range n.pairs {
		i := slices.IndexFunc(o.Fields, func(f Field[T]) bool { return f.key == p.key })
		if i < 0 {
			o.unknown(r, n, p)
			continue
		}
		seen[p.key] = true
		c, ok := r.child(n, p)
		if d, wants := any(&v).(interface{ see(key string, at Spot) }); wants {
			d.see(p.key, c.Spot)
		}
		o.Fields[i].read(r, c, ok, &v)
	}
	complete := true
	for _, f := range o.Fields {
		if f.example != "" && !seen[f.key] {
			r.Add(n.Under(f.key), "is missing", "add "+f.key+": "+f.example)
			complete = false
		}
	}
	return v, complete
}

// unknown reports a key that is not in the table.
func (o Object[T]) unknown(r *Reader, n Node, p pair) {
	s := Spot{Place: p.where, path: joinPath(n.path, p.key)}
	if r.full() { // looking for the key that was meant takes long, and the hint would not be shown
		return
	}
	if instead, ok := o.Later[p.key]; ok {
		r.Add(s, "is not available yet", instead)
		return
	}
	if _, near := Nearest(p.key, o.keys()); !near {
		if home, ok := r.homes.of(p.key, n.path); ok {
			r.Add(s, "unknown key", p.key+" belongs in "+home)
			return
		}
	}
	hint := DidYouMean(p.key, o.keys())
	if len(o.Fields) == 0 {
		hint = "there are no keys here: write {}"
	}
	r.Add(s, "unknown key", hint)
}

// Schema implements Shape.
func (o Object[T]) Schema() *Schema {
	s := &Schema{Type: "object", Properties: map[string]*Schema{}, AdditionalProperties: false, Later: o.Later}
	for _, f := range o.Fields {
		p := f.schema()
		p.Description, p.Default, p.Words = f.Doc, f.preset, f.words
		s.Properties[f.key] = p
		s.Order = append(s.Order, f.key)
		if f.example != "" {
			s.Required = append(s.Required, f.key)
		}
	}
	if len(s.Required) == 0 {
		s.Type = []string{"object", "null"} // "start:" means "start: {}"
	}
	return s
}

// Mapping is a mapping from names that the operator chooses.
type Mapping[V any] struct {
	Key  string // what the names stand for, in capitals, as "FLEET"
	Each Shape[V]
	// names is what its keys look like; zero: as the names of things do.
	Names KeyForm
}

// KeyForm is what the keys of a mapping look like.
type KeyForm struct {
	Noun, Pattern string // as "the name of a header", and a regular expression of the whole
}

// judge says what is wrong with a key.
func (k KeyForm) judge(key string) *Flaw {
	if k.Pattern == "" {
		_, bad := parseName(key)
		return bad
	}
	if !regexp.MustCompile(k.Pattern).MatchString(key) {
		return Flawf("", "%q is not %s", key, k.Noun)
	}
	return nil
}

// Read implements Shape.
func (m Mapping[V]) Read(r *Reader, n Node) ([]Named[V], bool) {
	if n.Form != FormMapping && n.Form != formEmpty {
		r.Add(n.Spot, "is "+string(n.Form)+"; a mapping of names is wanted", "write {NAME: …}")
		return nil, false
	}
	var out []Named[V]
	for _, p := range n.pairs {
		entry := Named[V]{Spot: Spot{Place: p.where, path: joinPath(n.path, p.key)}, Name: p.key}
		if bad := m.Names.judge(p.key); bad != nil {
			r.Add(entry.Spot, bad.Message, bad.Hint)
		}
		if c, ok := r.child(n, p); ok {
			entry.Value, entry.OK = m.Each.Read(r, c)
		}
		out = append(out, entry)
	}
	return out, true
}

// Schema implements Shape.
func (m Mapping[V]) Schema() *Schema {
	return &Schema{Type: []string{"object", "null"}, AdditionalProperties: m.Each.Schema(), EachKey: m.Key,
		PropertyNames: &Schema{Pattern: cmp.Or(m.Names.Pattern, namePattern)}}
}

// List is a list of values of one shape.
type List[V any] struct {
	Noun string // of one item, as "a check"
	Each Shape[V]
}

// Read implements Shape.
func (l List[V]) Read(r *Reader, n Node) ([]At[V], bool) {
	if n.Form != FormList {
		r.Add(n.Spot, "is "+string(n.Form)+"; a list is wanted", "write [ … ]")
		return nil, false
	}
	if len(n.items) == 0 {
		r.Add(n.Spot, "is an empty list", "name at least "+l.Noun)
		return nil, false
	}
	sound := true
	var out []At[V]
	for i, item := range n.items {
		v := At[V]{Spot: Spot{Place: placeOf(item, n.Place), path: joinPath(n.path, "["+strconv.Itoa(i)+"]")},
			How: Broken}
		if c, ok := r.node(item, v.Spot); ok {
			if v.Value, ok = l.Each.Read(r, c); ok {
				v.How = Given
			}
		}
		sound = sound && v.How == Given
		out = append(out, v)
	}
	return out, sound
}

// Schema implements Shape.
func (l List[V]) Schema() *Schema {
	return &Schema{Type: "array", Items: l.Each.Schema(), MinItems: 1}
}

// Shorthand lets one word stand for a mapping.
type Shorthand[T, V any] struct {
	Long  Shape[T]
	Short Scalar[V]
	Take  func(At[V]) T
}

// Read implements Shape.
func (s Shorthand[T, V]) Read(r *Reader, n Node) (T, bool) {
	if n.Form == FormMapping {
		return s.Long.Read(r, n)
	}
	v, ok := s.Short.Read(r, n)
	if !ok {
		var zero T
		return zero, false
	}
	return s.Take(At[V]{Spot: n.Spot, Value: v, How: Given}), true
}

// Schema implements Shape.
func (s Shorthand[T, V]) Schema() *Schema {
	return &Schema{AnyOf: []*Schema{s.Short.Schema(), s.Long.Schema()}}
}

// OneOf is a mapping with exactly one key, which says of what kind the value is. The bare word means {word: {}}.
type OneOf[T any] struct {
	Noun  string // as "a step"
	Kinds map[string]Shape[T]
	Later map[string]string
}

// Read implements Shape.
func (o OneOf[T]) Read(r *Reader, n Node) (T, bool) {
	var zero T
	word, options := n.Text, Node{Spot: n.Spot, Form: formEmpty}
	if n.Form == FormMapping && len(n.pairs) == 1 {
		p := n.pairs[0]
		c, ok := r.child(n, p)
		if !ok {
			return zero, false
		}
		word, options = p.key, c
		options.Place = p.where
	} else if n.Form != FormText {
		r.Add(n.Spot, "is not "+o.Noun, "write one key in each, of "+strings.Join(o.words(), ", "))
		return zero, false
	}
	kind, ok := o.Kinds[word]
	if !ok {
		bad := o.flaw(word)
		r.Add(options.Spot, bad.Message, bad.Hint)
		return zero, false
	}
	return kind.Read(r, options)
}

func (o OneOf[T]) words() []string { return slices.Sorted(maps.Keys(o.Kinds)) }

func (o OneOf[T]) flaw(word string) *Flaw {
	if instead, ok := o.Later[word]; ok {
		return Flawf(instead, "%s is not available yet", word)
	}
	return Flawf(DidYouMean(word, o.words()), "unknown %s", o.Noun[2:])
}

// Schema implements Shape.
func (o OneOf[T]) Schema() *Schema {
	one := 1
	long := &Schema{Type: "object", Properties: map[string]*Schema{}, AdditionalProperties: false, Later: o.Later,
		MinProperties: &one, MaxProperties: &one}
	for _, w := range o.words() {
		long.Properties[w] = o.Kinds[w].Schema()
		long.Order = append(long.Order, w)
	}
	return &Schema{AnyOf: []*Schema{{Type: "string", Enum: o.words()}, long}}
}

// maxNesting is how deep lists may lie within lists.
const maxNesting = 8

// Recursive is a shape that contains itself. The schema names it under $defs.
type Recursive[V any] struct {
	Ref   string
	Shape func() Shape[V]
}

// Read implements Shape.
func (s Recursive[V]) Read(r *Reader, n Node) (V, bool) {
	if strings.Count(n.path, "[") > maxNesting {
		r.Add(n.Spot, "is nested too deeply", "use fewer levels")
		var zero V
		return zero, false
	}
	return s.Shape().Read(r, n)
}

// Schema implements Shape.
func (s Recursive[V]) Schema() *Schema { return &Schema{Ref: "#/$defs/" + s.Ref} }
