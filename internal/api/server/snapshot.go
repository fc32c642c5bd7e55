package server

import (
	"context"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/feed"
	"hale/internal/owner/published"
)

// snapshot returns the fleets that the caller may see, and the place behind which a stream tells all that they
// do not show. An owner writes first and shows then: where a fleet lags behind its journal, the place does, too.
func (s *Server) snapshot(ctx context.Context) ([]published.Fleet, feed.Cursor, error) {
	at, err := s.now(ctx)
	if err != nil {
		return nil, at, err
	}
	fleets := s.seen(ctx, access.Viewer)
	for i := range fleets {
		f := &fleets[i]
		written, ever := s.feed.Last(f.Spec.Name)
		if !ever || written.Revision <= f.Revision {
			continue
		}
		shown := feed.Cursor{Revision: f.Revision}
		if f.Revision == 0 {
			shown.Revision = written.Revision - 1
		}
		if shown.Compare(at) < 0 {
			at = shown
		}
	}
	return fleets, at, nil
}

// knownWithin is how long is waited for the store to say where it stands.
const knownWithin = 2 * time.Second

// now is where the journal stands.
func (s *Server) now(ctx context.Context) (feed.Cursor, error) {
	ctx, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	at, err := s.feed.Now(ctx)
	if err != nil {
		err = api.NewProblem(api.CodeStore, "the store has not said yet where it stands")
	}
	return at, err
}
