package fleet

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// Metadata are texts that an instance bears beside its name, by their keys: those of its template, and what others
// wrote there, as far as the provider tells. It is one line "key=value" for each, sorted by key, so that two can be
// compared. The zero value: none.
type Metadata string

// MetadataLimit bounds all lines of an instance together, in bytes: there are many instances.
const MetadataLimit = 4 << 10

// MetadataOf returns the texts as Metadata. What could not be told apart again is left out (see MetadataKey and
// MetadataValue), and so is, from the last key on, what is beyond MetadataLimit.
func MetadataOf(texts map[string]string) Metadata {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		value := texts[key]
		if MetadataKey(key) && MetadataValue(value) && b.Len()+len(key)+len(value)+2 <= MetadataLimit {
			b.WriteString(key + "=" + value + "\n")
		}
	}
	return Metadata(b.String())
}

// MetadataKey reports whether the text can be a key: letters, digits, dot, colon, underscore and hyphen.
func MetadataKey(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._:-", r)
	})
}

// MetadataValue reports whether the text can be a value: one line.
func MetadataValue(s string) bool { return !strings.ContainsAny(s, "\x00\r\n") }

// All returns the keys with their values, in order of the keys.
func (m Metadata) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.Lines(string(m)) {
			if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok && !yield(key, value) {
				return
			}
		}
	}
}

// Value returns what stands under the key, and whether anything does.
func (m Metadata) Value(key string) (string, bool) {
	for k, v := range m.All() {
		if k == key {
			return v, true
		}
	}
	return "", false
}

// Covers reports whether all of the other texts stand there, as they are.
func (m Metadata) Covers(o Metadata) bool { return m.has(o, func(a, b string) bool { return a == b }) }

// HasKeys reports whether something stands under each key of the others.
func (m Metadata) HasKeys(o Metadata) bool {
	return m.has(o, func(string, string) bool { return true })
}

func (m Metadata) has(o Metadata, same func(a, b string) bool) bool {
	for key, value := range o.All() {
		if is, there := m.Value(key); !there || !same(is, value) {
			return false
		}
	}
	return true
}

// With returns these texts with the others, which count where both have a key.
func (m Metadata) With(o Metadata) Metadata {
	all := maps.Collect(m.All())
	maps.Insert(all, o.All())
	return MetadataOf(all)
}
