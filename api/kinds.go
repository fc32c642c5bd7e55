package api

import "hale/internal/core/record"

// EventKinds are the kinds of event that there are, in the order of the alphabet.
func EventKinds() []string {
	known := record.Kinds()
	kinds := make([]string, 0, len(known))
	for _, k := range known {
		kinds = append(kinds, string(k))
	}
	return kinds
}
