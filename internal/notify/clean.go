package notify

import (
	"strings"
	"unicode"

	"hale/internal/secret"
)

// longestSaid bounds what is kept of an answer, in bytes.
const longestSaid = 200

// Clean makes one line of what a receiver said, for answers and errors: bounded, without control characters, and
// without the values of secrets.
func Clean(said string, secrets ...string) string {
	said = secret.Redact(strings.ToValidUTF8(said, "�"), secrets...)
	said = strings.Join(strings.FieldsFunc(said, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(said) <= longestSaid {
		return said
	}
	return strings.ToValidUTF8(said[:longestSaid], "") + "…"
}
