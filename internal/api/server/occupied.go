package server

import (
	"slices"

	"hale/api"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/words"
)

// free refuses at once what is ordered for a machine that is occupied, as this server sees it: all of it, or none.
func (s *Server) free(orders []fleet.Order) error {
	status := s.opts.Status()
	var said []string
	for i := range orders {
		if o := &orders[i]; o.Kind.Chore() {
			said = append(said, occupations(o, status)...)
		}
	}
	return isOccupied(said)
}

// occupations says what the order's machine is occupied with, if it is.
func occupations(o *fleet.Order, status []published.Fleet) []string {
	for i := range status {
		f := &status[i]
		if f.Spec.Name != o.Fleet || f.FromMemory || !f.AsOf.IsZero() {
			continue // or its owner says it
		}
		for k := range f.Machines {
			m := &f.Machines[k].Machine
			if by, occupied := m.Occupied(f.Whole.Ledger); occupied && m.Name == o.Machine {
				return []string{string(m.Name) + ": " + prose.Occupied(&by, f.Now.Wall)}
			}
		}
	}
	return nil
}

// occupied says it of orders that their owners refused, all of them, since the machines are occupied.
func occupied(orders []api.Ordered) error {
	var said []string
	for _, o := range orders {
		if o.Refused.Code == string(fleet.ReasonOccupied) {
			said = append(said, o.Machine+": "+o.Refused.Text)
		}
	}
	if len(said) < len(orders) {
		return nil
	}
	return isOccupied(said)
}

func isOccupied(said []string) error {
	if len(said) == 0 {
		return nil
	}
	slices.Sort(said)
	p := api.NewProblem(api.CodeOccupied, said[0])
	if len(said) > 1 {
		p.Lines = said
	}
	p.Advice = words.Advice(fleet.ReasonOccupied)
	return p
}
