package kinds

import (
	"fmt"
	"strings"

	"hale/internal/keys"
)

// What fences, targets and checks have in common: several ways to do it, with a key for each, and exactly one is to be
// written.

// WayFields are the keys of the ways. The first says how many of them there are to be.
func WayFields[In, Out any](ways []Way[In, Out], one string) []keys.Field[keys.Own] {
	var fields []keys.Field[keys.Own]
	var words []string
	for _, w := range ways {
		fields, words = append(fields, w.Key.Fields...), append(words, w.Word)
	}
	fields[0].Doc += " " + one + " " + enumerated(words) + "."
	return fields
}

// WayExamples are the ways as they can be written.
func WayExamples[In, Out any](ways []Way[In, Out]) string {
	var all []string
	for _, w := range ways {
		all = append(all, fmt.Sprintf("%s: {%s}", w.Word, w.Example))
	}
	return enumerated(all)
}

// TakeWays judges what is written, and returns the words of it, with what the last one comes to.
func TakeWays[In, Out any](ways []Way[In, Out], own *keys.Own, in In) (words []string, out Out) {
	for _, w := range ways {
		if w.Key.Written(own) {
			words, out = append(words, w.Word), w.Key.Make(in, own)
		}
	}
	return words, out
}

// enumerated is "a, b and c".
func enumerated(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
