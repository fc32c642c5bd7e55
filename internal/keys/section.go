package keys

// Own holds what several owners read out of one mapping, each into a draft of its own type, by the owner's word.
type Own map[string]any

// draft returns the owner's draft.
func draft[D any](o *Own, owner string) *D {
	if *o == nil {
		*o = Own{}
	}
	if d, there := (*o)[owner].(*D); there {
		return d
	}
	d := new(D)
	(*o)[owner] = d
	return d
}

// Section is what one owner brings to a mapping that several share: its keys, and what they make of what is written
// there. In is what else Make is told, Out what it makes.
type Section[In, Out any] struct {
	Fields []Field[Own]
	Make   func(in In, own *Own) Out
	// Written reports whether the one key of the section is there. Only one made by Under has it.
	Written func(own *Own) bool
}

// SectionOf makes a section of keys that are read into a D.
func SectionOf[D, In, Out any](owner string, fields []Field[D], compile func(in In, d *D) Out) Section[In, Out] {
	of := func(o *Own) *D { return draft[D](o, owner) }
	return Section[In, Out]{Fields: Within(fields, of), Make: func(in In, o *Own) Out { return compile(in, of(o)) }}
}

// Under makes a section of one key, which is the owner's word.
func Under[V, In, Out any](word, doc string, s Shape[V], compile func(in In, v At[V]) Out) Section[In, Out] {
	itself := func(v *At[V]) *At[V] { return v }
	p := SectionOf(word, []Field[At[V]]{May(word, doc, s, itself)}, func(in In,
		v *At[V]) Out {
		return compile(in, *v)
	})
	p.Written = func(o *Own) bool { return draft[At[V]](o, word).Written() }
	return p
}

// Within makes the keys of a part those of the whole.
func Within[T, P any](fields []Field[P], of func(*T) *P) []Field[T] {
	out := make([]Field[T], len(fields))
	for i, f := range fields {
		out[i] = Field[T]{
			key: f.key, Doc: f.Doc, example: f.example, words: f.words, preset: f.preset, schema: f.schema,
			read:    func(r *Reader, n Node, ok bool, into *T) { f.read(r, n, ok, of(into)) },
			missing: func(owner Spot, into *T) { f.missing(owner, of(into)) },
		}
	}
	return out
}

// Names returns what the keys are called.
func Names[T any](fields []Field[T]) []string { return Object[T]{Fields: fields}.keys() }

// Seen is embedded by the draft of a mapping that wants to know which of its keys were written, and where.
type Seen map[string]Spot

func (s *Seen) see(key string, at Spot) {
	if *s == nil {
		*s = Seen{}
	}
	(*s)[key] = at
}
