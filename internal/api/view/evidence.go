package view

import (
	"hale/api"
	"hale/internal/core/fleet"
	"hale/internal/prose"
	"hale/internal/prose/words"
	"hale/internal/state/evidence"
)

// Exhibit shows what was kept of an instance.
func Exhibit(e evidence.Exhibit, b evidence.Bytes) api.Exhibit {
	x := api.Exhibit{
		At: e.At, Instance: string(e.Instance), Generation: uint64(e.Generation), Host: string(e.Host),
		Found: []string{prose.Said(e.Power, e.Stop)}, Console: b.Console, Screenshot: b.Screenshot, Format: e.Format,
	}
	for _, c := range e.Checks {
		x.Found = append(x.Found,
			prose.Stands(fleet.CheckState{Check: c.Check, Standing: c.Standing, Result: c.Result, Detail: c.Detail}))
	}
	for _, p := range prose.EvidenceParts(e.Parts) {
		part := api.EvidencePart{Name: p.Name, Bytes: p.Bytes}
		if p.Why != "" {
			part.Lacks = api.Reason{Code: string(p.Why), Text: words.Reason(p.Why), Detail: p.Detail}
		}
		x.Parts = append(x.Parts, part)
	}
	return x
}
