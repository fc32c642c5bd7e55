package api

import "hale/internal/defect"

// viewDefects shows what panicked.
func viewDefects(all []defect.Entry) []Defect {
	var out []Defect
	for _, e := range all {
		out = append(out, Defect{
			Part: string(e.Place.Part), Of: e.Place.Of, Name: e.Place.Name, Count: e.Count,
			First: e.First.UTC(), Last: e.Last.UTC(), Said: e.Said,
		})
	}
	return out
}
