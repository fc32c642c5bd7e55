// Package gate is where callers of the API come in by the network: it listens, says who calls, and turns away whom it
// does not know.
//
// It promises that no call is made for a caller that is not known, except those that are for everybody; that what one
// caller, one address, or all of them together may take is bounded, in connections, requests, bytes and time, and the
// callers that are known are served while strangers press in; that a page which a browser shows from elsewhere reaches
// nothing, by no cookie and by no name of its own; and that a stream ends soon after what its caller showed is over.
// Where it cannot listen, hale goes on without it, and it tries again.
//
// What a caller may do is decided behind it.
package gate

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/openid"
	"hale/internal/api/rest"
	"hale/internal/core/fault"
	"hale/internal/defect"
	"hale/internal/doorway"
	"hale/internal/state"
)

// Place is where the gate is.
type Place struct {
	Listen           string // host:port; empty: nowhere
	Certificate, Key string // files in PEM form; empty: no TLS is spoken
	ClientCA         string // who signs clients' certificates; empty: none is asked for
}

// Rules are who may come in, and how much each may take. They are never changed.
type Rules struct {
	Place        Place
	Names        []string // host names by which hale is asked; empty: those of the certificate
	Certificates map[string]access.Grant
	OpenID       *openid.Provider // nil: none
	Requests     int              // of one caller in a second
	Strangers    int              // of one address in a second that shows nothing good
	Connections  int
	Streams      int // requests under way
}

// Options are what a gate is made of. All are needed.
type Options struct {
	Store  state.Store
	Logger *slog.Logger
	// Refused is told of each caller that is turned away, with what is in the audit of it.
	Refused func(ctx context.Context, p access.Principal, operation string, problem api.Problem)
	Panics  defect.Witness
}

// Gate is one. It is a net.Listener for the servers behind it.
type Gate struct {
	opts  Options
	cross *http.CrossOriginProtection
	door  *openid.Door
	rules atomic.Pointer[Rules]

	entrance

	mu        sync.Mutex
	callers   paces
	strangers paces
	underWay  map[string]int // requests, by caller
	all       int
	good      map[digest]time.Time // what opened something, and when last
	used      map[string]time.Time // tokens, and which use of each was noted last
}

// Limits that no configuration has.
const (
	headersWithin = 10 * time.Second // and the body, once it is known who sends it
	writeWithin   = 30 * time.Second // for each piece of an answer
	checkEvery    = 30 * time.Second // whether what the caller of a stream showed is still good
	refusedWithin = time.Second      // for what a refused caller still sends
	noteWithin    = time.Second
)

// New makes a gate that is nowhere yet.
func New(o Options) *Gate {
	g := &Gate{
		opts: o, cross: http.NewCrossOriginProtection(), entrance: newEntrance(o.Logger, o.Panics),
		callers: paces{}, strangers: paces{}, underWay: map[string]int{}, good: map[digest]time.Time{},
		used: map[string]time.Time{},
	}
	g.door = openid.NewDoor(o.Store, g.provider, g.refuseSignIn)
	return g
}

// Take has it go by the rules from now on; nil: it is nowhere. What is under way goes on.
func (g *Gate) Take(r *Rules) {
	g.rules.Store(r)
	if r == nil {
		g.move(Place{}, 0)
		return
	}
	g.move(r.Place, r.Connections)
}

func (g *Gate) provider() *openid.Provider {
	if r := g.rules.Load(); r != nil {
		return r.OpenID
	}
	return nil
}

// free are the calls that are for everybody.
var free = []string{"/healthz", "/openapi.json"}

// Guard lets callers through to the handler, with who they are.
func (g *Gate) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &paced{ResponseWriter: rw, conn: http.NewResponseController(rw)}
		defer w.extend() // for what is left in the server's buffers
		_ = w.conn.SetReadDeadline(time.Now().Add(headersWithin))
		hardened(w.Header())
		rules := g.rules.Load()
		if rules == nil {
			g.refuse(w, r, access.Principal{}, api.NewProblem(api.CodeBusy, "the API is on the socket only"))
			return
		}
		if p, wrong := g.unfit(r, rules); wrong {
			g.refuse(w, r, access.Principal{}, p)
			return
		}
		g.identify(w, r, rules, next)
	})
}

// hardened tells browsers to take an answer for nothing but what it is.
func hardened(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
}

// unfit says what is wrong with a request whoever sends it.
func (g *Gate) unfit(r *http.Request, rules *Rules) (api.Problem, bool) {
	switch {
	case !tidyPath(r.URL.Path, r.URL.EscapedPath()):
		return api.NewProblem(api.CodeBadRequest, "the path is not a plain one"), true
	case !g.hasName(r.Host, rules):
		p := api.NewProblem(api.CodeMisdirected, "hale is asked by a name that is none of its own")
		p.Advice = "name it in api.names of the configuration"
		return p, true
	case g.cross.Check(r) != nil:
		return api.NewProblem(api.CodeCrossOrigin, "a browser asks for a page that comes from elsewhere"), true
	}
	return api.Problem{}, false
}

// tidyPath reports whether every server along the way takes the path for the same one.
func tidyPath(plain, escaped string) bool {
	for _, c := range plain {
		if c < ' ' || c == '\\' || c == 0x7f {
			return false
		}
	}
	slash := strings.TrimSuffix(plain, "/")
	return strings.HasPrefix(plain, "/") && (plain == "/" || path.Clean(plain) == slash) &&
		!strings.Contains(strings.ToLower(escaped), "%2e")
}

// hasName reports whether the host is one of hale's names, this machine's, or an address: a page that was loaded by a
// foreign name reaches none of these (DNS rebinding).
func (g *Gate) hasName(host string, rules *Rules) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil || name == "localhost" {
		return true
	}
	if len(rules.Names) > 0 {
		return slices.ContainsFunc(rules.Names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	leaf := g.leaf()
	return leaf != nil && leaf.VerifyHostname(name) == nil
}

// identify lets the caller through if it is known, or the call is for everybody.
func (g *Gate) identify(w *paced, r *http.Request, rules *Rules, next http.Handler) {
	from := doorway.From(r.RemoteAddr).String()
	shown := showing(r)
	if wait := g.pressing(from, shown, rules); wait > 0 {
		g.throttle(w, r, access.Principal{}, wait)
		return
	}
	who, err := g.who(r, rules)
	who.p.From = hostOf(r.RemoteAddr)
	switch {
	case err != nil && !fault.Is(err, fault.Unauthorised):
		g.refuse(w, r, who.p, api.NewProblem(api.CodeStore, "it cannot be told now who calls"))
	case err == nil && who.p.Kind != "":
		g.vouch(r, shown)
		g.admit(w, r, who, rules, next)
	case err == nil && (slices.Contains(free, r.URL.Path) || g.door.Serves(r)):
		g.strange(from, rules)
		if !g.door.Serves(r) {
			r.Body, r.ContentLength = http.NoBody, 0 // what strangers send is not read
		}
		g.serve(w, r, who, rules, next)
	default:
		g.strange(from, rules)
		g.unknown(w, r, who.p, err)
	}
}

// unknown turns away whom nothing shows.
func (g *Gate) unknown(w *paced, r *http.Request, p access.Principal, err error) {
	problem := api.NewProblem(api.CodeUnauthenticated, "it is not known who calls: show a token, a certificate or sign in")
	challenge := `Bearer realm="hale"`
	if err != nil {
		problem.Detail = "what is shown opens nothing here: it is over, revoked, or for another hale"
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	g.answer(w, r, problem)
	said := problem
	if err != nil {
		said.Detail = fault.Plain(err) // why is for the audit only
	}
	g.tell(r, p, said)
}

// tell notes a refusal. The path of one that is not known is not what its refusals are told apart by.
func (g *Gate) tell(r *http.Request, p access.Principal, problem api.Problem) {
	operation := r.Method + " " + r.URL.Path
	if p.Kind == "" {
		operation = r.Method
	}
	g.opts.Refused(r.Context(), p, operation, problem)
}

// admit lets a known caller through as often as it may.
func (g *Gate) admit(w *paced, r *http.Request, who found, rules *Rules, next http.Handler) {
	g.mu.Lock()
	wait := g.callers.take(string(who.p.Kind)+who.p.ID, rules.Requests, 2*rules.Requests, time.Now())
	g.mu.Unlock()
	if wait > 0 {
		g.throttle(w, r, who.p, wait)
		return
	}
	g.noteUse(r, who.p)
	g.serve(w, r, who, rules, next)
}

// serve makes the call, among those that are under way.
func (g *Gate) serve(w *paced, r *http.Request, who found, rules *Rules, next http.Handler) {
	leave, why := g.enter(who.p, rules)
	if why != "" {
		p := api.NewProblem(api.CodeBusy, why)
		if who.p.Kind != "" {
			p = api.NewProblem(api.CodeThrottled, why)
		}
		w.Header().Set("Retry-After", "5")
		g.refuse(w, r, who.p, p)
		return
	}
	defer leave()
	ctx, stop := g.while(r, who, rules)
	defer stop()
	r = r.WithContext(access.With(ctx, who.p))
	if g.door.Serves(r) {
		g.signIn(w, r)
		return
	}
	// What reads the body sets a deadline of its own. One that passes later would end the call.
	_ = w.conn.SetReadDeadline(time.Time{})
	next.ServeHTTP(w, r)
}

// signIn serves a sign-in, which has a small body.
func (g *Gate) signIn(w *paced, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, signInBytes))
	if err != nil {
		g.refuse(w, r, access.Of(r.Context()), api.NewProblem(api.CodeTooLarge, "the body did not come as it should"))
		return
	}
	_ = w.conn.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.door.ServeHTTP(w, r)
}

// signInBytes are the most that a sign-in sends.
const signInBytes = 16 << 10

// while returns a context that ends when what the caller showed is over.
func (g *Gate) while(r *http.Request, who found, rules *Rules) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	if who.p.Kind == "" {
		return ctx, func() { cancel(nil) }
	}
	if !who.until.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, who.until)
		was := cancel
		cancel = func(err error) { stop(); was(err) }
	}
	var again *time.Timer
	var mu sync.Mutex // again is set before the timer is looked at
	mu.Lock()
	again = time.AfterFunc(checkEvery, func() {
		defer g.opts.Panics.Catch("api", "a look whether a caller is still known", nil)
		mu.Lock()
		defer mu.Unlock()
		now := g.rules.Load()
		if now == nil {
			now = rules
		}
		if _, err := g.who(r, now); fault.Is(err, fault.Unauthorised) {
			cancel(errOver)
			return
		}
		again.Reset(checkEvery)
	})
	mu.Unlock()
	return ctx, func() { again.Stop(); cancel(nil) }
}

var errOver = errors.New("what the caller showed is over")

// throttle turns away who comes too often.
func (g *Gate) throttle(w *paced, r *http.Request, p access.Principal, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
	g.refuse(w, r, p, api.NewProblem(api.CodeThrottled, "too many requests came from here just now"))
}

// refuse turns the caller away, and says so.
func (g *Gate) refuse(w *paced, r *http.Request, p access.Principal, problem api.Problem) {
	if p.From == "" {
		p.From = hostOf(r.RemoteAddr)
	}
	g.answer(w, r, problem)
	g.tell(r, p, problem)
}

// answer writes a problem, and waits no longer than a moment for what is still sent.
func (g *Gate) answer(w *paced, r *http.Request, problem api.Problem) {
	_ = w.conn.SetReadDeadline(time.Now().Add(refusedWithin))
	if r.ContentLength != 0 && r.ProtoMajor < 2 {
		w.Header().Set("Connection", "close")
	}
	if err := rest.Refuse(w, r, problem); err != nil {
		g.opts.Logger.Debug("an answer did not reach its reader", "err", err)
	}
}

// refuseSignIn answers a sign-in that comes to nothing.
func (g *Gate) refuseSignIn(rw http.ResponseWriter, r *http.Request, err error) {
	w, ok := rw.(*paced)
	if !ok {
		w = &paced{ResponseWriter: rw, conn: http.NewResponseController(rw)}
	}
	code := api.CodeStore
	switch fault.KindOf(err) { //nolint:exhaustive // the others are the store's, or the provider's
	case fault.Unauthorised, fault.Quota:
		code = api.CodeForbidden
	case fault.NotFound:
		code = api.CodeUnknownRoute
	case fault.Invalid:
		code = api.CodeBadRequest
	}
	g.refuse(w, r, access.Of(r.Context()), api.NewProblem(code, fault.Plain(err)))
}

func hostOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

// paced gives a reader so much time for each piece of an answer. The answer as a whole has no limit: it may be a stream.
// Between two pieces there is no deadline: by HTTP/2, one that passes ends a stream that nothing is written to.
type paced struct {
	http.ResponseWriter
	conn *http.ResponseController // not every connection has deadlines
}

// Write implements http.ResponseWriter.
func (p *paced) Write(b []byte) (int, error) {
	p.extend()
	defer p.rest()
	return p.ResponseWriter.Write(b)
}

// FlushError is what http.ResponseController calls.
func (p *paced) FlushError() error {
	p.extend()
	defer p.rest()
	return p.conn.Flush()
}

// SetWriteDeadline is what http.ResponseController calls. The pace is set already.
func (*paced) SetWriteDeadline(time.Time) error { return nil }

func (p *paced) extend() { _ = p.conn.SetWriteDeadline(time.Now().Add(writeWithin)) }

func (p *paced) rest() { _ = p.conn.SetWriteDeadline(time.Time{}) }

// Unwrap is for http.ResponseController.
func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

var _ net.Listener = (*Gate)(nil)

// leastTLS is the oldest version that is spoken.
const leastTLS = tls.VersionTLS12
