package server

import (
	"net/http"

	"hale/api"
	"hale/internal/api/rest"

	"github.com/danielgtaylor/huma/v2"
)

// Monitoring answers those who watch hale. Nil: there is no such call.
type Monitoring struct {
	Metrics, Ready, Alive http.Handler
}

// watching are the calls of those who watch hale. They lie where such programs look for them.
func (s *Server) watching() {
	is := s.opts.Monitoring
	metrics := &huma.Schema{Type: huma.TypeString}
	s.router.Pass(rest.Call{ID: "metrics", Method: http.MethodGet, Path: "/metrics", Needs: rest.Reads,
		Summary: "What monitoring sees, in the form that Prometheus reads"}, is.Metrics, mediaMetrics, metrics)
	ready := rest.SchemaOf[api.Readiness](s.router)
	s.router.Pass(rest.Call{ID: "ready", Method: http.MethodGet, Path: "/readyz", Needs: rest.Reads,
		Summary: "Whether hale can do all its work, and what it lacks"}, is.Ready, mediaJSON, ready, http.StatusServiceUnavailable)
	alive := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
		"status": {Type: huma.TypeString, Enum: []any{"ok", "stuck"}}}, Required: []string{"status"}}
	s.router.Pass(rest.Call{ID: "alive", Method: http.MethodGet, Path: "/healthz", Needs: rest.NothingAtAll,
		Summary: "Whether hale lives"}, is.Alive, mediaJSON, alive, http.StatusServiceUnavailable)
}

// What they answer with: Prometheus asks for the newer of the two forms of metrics, and others get the older one.
var (
	mediaJSON    = []string{"application/json"}
	mediaMetrics = []string{"text/plain", "application/openmetrics-text"}
)
