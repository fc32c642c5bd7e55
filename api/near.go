package api

import (
	"cmp"
	"slices"
)

// Near returns the names that are most like the wanted one, best first.
func Near(wanted string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, n := range names {
		if d := distance(wanted, n); d <= max(2, len(wanted)/2) {
			found = append(found, candidate{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, c := range found[:min(3, len(found))] {
		out = append(out, c.name)
	}
	return out
}

// distance is how many bytes must be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// UnknownFleet says that there is no fleet of the name, and which of those that there are may be meant.
func UnknownFleet(name string, known []string) Problem {
	return Unknown(CodeUnknownFleet, "fleet "+name, name, known)
}
