package server

import (
	"context"

	"hale/api"
	"hale/internal/access"
	"hale/internal/core/fleet"

	"github.com/danielgtaylor/huma/v2"
)

// need is what a caller must have to make a call.
type need struct {
	role access.Role
	// whole says that the role must hold in the whole installation; else it must in a fleet, and the call is about
	// those fleets only in which it does.
	whole bool
}

// What calls need.
var (
	nothingAtAll = need{} // anybody may
	reads        = need{role: access.Viewer}
	surveys      = need{role: access.Viewer, whole: true}
	orders       = need{role: access.Operator}
	inspects     = need{role: access.Admin}
	governs      = need{role: access.Admin, whole: true}
	roleField    = "x-hale-role"
	reach        = "x-hale-scope"
)

// satisfied reports whether the caller has what the call needs.
func (n need) satisfied(p access.Principal) bool {
	if n == nothingAtAll {
		return true
	}
	if n.whole {
		return p.May(n.role, "")
	}
	return p.MayAnywhere(n.role)
}

// call declares one operation beside the types of what it takes and answers.
type call struct {
	id, method, path, summary string
	needs                     need
	codes                     []string // of the problems that it answers with, beyond those that every call has
	large                     int64    // bytes that the body may have; 0: orderBytes
}

// everyCode are the codes of problems that any call can answer with.
var everyCode = []string{
	api.CodeBadRequest, api.CodeUnauthenticated, api.CodeForbidden, api.CodeInvalid, api.CodeMediaType, api.CodeTooLarge,
	api.CodeTooSlow, api.CodeInternal, api.CodeStore,
}

// answer is an answer with a body.
type answer[T any] struct{ Body T }

// nothing is what a call takes that takes nothing.
type nothing struct{}

// register makes the operation one of the API. What do returns as an error becomes a problem.
func register[I, O any](s *Server, c call, do func(context.Context, *I) (*O, error)) {
	huma.Register(s.api, c.operation(), func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
}

// serve is register for calls that answer with nothing but a body.
func serve[I, T any](s *Server, c call, do func(context.Context, *I) (T, error)) {
	register(s, c, func(ctx context.Context, in *I) (*answer[T], error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, err
		}
		return &answer[T]{Body: out}, nil
	})
}

func (c call) operation() huma.Operation {
	op := huma.Operation{
		OperationID: c.id, Method: c.method, Path: c.path, Summary: c.summary, MaxBodyBytes: orderBytes,
		BodyReadTimeout: readLimit, Metadata: map[string]any{roleField: c.needs},
		Extensions: map[string]any{roleField: c.needs.role.String(), reach: "fleet"},
	}
	if c.needs.whole {
		op.Extensions[reach] = "installation"
	}
	if c.large > 0 {
		op.MaxBodyBytes = c.large
	}
	status := map[int]bool{}
	for _, code := range append(c.codes, everyCode...) {
		if n := api.NewProblem(code, "").Status; !status[n] {
			status[n] = true
			op.Errors = append(op.Errors, n)
		}
	}
	return op
}

// authorise refuses calls that the caller may not make.
func (s *Server) authorise(c huma.Context, next func(huma.Context)) {
	n, _ := c.Operation().Metadata[roleField].(need)
	caller := access.Of(c.Context())
	if n.satisfied(caller) {
		next(c)
		return
	}
	p := refusedTo(caller, n)
	if err := huma.WriteErr(s.api, c, p.Status, p.Detail); err != nil {
		s.opts.Logger.Debug("an answer did not reach its reader", "err", err)
	}
}

// refusedTo says why the caller may not make a call that needs so much.
func refusedTo(p access.Principal, n need) api.Problem {
	where := " in no fleet"
	if n.whole {
		where = " in the whole installation"
	}
	switch {
	case p.Kind == "":
		return api.NewProblem(api.CodeUnauthenticated, "it is not known who calls: a token is missing")
	case p.Kind == access.BySocket:
		return api.NewProblem(api.CodeForbidden, p.Name+" may only read here; everything else is for root and "+
			owner()+", who runs hale")
	case n.whole:
		return api.NewProblem(api.CodeForbidden, p.Name+" is not "+n.role.String()+where)
	}
	return api.NewProblem(api.CodeForbidden, p.Name+" is "+n.role.String()+where)
}

// may refuses what the caller may not do in the fleet.
func may(ctx context.Context, r access.Role, of fleet.Name) error {
	if p := access.Of(ctx); !p.May(r, of) {
		return api.NewProblem(api.CodeForbidden, p.Name+" is not "+r.String()+" in fleet "+string(of))
	}
	return nil
}
