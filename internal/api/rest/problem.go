package rest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"

	"hale/api"
	"hale/internal/access/audit"
	"hale/internal/core/fault"
	"hale/internal/keys"

	"github.com/danielgtaylor/huma/v2"
)

// Problem makes of an error what the caller is told. What only the log may have stays there: then the problem names the
// request.
func (r *Router) Problem(ctx context.Context, err error) api.Problem {
	var said api.Problem
	var wrong keys.Problems
	ofKey, isKey := ofKeys(err)
	switch {
	case isKey:
		said = ofKey
	case errors.As(err, &said):
	case errors.As(err, &wrong):
		said = api.NewProblem(api.CodeConfiguration, "the configuration is not valid; the one that runs is left as it is")
		for _, one := range wrong {
			said.Lines = append(said.Lines, one.String())
		}
	case fault.Is(err, fault.Invalid):
		said = api.NewProblem(api.CodeBadRequest, Because(err))
	case fault.Is(err, fault.Conflict), fault.Is(err, fault.Quota):
		said = api.NewProblem(api.CodeRefused, Because(err))
	case fault.Is(err, fault.Unauthorised):
		said = api.NewProblem(api.CodeForbidden, Because(err))
	default:
		said = api.NewProblem(api.CodeStore, err.Error())
	}
	said.Instance = instanceOf(ctx)
	audit.Why(ctx, said.Detail)
	if said.Status >= http.StatusInternalServerError {
		r.log.Warn("a call of the API failed", "request", RequestOf(ctx), "code", said.Code, "err", err)
	}
	return said
}

// Because is the cause of a fault, without its operation and subject.
func Because(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Err != nil {
		return f.Err.Error()
	}
	return api.Cause(err).Error()
}

// BadRequest says what is wrong with a request.
func BadRequest(detail string) api.Problem { return api.NewProblem(api.CodeBadRequest, detail) }

// Refused says why something is not done as things stand.
func Refused(detail string) api.Problem { return api.NewProblem(api.CodeRefused, detail) }

// codeOf is the code of what huma, or net/http, answers by itself.
var codeOf = map[int]string{
	http.StatusBadRequest: api.CodeBadRequest, http.StatusUnauthorized: api.CodeUnauthenticated,
	http.StatusForbidden: api.CodeForbidden, http.StatusNotFound: api.CodeUnknownRoute,
	http.StatusMethodNotAllowed: api.CodeMethod, http.StatusRequestTimeout: api.CodeTooSlow,
	http.StatusRequestEntityTooLarge: api.CodeTooLarge, http.StatusUnsupportedMediaType: api.CodeMediaType,
	http.StatusUnprocessableEntity: api.CodeInvalid,
}

// problemsAreHales has huma answer with problems of package api. It says so once for the process: huma knows no other
// way.
var problemsAreHales = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, detail string, errs ...error) huma.StatusError {
		return problemOf("", status, detail, errs)
	}
	huma.NewErrorWithContext = func(c huma.Context, status int, detail string, errs ...error) huma.StatusError {
		return problemOf(instanceOf(c.Context()), status, detail, errs)
	}
})

// problemOf makes a problem of what huma found. An error that it does not know is a defect: its text stays here.
func problemOf(instance string, status int, detail string, errs []error) api.Problem {
	code, known := codeOf[status]
	if !known {
		code, detail, errs = api.CodeInternal, "hale failed in a way that it does not know; its log may say more", nil
	}
	p := api.NewProblem(code, detail)
	p.Instance = instance
	for _, err := range errs {
		var at huma.ErrorDetailer
		if errors.As(err, &at) {
			d := at.ErrorDetail()
			p.Errors = append(p.Errors, api.FieldError{Location: d.Location, Message: d.Message})
		} else if err != nil {
			p.Errors = append(p.Errors, api.FieldError{Message: err.Error()})
		}
	}
	return p
}

type requestKey struct{}

// HeaderRequest is the header of an answer that names the request, as the log and the audit do.
const HeaderRequest = "X-Request-Id"

// Named gives the request a name of its own, which its answer and the log bear. One that has a name keeps it.
func Named(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if RequestOf(r.Context()) != "" {
			h.ServeHTTP(w, r)
			return
		}
		id := rand.Text()[:requestLetters]
		w.Header().Set(HeaderRequest, id)
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, id)))
	})
}

// requestLetters are enough of 5 bits each that no two requests of a log have the same name.
const requestLetters = 16

// RequestOf returns the name that the request has in the log.
func RequestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

func instanceOf(ctx context.Context) string {
	if id := RequestOf(ctx); id != "" {
		return "urn:hale:request:" + id
	}
	return ""
}
