package config

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// object is a mapping with known keys, read into a T.
type object[T any] struct {
	fields []field[T]
	// later are keys that the design names and that do not work yet, with what to do instead.
	later map[string]string
}

// field is one known key of an object.
type field[T any] struct {
	key     string
	doc     string
	example string // not empty: the key must be there, written for example so
	words   string // the default in words, where no value can say it
	preset  any    // the default as JSON has it; nil: none
	// read reads the value into the draft; missing fills in what an unwritten key means.
	read    func(r *reader, n node, ok bool, into *T)
	missing func(owner spot, into *T)
	schema  func() *schema
}

// must is a key that has to be there, written for example as the example.
func must[T, V any](key, example, doc string, s shape[V], of func(*T) *at[V]) field[T] {
	f := may(key, doc, s, of)
	f.example = example
	f.missing = func(owner spot, into *T) { *of(into) = at[V]{spot: owner.under(key), how: broken} }
	return f
}

// may is a key that can be left out and then means nothing, or what a compiler makes of it.
func may[T, V any](key, doc string, s shape[V], of func(*T) *at[V]) field[T] {
	return field[T]{
		key: key, doc: doc, schema: s.schema,
		read: func(r *reader, n node, ok bool, into *T) {
			v := at[V]{spot: n.spot, how: broken}
			if ok {
				if v.value, ok = s.read(r, n); ok {
					v.how = given
				}
			}
			*of(into) = v
		},
		missing: func(owner spot, into *T) { *of(into) = at[V]{spot: owner.under(key)} },
	}
}

// or is a key with a default.
func or[T, V any](key string, otherwise V, doc string, s scalar[V], of func(*T) *at[V]) field[T] {
	f := may(key, doc, s, of)
	f.preset = s.format(otherwise)
	f.missing = func(owner spot, into *T) {
		*of(into) = at[V]{spot: owner.under(key), value: otherwise, how: preset}
	}
	return f
}

// part is an object within an object; left out, it has its keys' defaults.
func part[T, V any](key, doc string, o object[V], of func(*T) *at[V]) field[T] {
	f := may(key, doc, o, of)
	f.missing = func(owner spot, into *T) {
		v := at[V]{spot: owner.under(key), how: preset}
		o.fill(v.spot, &v.value)
		*of(into) = v
	}
	return f
}

// said sets the default in words.
func (f field[T]) said(words string) field[T] {
	f.words = words
	return f
}

func (o object[T]) keys() []string {
	keys := make([]string, len(o.fields))
	for i, f := range o.fields {
		keys[i] = f.key
	}
	return keys
}

// fill gives every field what an unwritten key means.
func (o object[T]) fill(owner spot, into *T) {
	for _, f := range o.fields {
		f.missing(owner, into)
	}
}

func (o object[T]) read(r *reader, n node) (T, bool) {
	var v T
	o.fill(n.spot, &v)
	if n.form != formMapping && n.form != formEmpty {
		r.add(n.spot, "is "+string(n.form)+"; a mapping is wanted", didYouMean("", o.keys()))
		return v, false
	}
	seen := map[string]bool{}
	for _, p := range n.pairs {
		i := slices.IndexFunc(o.fields, func(f field[T]) bool { return f.key == p.key })
		if i < 0 {
			o.unknown(r, n, p)
			continue
		}
		seen[p.key] = true
		c, ok := r.child(n, p)
		o.fields[i].read(r, c, ok, &v)
	}
	complete := true
	for _, f := range o.fields {
		if f.example != "" && !seen[f.key] {
			r.add(n.under(f.key), "is missing", "add "+f.key+": "+f.example)
			complete = false
		}
	}
	return v, complete
}

// unknown reports a key that is not in the table.
func (o object[T]) unknown(r *reader, n node, p pair) {
	s := spot{place: p.where, path: joinPath(n.path, p.key)}
	if r.full() { // to look for what was meant takes long, and nobody would read it
		return
	}
	if instead, ok := o.later[p.key]; ok {
		r.add(s, "is not available yet", instead)
		return
	}
	if _, near := nearest(p.key, o.keys()); !near {
		if home, ok := r.homes.of(p.key, n.path); ok {
			r.add(s, "unknown key", p.key+" belongs in "+home)
			return
		}
	}
	hint := didYouMean(p.key, o.keys())
	if len(o.fields) == 0 {
		hint = "there are no keys here: write {}"
	}
	r.add(s, "unknown key", hint)
}

func (o object[T]) schema() *schema {
	s := &schema{Type: "object", Properties: map[string]*schema{}, AdditionalProperties: false, later: o.later}
	for _, f := range o.fields {
		p := f.schema()
		p.Description, p.Default, p.words = f.doc, f.preset, f.words
		s.Properties[f.key] = p
		s.order = append(s.order, f.key)
		if f.example != "" {
			s.Required = append(s.Required, f.key)
		}
	}
	if len(s.Required) == 0 {
		s.Type = []string{"object", "null"} // "start:" means "start: {}"
	}
	return s
}

// mapping is a mapping whose keys are names chosen by the operator.
type mapping[V any] struct {
	key  string // what the names stand for, in capitals, as "FLEET"
	each shape[V]
	// names is what its keys look like; zero: as the names of things do.
	names keyForm
}

// keyForm is what the keys of a mapping look like.
type keyForm struct {
	noun, pattern string // as "the name of a header", and a regular expression of the whole
}

// judge says what is wrong with a key.
func (k keyForm) judge(key string) *flaw {
	if k.pattern == "" {
		_, bad := parseName(key)
		return bad
	}
	if !regexp.MustCompile(k.pattern).MatchString(key) {
		return flawf("", "%q is not %s", key, k.noun)
	}
	return nil
}

func (m mapping[V]) read(r *reader, n node) ([]named[V], bool) {
	if n.form != formMapping && n.form != formEmpty {
		r.add(n.spot, "is "+string(n.form)+"; a mapping of names is wanted", "write {NAME: …}")
		return nil, false
	}
	var out []named[V]
	for _, p := range n.pairs {
		entry := named[V]{spot: spot{place: p.where, path: joinPath(n.path, p.key)}, name: p.key}
		if bad := m.names.judge(p.key); bad != nil {
			r.add(entry.spot, bad.message, bad.hint)
		}
		if c, ok := r.child(n, p); ok {
			entry.value, entry.ok = m.each.read(r, c)
		}
		out = append(out, entry)
	}
	return out, true
}

func (m mapping[V]) schema() *schema {
	return &schema{Type: []string{"object", "null"}, AdditionalProperties: m.each.schema(), eachKey: m.key,
		PropertyNames: &schema{Pattern: cmp.Or(m.names.pattern, namePattern)}}
}

// list is a list of values of one shape.
type list[V any] struct {
	noun string // of one item, as "a check"
	each shape[V]
}

func (l list[V]) read(r *reader, n node) ([]at[V], bool) {
	if n.form != formList {
		r.add(n.spot, "is "+string(n.form)+"; a list is wanted", "write [ … ]")
		return nil, false
	}
	if len(n.items) == 0 {
		r.add(n.spot, "is an empty list", "name at least "+l.noun)
		return nil, false
	}
	sound := true
	var out []at[V]
	for i, item := range n.items {
		v := at[V]{spot: spot{place: placeOf(item, n.place), path: joinPath(n.path, "["+strconv.Itoa(i)+"]")},
			how: broken}
		if c, ok := r.node(item, v.spot); ok {
			if v.value, ok = l.each.read(r, c); ok {
				v.how = given
			}
		}
		sound = sound && v.how == given
		out = append(out, v)
	}
	return out, sound
}

func (l list[V]) schema() *schema {
	return &schema{Type: "array", Items: l.each.schema(), MinItems: 1}
}

// listOrNone is a list, or the word none for an empty one.
type listOrNone[V any] struct {
	list[V]
	word scalar[notifyWord]
}

func (l listOrNone[V]) read(r *reader, n node) ([]at[V], bool) {
	if n.form == formText && n.text == string(notifyNobody) {
		return nil, true
	}
	return l.list.read(r, n)
}

func (l listOrNone[V]) schema() *schema {
	return &schema{AnyOf: []*schema{l.list.schema(), l.word.schema()}}
}

// shorthand lets one word stand for a mapping.
type shorthand[T, V any] struct {
	long  shape[T]
	short scalar[V]
	take  func(at[V]) T
}

func (s shorthand[T, V]) read(r *reader, n node) (T, bool) {
	if n.form == formMapping {
		return s.long.read(r, n)
	}
	v, ok := s.short.read(r, n)
	if !ok {
		var zero T
		return zero, false
	}
	return s.take(at[V]{spot: n.spot, value: v, how: given}), true
}

func (s shorthand[T, V]) schema() *schema {
	return &schema{AnyOf: []*schema{s.short.schema(), s.long.schema()}}
}

// oneOf is a mapping with exactly one key, which says of what kind the value is. The bare word means {word: {}}.
type oneOf[T any] struct {
	noun  string // as "a step"
	kinds map[string]shape[T]
	later map[string]string
}

func (o oneOf[T]) read(r *reader, n node) (T, bool) {
	var zero T
	word, options := n.text, node{spot: n.spot, form: formEmpty}
	if n.form == formMapping && len(n.pairs) == 1 {
		p := n.pairs[0]
		c, ok := r.child(n, p)
		if !ok {
			return zero, false
		}
		word, options = p.key, c
		options.place = p.where
	} else if n.form != formText {
		r.add(n.spot, "is not "+o.noun, "write one key in each, of "+strings.Join(o.words(), ", "))
		return zero, false
	}
	kind, ok := o.kinds[word]
	if !ok {
		bad := o.flaw(word)
		r.add(options.spot, bad.message, bad.hint)
		return zero, false
	}
	return kind.read(r, options)
}

func (o oneOf[T]) words() []string { return slices.Sorted(maps.Keys(o.kinds)) }

func (o oneOf[T]) flaw(word string) *flaw {
	if instead, ok := o.later[word]; ok {
		return flawf(instead, "%s is not available yet", word)
	}
	return flawf(didYouMean(word, o.words()), "unknown %s", o.noun[2:])
}

func (o oneOf[T]) schema() *schema {
	one := 1
	long := &schema{Type: "object", Properties: map[string]*schema{}, AdditionalProperties: false, later: o.later,
		MinProperties: &one, MaxProperties: &one}
	for _, w := range o.words() {
		long.Properties[w] = o.kinds[w].schema()
		long.order = append(long.order, w)
	}
	return &schema{AnyOf: []*schema{{Type: "string", Enum: o.words()}, long}}
}

// recursive is a shape that contains itself. The schema names it under $defs.
type recursive[V any] struct {
	ref   string
	shape func() shape[V]
}

func (s recursive[V]) read(r *reader, n node) (V, bool) {
	if strings.Count(n.path, "[") > maxNesting {
		r.add(n.spot, "is nested too deeply", "use fewer levels")
		var zero V
		return zero, false
	}
	return s.shape().read(r, n)
}

func (s recursive[V]) schema() *schema { return &schema{Ref: "#/$defs/" + s.ref} }
