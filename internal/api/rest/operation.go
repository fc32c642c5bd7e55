package rest

import (
	"context"
	"fmt"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/core/fleet"

	"github.com/danielgtaylor/huma/v2"
)

// Need is what a caller must have to make a call.
type Need struct {
	Role access.Role
	// Whole says that the role must hold in the whole installation; else it must in a fleet, and the call is about
	// those fleets only in which it does.
	Whole bool
}

// What calls need.
var (
	NothingAtAll = Need{} // anybody may
	Reads        = Need{Role: access.Viewer}
	Surveys      = Need{Role: access.Viewer, Whole: true}
	Quiets       = Need{Role: access.Holder}
	Orders       = Need{Role: access.Operator}
	Inspects     = Need{Role: access.Admin}
	Governs      = Need{Role: access.Admin, Whole: true}
	roleField    = "x-hale-role"
	reach        = "x-hale-scope"
)

// satisfied reports whether the caller has what the call needs.
func (n Need) satisfied(p access.Principal) bool {
	if n == NothingAtAll {
		return true
	}
	if n.Whole {
		return p.May(n.Role, "")
	}
	return p.MayAnywhere(n.Role)
}

// What a request may have, unless its call says otherwise.
const (
	bodyBytes = 16 << 10
	readLimit = 5 * time.Second
)

// Call declares one operation beside the types of what it takes and answers.
type Call struct {
	ID, Method, Path, Summary string
	Needs                     Need
	Codes                     []string // of the problems that it answers with, beyond those that every call has
	Large                     int64    // bytes that the body may have; 0: 16 KiB
	Again                     Repeated // of what changes something
	Secret                    bool     // what it answers is told once, and never kept
}

// everyCode are the codes of problems that any call can answer with.
var everyCode = []string{
	api.CodeBadRequest, api.CodeUnauthenticated, api.CodeForbidden, api.CodeInvalid, api.CodeMediaType,
	api.CodeTooLarge,
	api.CodeTooSlow, api.CodeInternal, api.CodeStore,
}

// Answer is an answer with a body.
type Answer[T any] struct{ Body T }

// Nothing is what a call takes that takes nothing.
type Nothing struct{}

// Register makes the operation one of the API. What do returns as an error becomes a problem.
func Register[I, O any](r *Router, c Call, do func(context.Context, *I) (*O, error)) {
	huma.Register(r.api, c.operation(), func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, r.Problem(ctx, err)
		}
		return out, nil
	})
}

// Serve is Register for calls that answer with nothing but a body.
func Serve[I, T any](r *Router, c Call, do func(context.Context, *I) (T, error)) {
	Register(r, c, func(ctx context.Context, in *I) (*Answer[T], error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, err
		}
		return &Answer[T]{Body: out}, nil
	})
}

func (c Call) operation() huma.Operation {
	op := huma.Operation{
		OperationID: c.ID, Method: c.Method, Path: c.Path, Summary: c.Summary, MaxBodyBytes: bodyBytes,
		BodyReadTimeout: readLimit, Metadata: map[string]any{roleField: c.Needs},
		Extensions: map[string]any{roleField: c.Needs.Role.String(), reach: "fleet"},
	}
	if c.Needs.Whole {
		op.Extensions[reach] = "installation"
	}
	if c.Large > 0 {
		op.MaxBodyBytes = c.Large
	}
	status := map[int]bool{}
	for _, code := range append(c.Codes, everyCode...) {
		if n := api.NewProblem(code, "").Status; !status[n] {
			status[n] = true
			op.Errors = append(op.Errors, n)
		}
	}
	return op
}

// authorise refuses calls that the caller may not make.
func (r *Router) authorise(c huma.Context, next func(huma.Context)) {
	n, _ := c.Operation().Metadata[roleField].(Need)
	caller := access.Of(c.Context())
	if n.satisfied(caller) {
		next(c)
		return
	}
	r.write(c, refusedTo(caller, n))
}

// refusedTo says why the caller may not make a call that needs so much.
func refusedTo(p access.Principal, n Need) api.Problem {
	where := " in no fleet"
	if n.Whole {
		where = " in the whole installation"
	}
	switch {
	case p.Kind == "":
		return api.NewProblem(api.CodeUnauthenticated, "it is not known who calls: a token is missing")
	case p.Kind == access.BySocket:
		return api.NewProblem(api.CodeForbidden, p.Name+
			" may only read here; everything else is for root and the user who runs hale")
	case n.Whole:
		return api.NewProblem(api.CodeForbidden, p.Name+" is not "+n.Role.String()+where)
	}
	return api.NewProblem(api.CodeForbidden, p.Name+" is "+n.Role.String()+where)
}

// May refuses what the caller may not do in the fleet.
func May(ctx context.Context, r access.Role, of fleet.Name) error {
	if p := access.Of(ctx); !p.May(r, of) {
		return api.NewProblem(api.CodeForbidden, p.Name+" is not "+r.String()+" in fleet "+string(of))
	}
	return nil
}

// SpokenFor says who calls, and for which user.
func SpokenFor(ctx context.Context, as string) string {
	by := access.Of(ctx).Name
	if as != "" && as != by {
		return fmt.Sprintf("%s (%s)", as, by)
	}
	return by
}
