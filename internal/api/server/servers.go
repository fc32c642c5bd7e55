package server

import (
	"context"
	"time"

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
	var all []active.Server
	if err == nil {
		all, err = active.StandBy(ctx, s.opts.Store)
	}
	return view.Sharing(is, all, s.opts.Satellites.Eyes(time.Now())), err
}
