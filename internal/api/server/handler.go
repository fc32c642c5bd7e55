package server

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"path"
	"reflect"

	"hale/api"
	"hale/internal/access"
	"hale/internal/defect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Title and DocumentVersion head the document of the API. The version is the API's own: it grows when the API does.
const (
	Title           = "hale"
	DocumentVersion = "1.0.0"
)

// Handler returns the calls, for callers that package access knows.
func (s *Server) Handler() http.Handler { return s.handler }

// build makes the handler, and the document with it.
func (s *Server) build() http.Handler {
	problemsAreHales()
	mux := http.NewServeMux()
	s.api = humago.New(mux, documented())
	s.api.UseMiddleware(s.authorise)
	s.operations()
	mux.Handle("GET /debug/pprof/", s.forAdmins(http.HandlerFunc(pprof.Index)))
	mux.Handle("GET /debug/pprof/profile", s.forAdmins(http.HandlerFunc(pprof.Profile)))
	mux.Handle("GET /debug/pprof/trace", s.forAdmins(http.HandlerFunc(pprof.Trace)))
	whole := named(s.routed(mux))
	return defect.Handler(whole, s.opts.Defects.Witness(defect.Surface, ""), "api")
}

// documented is how the API describes itself: in OpenAPI 3.1, in JSON only, and without a page that loads its script
// from elsewhere.
func documented() huma.Config {
	config := huma.DefaultConfig(Title, DocumentVersion)
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.Formats = map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat}
	config.RejectUnknownQueryParameters = true
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[api.Duration](), reflect.TypeFor[durationShape]())
	return config
}

// durationShape is what the document says of api.Duration.
type durationShape string

// Schema implements huma.SchemaProvider.
func (durationShape) Schema(huma.Registry) *huma.Schema {
	most := 64
	return &huma.Schema{
		Type: huma.TypeString, Pattern: `^(-?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+|0)$`, MaxLength: &most,
		Description: "A time span, as 90s, 15m or 1h30m.", Examples: []any{"1h30m0s"},
	}
}

// routed answers with a problem where there is no such call, and does not guess which one an unclean path means.
func (s *Server) routed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		if pattern != "" && path.Clean(r.URL.Path) == clean(r.URL.Path) {
			mux.ServeHTTP(w, r)
			return
		}
		code, methods := api.CodeUnknownRoute, allowed(mux, r)
		if methods != "" {
			code = api.CodeMethod
			w.Header().Set("Allow", methods)
		}
		s.fail(w, r, api.NewProblem(code, r.Method+" "+r.URL.Path+" is no call; /openapi.json names all"))
	})
}

// clean is the path without the slash at its end, which the index of profiles has.
func clean(p string) string {
	if len(p) > 1 && p[len(p)-1] == '/' {
		return p[:len(p)-1]
	}
	return p
}

// allowed are the methods that the path has, as the header Allow lists them; empty: there is no such path.
func allowed(mux *http.ServeMux, r *http.Request) string {
	h, pattern := mux.Handler(r)
	if pattern != "" {
		return ""
	}
	var said headers
	h.ServeHTTP(&said, r)
	return said.Header().Get("Allow")
}

// headers takes an answer, and keeps its headers only.
type headers struct{ of http.Header }

// Header implements http.ResponseWriter.
func (h *headers) Header() http.Header {
	if h.of == nil {
		h.of = http.Header{}
	}
	return h.of
}

// Write implements http.ResponseWriter.
func (*headers) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (*headers) WriteHeader(int) {}

// forAdmins lets those through who govern the installation.
func (s *Server) forAdmins(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := access.Of(r.Context()); !governs.satisfied(p) {
			s.fail(w, r, refusedTo(p, governs))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// fail answers with a problem outside of an operation.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, p api.Problem) {
	p.Instance = instanceOf(r.Context())
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	if err := json.NewEncoder(w).Encode(p); err != nil {
		s.opts.Logger.Debug("an answer did not reach its reader", "err", err)
	}
}
