package heartbeat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/doorway"
	"hale/internal/probe"
	"hale/internal/secret"
)

// places are the limits of who is connected.
var places = doorway.Limits{
	All: 8192, Strangers: 4096, PerStranger: 32, PerKnown: 4096, KnownFor: time.Hour,
}

// The limits of what one client may take, machine or not, beside those of places.
const (
	maxHead      = 16 << 10 // bytes
	requestLimit = 10 * time.Second
	idleLimit    = 2 * time.Minute
)

// path is where everybody reports; it alone is where the receiver tests itself.
const path = "/heartbeat"

// serve listens at the place until ctx ends.
func (r *Receiver) serve(ctx context.Context, place Place) error {
	l, err := doorway.Listen(ctx, place.Listen, place.Certificate, place.Key, r.places)
	if err != nil {
		return err
	}
	defer l.Close()
	self := &self{address: cmp.Or(place.Address, l.Addr().String()), word: r.word, secure: place.Certificate != ""}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { // it ends with serving
		ended <- defect.Try(func() error {
			return doorway.Serve(serving, &http.Server{
				Handler:           defect.Handler(r.handler(), r.panics, ""),
				ReadHeaderTimeout: requestLimit, ReadTimeout: requestLimit,
				WriteTimeout: requestLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHead,
				// what strangers do; that it does not work itself, it notices
				ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
			}, l, 0)
		})
	}()
	r.log.Info("hale listens for heartbeats", "address", l.Addr().String(), "tests", self.address)
	r.attend(ctx, self)
	r.attention.lose(errNotBegun)
	stop()
	return <-ended
}

func (r *Receiver) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, r.answer)
	mux.HandleFunc("POST "+path+"/{fleet}/{machine}/{check}", r.receive)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Connection", "close") // until it is known who it is
		mux.ServeHTTP(w, req)
	})
}

// answer says that a receiver listens here. The receiver recognizes its own requests by a word that only it knows.
func (r *Receiver) answer(w http.ResponseWriter, req *http.Request) {
	if same(req.Header.Get("Authorization"), "Bearer "+r.word.say) {
		r.places.Vouch(doorway.From(req.RemoteAddr), time.Now())
		r.word.heard.Add(1)
	}
	w.WriteHeader(http.StatusNoContent)
}

func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// receive takes one beat.
func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) {
	t := topic{fleet.Name(req.PathValue("fleet")), fleet.CheckName(req.PathValue("check"))}
	machine := fleet.MachineName(req.PathValue("machine"))
	token, code, why := r.admit(req.Context(), t, machine, req.Header.Get("Authorization"))
	var body []byte
	if why == "" {
		r.places.Vouch(doorway.From(req.RemoteAddr), time.Now())
		w.Header().Del("Connection")
		body, code, why = read(w, req)
	}
	ok, detail, err := parseReport(body)
	if why == "" && err != nil {
		code, why = http.StatusBadRequest, err.Error()
	}
	if why != "" {
		r.refuse(req, code, why)
		http.Error(w, why, code)
		return
	}
	b := probe.Beat{At: time.Now(), OK: ok, Detail: secret.Redact(detail, token)}
	if !r.hear(t, machine, b) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "heard; but this server does not watch such a machine now\n")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// admit checks that the report is from a machine of the fleet, and where each has a token of its own, from this one. A
// stranger does not learn which checks there are.
func (r *Receiver) admit(ctx context.Context, t topic, machine fleet.MachineName, authorization string) (token string,
	code int, why string) {
	const stranger = "there is no such heartbeat check, or this is not its token: send Authorization: Bearer TOKEN"
	how, known := r.proofOf(t)
	shown, bearer := strings.CutPrefix(authorization, "Bearer ")
	if !known || !bearer {
		return "", http.StatusUnauthorized, stranger
	}
	token, err := secret.Read(ctx, how.Token)
	if err != nil {
		now := time.Now()
		for _, reg := range r.of(t.fleet) {
			reg.miss(t.check, now, fmt.Errorf("the secret of token cannot be read: %w", err))
		}
		return "", http.StatusServiceUnavailable, "hale cannot read the token of this check"
	}
	if how.PerMachine {
		token = secret.Derived(token, how.TokenOf(t.fleet, machine, t.check))
	}
	if !same(strings.TrimSpace(shown), token) {
		return "", http.StatusUnauthorized, stranger
	}
	return token, 0, ""
}

// read returns what the machine has to say.
func read(w http.ResponseWriter, req *http.Request) (body []byte, code int, why string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReport))
	if err != nil {
		return nil, http.StatusRequestEntityTooLarge, fmt.Sprintf("write at most %d bytes", maxReport)
	}
	return body, 0, ""
}

// refuse says in the log that reports are refused, though not each time.
func (r *Receiver) refuse(req *http.Request, code int, why string) {
	r.mu.Lock()
	n, tell := r.complaint.add(time.Now())
	r.mu.Unlock()
	if tell {
		r.log.Warn("heartbeats are refused",
			"path", req.URL.Path, "from", req.RemoteAddr, "status", code, "why", why, "count", n)
	}
}

// complaintEvery is the least time from one complaint to the next.
const complaintEvery = time.Minute

// complaint counts what is not worth a line each.
type complaint struct {
	told time.Time
	n    int
}

// add counts one, and reports how many there were since it was told last, and whether it is time to tell.
func (c *complaint) add(now time.Time) (n int, tell bool) {
	c.n++
	if !c.told.IsZero() && now.Sub(c.told) < complaintEvery {
		return c.n, false
	}
	n = c.n
	c.n, c.told = 0, now
	return n, true
}
