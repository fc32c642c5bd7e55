package server

import (
	"context"
	"slices"

	"hale/api"
	"hale/internal/access"
	"hale/internal/core/fleet"
	"hale/internal/discovery"
	"hale/internal/owner/published"
)

// targetsIn says which machines Prometheus wants.
type targetsIn struct {
	Port  int    `query:"port" required:"true" minimum:"1" maximum:"65535" doc:"At which the machines are scraped"`
	Fleet string `query:"fleet" doc:"Only machines of this fleet"`
	Which string `query:"which" enum:"all,serving" default:"all" doc:"All machines, or all but those that surely do not serve"`
}

// targets answers Prometheus. While hale cannot say who there is, that is an error: Prometheus goes on with what it
// has.
func (s *Server) targets(ctx context.Context, in *targetsIn) ([]discovery.Group, error) {
	fleets := s.seen(ctx, access.Viewer)
	c := discovery.Choice{Serving: in.Which == "serving"}
	if in.Fleet != "" {
		c.Fleets = []fleet.Name{fleet.Name(in.Fleet)}
		if !slices.ContainsFunc(fleets, func(f published.Fleet) bool { return f.Spec.Name == c.Fleets[0] }) {
			return nil, api.NewProblem(api.CodeUnknownFleet, "there is no fleet "+in.Fleet)
		}
	}
	all, known := discovery.List(fleets, c)
	if !known {
		return nil, api.NewProblem(api.CodeBusy,
			"hale does not look after all of the fleets yet, and cannot say which "+
				"machines there are")
	}
	return discovery.Prometheus(all, uint16(in.Port)), nil //nolint:gosec // the document bounds it
}
