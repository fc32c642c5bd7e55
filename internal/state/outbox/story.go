package outbox

import (
	"slices"

	"hale/internal/core/record"
)

// longestStory is as much of the past as a message has, in records.
const longestStory = 40

// Story returns what happened in the record's incident before it, oldest first.
func Story(r record.Record, tale []record.Record) []record.Record {
	var story []record.Record
	for _, past := range slices.Backward(tale) {
		same := r.Incident != "" && past.Incident == r.Incident || r.Incident == "" && r.Parent != "" &&
			past.Parent == r.Parent
		if past.Seq < r.Seq && same && len(story) < longestStory {
			story = append(story, past)
		}
	}
	slices.Reverse(story)
	return story
}
