package api

import (
	"errors"
	"strings"

	"hale/internal/core/record"
	"hale/internal/near"
)

// EventKinds are the kinds of event that there are, in the order of the alphabet.
func EventKinds() []string {
	known := record.Kinds()
	kinds := make([]string, 0, len(known))
	for _, k := range known {
		kinds = append(kinds, string(k))
	}
	return kinds
}

// UnknownKind says that there is no such kind of event, and which there are.
func UnknownKind(kind string) error {
	said := "there is no kind of event " + kind
	if meant := near.Names(kind, EventKinds()); len(meant) > 0 {
		said += "; did you mean " + strings.Join(meant, " or ") + "?"
	}
	return errors.New(said + " The kinds are: " + strings.Join(EventKinds(), ", "))
}
