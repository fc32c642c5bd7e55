package server

import (
	"context"

	"hale/api"
	"hale/internal/api/rest"
	"hale/internal/api/view"
	"hale/internal/state/active"
)

// listServers answers from the store, where each server that shares it says of itself that it lives.
func (s *Server) listServers(ctx context.Context, _ *rest.Nothing) (api.Servers, error) {
	is, shared, err := active.Is(ctx, s.opts.Store)
	if !shared {
		is = active.Server{Name: s.opts.Server, Version: s.opts.Version, Since: s.started}
	}
	out := api.Servers{Active: view.SharingServer(is), Standby: []api.SharingServer{}}
	if err != nil {
		return out, err
	}
	all, err := active.StandBy(ctx, s.opts.Store)
	for _, o := range all {
		out.Standby = append(out.Standby, view.SharingServer(o))
	}
	return out, err
}
