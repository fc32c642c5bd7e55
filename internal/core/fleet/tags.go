package fleet

import (
	"slices"
	"strings"
)

// Tags are the words that an instance is tagged with at its provider, where that has such a thing. It is one line for
// each, sorted, so that two can be compared. The zero value: none.
type Tags string

// TagsLimit bounds all lines of an instance together, in bytes: there are many instances.
const TagsLimit = 4 << 10

// TagsOf returns the words as Tags. What could not be told apart again is left out (see TagValue), and so is, from the
// last word on, what is beyond TagsLimit.
func TagsOf(words []string) Tags {
	words = slices.Clone(words)
	slices.Sort(words)
	var b strings.Builder
	for _, w := range slices.Compact(words) {
		if TagValue(w) && b.Len()+len(w)+1 <= TagsLimit {
			b.WriteString(w + "\n")
		}
	}
	return Tags(b.String())
}

// TagValue reports whether the text can be a tag: one line that is not empty.
func TagValue(s string) bool { return s != "" && MetadataValue(s) }

// Has reports whether the word is among them.
func (t Tags) Has(word string) bool {
	for line := range strings.Lines(string(t)) {
		if strings.TrimSuffix(line, "\n") == word {
			return true
		}
	}
	return false
}

// All returns the words in order.
func (t Tags) All() []string {
	var words []string
	for line := range strings.Lines(string(t)) {
		words = append(words, strings.TrimSuffix(line, "\n"))
	}
	return words
}

// Covers reports whether all of the others are among them.
func (t Tags) Covers(o Tags) bool {
	return !slices.ContainsFunc(o.All(), func(word string) bool { return !t.Has(word) })
}

// With returns these words with the others.
func (t Tags) With(o Tags) Tags { return TagsOf(append(t.All(), o.All()...)) }
