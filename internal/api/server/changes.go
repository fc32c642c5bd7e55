package server

import (
	"context"
	"errors"
	"path/filepath"

	"hale/api"
	"hale/internal/api/rest"
	"hale/internal/core/fault"
	"hale/internal/keys"
)

func (s *Server) reload(ctx context.Context, in *rest.Plainly) (api.Changes, error) {
	if in.Dry {
		c, err := s.opts.Desk.Compare(ctx, "")
		return c, unfit(err)
	}
	c, err := s.opts.Desk.Reload(ctx)
	return c, unfit(err)
}

// inFile names a configuration on the server.
type inFile struct {
	Path string `query:"path" required:"true" maxLength:"4096" doc:"An absolute path on the server."`
}

func (s *Server) compare(ctx context.Context, in *inFile) (api.Changes, error) {
	if !filepath.IsAbs(in.Path) {
		return api.Changes{}, rest.BadRequest("path: is not an absolute path")
	}
	c, err := s.opts.Desk.Compare(ctx, in.Path)
	return c, unfit(err)
}

// unfit says that a configuration cannot be in force: what is wrong with it, or else that it is refused as things stand.
func unfit(err error) error {
	switch {
	case err == nil, errors.As(err, new(keys.Problems)):
		return err
	case fault.Is(err, fault.Invalid):
		return api.NewProblem(api.CodeConfiguration, rest.Because(err))
	}
	return rest.Refused(api.Cause(err).Error())
}
