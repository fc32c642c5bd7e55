package view

import (
	"hale/api"
	"hale/internal/defect"
)

// Defects shows what panicked.
func Defects(all []defect.Entry) []api.Defect {
	var out []api.Defect
	for _, e := range all {
		out = append(out, api.Defect{
			Part: string(e.Place.Part), Of: e.Place.Of, Name: e.Place.Name, Count: e.Count,
			First: e.First.UTC(), Last: e.Last.UTC(), Said: e.Said,
		})
	}
	return out
}
