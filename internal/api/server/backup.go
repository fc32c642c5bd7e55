package server

import (
	"context"
	"net/http"
	"time"

	"hale/api"
	"hale/internal/state"
	"hale/internal/state/backup"
	"hale/internal/state/beliefs"
)

func (s *Server) backup(w http.ResponseWriter, r *http.Request) {
	h, err := BackupHeader(r.Context(), s.opts.Store, s.opts.Version, s.opts.Server)
	if err != nil {
		s.fail(w, http.StatusServiceUnavailable, api.Problem{Code: api.CodeStore, Message: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/gzip")
	if err := backup.Write(r.Context(), w, s.opts.Store, h); err != nil {
		s.opts.Logger.Warn("a backup was not finished, and says so", "err", err)
		return
	}
	s.opts.Logger.Info("a backup was made", "by", callerOf(r.Context()))
}

// BackupHeader returns what a backup begins with that a hale of the version makes now, on the server.
func BackupHeader(ctx context.Context, store state.Store, version, server string) (backup.Header, error) {
	installation, err := beliefs.Installation(ctx, store)
	return backup.Header{Made: time.Now(), Hale: version, Server: server, Installation: installation}, err
}
