package view

import (
	"strings"

	"hale/api"
	"hale/internal/core/change"
)

// Waiting translates a fleet's plan.
func Waiting(p change.Plan) api.Waiting {
	w := api.Waiting{
		ID: p.ID, Subject: "fleet " + string(p.Fleet), Template: p.Template, Blocked: Reason(p.Blocked, ""),
		Remove: touched(p.Remove), Replace: touched(p.Replace), Doubted: []api.Touched{},
	}
	if p.From != p.To {
		w.From, w.To = p.From, p.To
	}
	if len(p.Beyond) > 0 {
		var names []string
		for _, m := range p.Beyond {
			names = append(names, string(m))
		}
		w.Text = "built to serve meanwhile, beyond the size, and removed at the end: " + strings.Join(names, ", ")
	}
	return w
}

func touched(all []change.Touched) []api.Touched {
	out := make([]api.Touched, 0, len(all))
	for _, t := range all {
		out = append(out, api.Touched{Machine: string(t.Machine), Instance: string(t.Instance), Why: Reason(t.Why, ""),
			InPlace: t.InPlace})
	}
	return out
}
