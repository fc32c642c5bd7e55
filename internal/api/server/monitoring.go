package server

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"hale/api"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Monitoring answers those who watch hale. Nil: there is no such call.
type Monitoring struct {
	Metrics, Ready, Alive http.Handler
}

// watching are the calls of those who watch hale. They lie where such programs look for them.
func (s *Server) watching() {
	is := s.opts.Monitoring
	metrics := &huma.Schema{Type: huma.TypeString}
	s.pass(call{id: "metrics", method: http.MethodGet, path: "/metrics", needs: reads,
		summary: "What monitoring sees, in the form that Prometheus reads"}, is.Metrics, mediaMetrics, metrics)
	ready := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.Readiness](), true, "")
	s.pass(call{id: "ready", method: http.MethodGet, path: "/readyz", needs: reads,
		summary: "Whether hale can do all its work, and what it lacks"}, is.Ready, mediaJSON, ready, http.StatusServiceUnavailable)
	alive := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
		"status": {Type: huma.TypeString, Enum: []any{"ok", "stuck"}}}, Required: []string{"status"}}
	s.pass(call{id: "alive", method: http.MethodGet, path: "/healthz", needs: nothingAtAll,
		summary: "Whether hale lives"}, is.Alive, mediaJSON, alive, http.StatusServiceUnavailable)
}

const (
	mediaJSON    = "application/json"
	mediaMetrics = "text/plain"
)

// pass makes a call of the handler, which answers with the media type, also with the further statuses.
func (s *Server) pass(c call, h http.Handler, media string, schema *huma.Schema, also ...int) {
	register(s, c, func(_ context.Context, _ *nothing) (*huma.StreamResponse, error) {
		if h == nil {
			return nil, api.NewProblem(api.CodeUnknownRoute, "this hale does not answer that")
		}
		return &huma.StreamResponse{Body: func(c huma.Context) {
			r, w := humago.Unwrap(c)
			h.ServeHTTP(w, r)
		}}, nil
	})
	answers := s.api.OpenAPI().Paths[c.path].Get.Responses
	for _, status := range append(also, http.StatusOK) {
		answer := answers[strconv.Itoa(status)]
		if answer == nil {
			answer = &huma.Response{Description: http.StatusText(status)}
			answers[strconv.Itoa(status)] = answer
		}
		if answer.Content == nil {
			answer.Content = map[string]*huma.MediaType{}
		}
		answer.Content[media] = &huma.MediaType{Schema: schema}
	}
}
