package rest

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"hale/api"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Pass makes a call of the handler, which answers with one of the media types, also with the further statuses.
func (r *Router) Pass(c Call, h http.Handler, media []string, schema *huma.Schema, also ...int) {
	Register(r, c, func(_ context.Context, _ *Nothing) (*huma.StreamResponse, error) {
		if h == nil {
			return nil, api.NewProblem(api.CodeUnknownRoute, "this hale does not answer that")
		}
		return &huma.StreamResponse{Body: func(c huma.Context) {
			q, w := humago.Unwrap(c)
			h.ServeHTTP(w, q)
		}}, nil
	})
	answers := r.api.OpenAPI().Paths[c.Path].Get.Responses
	for _, status := range append(also, http.StatusOK) {
		answer := answers[strconv.Itoa(status)]
		if answer == nil {
			answer = &huma.Response{Description: http.StatusText(status)}
			answers[strconv.Itoa(status)] = answer
		}
		if answer.Content == nil {
			answer.Content = map[string]*huma.MediaType{}
		}
		for _, one := range media {
			answer.Content[one] = &huma.MediaType{Schema: schema}
		}
	}
}

// SchemaOf is how the document describes the type.
func SchemaOf[T any](r *Router) *huma.Schema {
	return r.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}
