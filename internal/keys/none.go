package keys

// NoneWord stands for an empty list.
const NoneWord = "none"

// None reads the word.
func None() Scalar[string] { return Choice(nil, NoneWord) }

// ListOrNone is a list, or the word none for an empty one.
type ListOrNone[V any] struct {
	List[V]
}

// Read implements Shape.
func (l ListOrNone[V]) Read(r *Reader, n Node) ([]At[V], bool) {
	if n.Form == FormText && n.Text == NoneWord {
		return nil, true
	}
	return l.List.Read(r, n)
}

// Schema implements Shape.
func (l ListOrNone[V]) Schema() *Schema {
	return &Schema{AnyOf: []*Schema{l.List.Schema(), None().Schema()}}
}
