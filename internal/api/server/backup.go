package server

import (
	"context"
	"time"

	"hale/internal/access"
	"hale/internal/api/rest"
	"hale/internal/state"
	"hale/internal/state/backup"
	"hale/internal/state/beliefs"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

func (s *Server) backup(ctx context.Context, _ *rest.Nothing) (*huma.StreamResponse, error) {
	h, err := BackupHeader(ctx, s.opts.Store, s.opts.Version, s.opts.Server)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		_, w := humago.Unwrap(c)
		w.Header().Set("Content-Type", "application/gzip")
		if err := backup.Write(ctx, w, s.opts.Store, h); err != nil {
			s.opts.Logger.Warn("a backup was not finished, and says so", "err", err)
			return
		}
		s.opts.Logger.Info("a backup was made", "by", access.Of(ctx).Name)
	}}, nil
}

// BackupHeader returns what a backup begins with that a hale of the version makes now, on the server.
func BackupHeader(ctx context.Context, store state.Store, version, server string) (backup.Header, error) {
	installation, err := beliefs.Installation(ctx, store)
	return backup.Header{Made: time.Now(), Hale: version, Server: server, Installation: installation}, err
}
