package words

import (
	"errors"
	"strings"

	"hale/internal/near"
)

// UnknownKind says that there is no such kind of event, and which there are.
func UnknownKind(kind string, known []string) error {
	said := "there is no kind of event " + kind
	if meant := near.Names(kind, known); len(meant) > 0 {
		said += "; did you mean " + strings.Join(meant, " or ") + "?"
	}
	return errors.New(said + " The kinds are: " + strings.Join(known, ", "))
}
