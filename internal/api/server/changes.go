package server

import (
	"context"
	"errors"
	"path/filepath"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/api/rest"
	"hale/internal/core/fault"
	"hale/internal/keys"
)

func (s *Server) reload(ctx context.Context, _ *rest.Nothing) (api.Changes, error) {
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

func (s *Server) pending(ctx context.Context, _ *rest.Nothing) (api.Changes, error) {
	c, err := s.opts.Desk.Pending(ctx)
	return c, unfit(err)
}

// ofPlan names a plan that waits for a person's word.
type ofPlan struct {
	Plan string `query:"plan" required:"true" maxLength:"200"`
}

func (s *Server) readdress(ctx context.Context, in *ofPlan) (api.Changes, error) {
	audit.About(ctx, "plan "+in.Plan)
	if err := s.hold(ctx, access.RiskConfirm, "plan "+in.Plan); err != nil {
		return api.Changes{}, err
	}
	err := s.opts.Desk.Readdress(ctx, in.Plan, access.Of(ctx).Name)
	return api.Changes{Changes: []api.Change{}, Plans: []api.Waiting{}}, unfit(err)
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
