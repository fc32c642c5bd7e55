package rest

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"path"
	"reflect"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/defect"
	"hale/internal/state/once"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Title and DocumentVersion head the document of the API. The version is the API's own: it grows when the API does.
const (
	Title           = "hale"
	DocumentVersion = "1.0.0"
)

// Router has the calls of an API, and the document of it.
type Router struct {
	api     huma.API
	mux     *http.ServeMux
	log     *slog.Logger
	calls   *once.Book
	handler http.Handler
	book    *audit.Book   // nil: calls are not noted
	large   chan struct{} // has an entry for each large body that is read
}

// New makes a router without calls. A panic of one is noted, and what each changes is in the audit; nil: it is in none. Calls
// has those that change something and bear a key.
func New(log *slog.Logger, panics defect.Witness, book *audit.Book, calls *once.Book) *Router {
	problemsAreHales()
	r := &Router{mux: http.NewServeMux(), log: log, calls: calls, book: book, large: make(chan struct{}, largeBodies)}
	r.api = humago.New(r.mux, documented())
	r.api.UseMiddleware(r.noted, r.authorise)
	r.handler = defect.Handler(Named(r.whole(http.HandlerFunc(r.route))), panics, "api")
	return r
}

// Handler returns the calls, for callers that package access knows.
func (r *Router) Handler() http.Handler { return r.handler }

// Beside has the handler answer what is no call of the document: to those who have what it needs.
func (r *Router) Beside(pattern string, n Need, h http.Handler) {
	r.mux.HandleFunc(pattern, func(w http.ResponseWriter, q *http.Request) {
		if p := access.Of(q.Context()); !n.satisfied(p) {
			r.noteRefusal(q, pattern, refusedTo(p, n))
			r.fail(w, q, refusedTo(p, n))
			return
		}
		h.ServeHTTP(w, q)
	})
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

// route answers with a problem where there is no such call, and does not guess which one an unclean path means.
func (r *Router) route(w http.ResponseWriter, q *http.Request) {
	_, pattern := r.mux.Handler(q)
	if pattern != "" && path.Clean(q.URL.Path) == clean(q.URL.Path) {
		r.mux.ServeHTTP(w, q)
		return
	}
	code, methods := api.CodeUnknownRoute, allowed(r.mux, q)
	if methods != "" {
		code = api.CodeMethod
		w.Header().Set("Allow", methods)
	}
	r.fail(w, q, api.NewProblem(code, q.Method+" "+q.URL.Path+" is no call; /openapi.json names all"))
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

// fail answers with a problem outside of an operation.
func (r *Router) fail(w http.ResponseWriter, q *http.Request, p api.Problem) {
	if err := Refuse(w, q, p); err != nil {
		r.log.Debug("an answer did not reach its reader", "err", err)
	}
}

// Refuse answers with a problem, also before there is a call. An error says that it did not reach its reader.
func Refuse(w http.ResponseWriter, q *http.Request, p api.Problem) error {
	p.Instance = instanceOf(q.Context())
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	return json.NewEncoder(w).Encode(p)
}
