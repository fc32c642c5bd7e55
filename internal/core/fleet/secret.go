package fleet

// Secret says where a hidden value is kept (law L14): in a file, or in an environment variable of hale. It holds none.
// It is read where it is used, by package secret. The zero value refers to nothing.
type Secret struct {
	File string // an absolute path; or
	Env  string // a variable's name
}

// hidden is what every secret looks like.
const hidden = "[secret]"

// None reports whether it refers to nothing.
func (s Secret) None() bool { return s == Secret{} }

// String hides even the place.
func (s Secret) String() string { return hidden }

// GoString hides it from %#v.
func (s Secret) GoString() string { return hidden }

// MarshalText hides it from encoders of text and JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
