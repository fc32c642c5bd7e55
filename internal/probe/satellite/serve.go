package satellite

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"hale/internal/defect"
	"hale/internal/doorway"
)

// places are the limits of who is connected.
var places = doorway.Limits{All: 1024, Strangers: 256, PerStranger: 16, PerKnown: 64, KnownFor: time.Hour}

// The limits of what one client may take, beside those of places.
const (
	maxHead      = 16 << 10 // bytes
	requestLimit = 10 * time.Second
	answerLimit  = hold + 10*time.Second
	idleLimit    = 2 * time.Minute
)

// nameHeader is where a satellite says what it is called; without it, its token alone says so.
const nameHeader = "Hale-Satellite"

// serve listens at the place until ctx ends.
func (h *Hub) serve(ctx context.Context, place Place) error {
	l, err := doorway.Listen(ctx, place.Listen, place.Certificate, place.Key, h.places)
	if err != nil {
		return err
	}
	h.cannot(nil)
	h.log.Info("hale listens for satellites", "address", l.Addr().String())
	return h.answerAt(ctx, l)
}

// Hear answers at another address, by another certificate, until ctx ends. ready is told once it listens there.
func (h *Hub) Hear(ctx context.Context, address string, certificate *tls.Certificate, ready func() error) error {
	l, err := doorway.ListenAs(ctx, address, &tls.Config{MinVersion: tls.VersionTLS13,
		Certificates: []tls.Certificate{*certificate}}, h.places)
	if err != nil {
		return err
	}
	if err := ready(); err != nil {
		return errors.Join(err, l.Close())
	}
	return h.answerAt(ctx, l)
}

func (h *Hub) answerAt(ctx context.Context, l net.Listener) error {
	defer l.Close()
	return doorway.Serve(ctx, &http.Server{
		Handler: h.Handler(), ReadHeaderTimeout: requestLimit, ReadTimeout: requestLimit,
		WriteTimeout: answerLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHead,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // what strangers do
	}, l, 0)
}

// Handler takes reports at Path.
func (h *Hub) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, h.receive)
	return defect.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Connection", "close") // until it is known who it is
		mux.ServeHTTP(w, req)
	}), h.panics, "")
}

// refusal is why a report is not taken.
type refusal struct {
	code int
	why  string
}

// Error implements error.
func (r refusal) Error() string { return r.why }

// receive takes one report, and answers it as soon as there is something new to tell, or after a while.
func (h *Hub) receive(w http.ResponseWriter, req *http.Request) {
	var r report
	name, err := h.admit(req)
	if err == nil {
		h.places.Vouch(doorway.From(req.RemoteAddr), time.Now())
		w.Header().Del("Connection")
		r, err = read(w, req)
	}
	if err == nil {
		err = h.take(name, &r)
	}
	var out orders
	if err == nil {
		out, err = h.answer(req.Context(), name, &r)
	}
	var refused refusal
	if errors.As(err, &refused) {
		h.log.Debug("a satellite's report is refused", "satellite", name, "from", req.RemoteAddr, "why", refused.why)
		http.Error(w, refused.why, refused.code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(out); err != nil {
		h.log.Debug("a satellite did not take its answer", "satellite", name, "err", err)
	}
}

// admit returns which satellite it is, by its token. A stranger does not learn which there are.
func (h *Hub) admit(req *http.Request) (name string, err error) {
	stranger := refusal{http.StatusUnauthorized,
		"no satellite has this token: see satellites.tokens in the server's configuration"}
	shown, bearer := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		return "", stranger
	}
	h.mu.Lock()
	tokens, servers := h.settings.Tokens, h.servers
	h.mu.Unlock()
	wants := req.Header.Get(nameHeader)
	if s := servers[wants]; s.token != "" && equal(strings.TrimSpace(shown), s.token) {
		if s.but != "" {
			return "", refusal{http.StatusForbidden, s.but}
		}
		return wants, nil
	}
	var unread error
	for _, name := range slices.Sorted(maps.Keys(tokens)) {
		if wants != "" && name != wants {
			continue
		}
		token, err := tokens[name].Resolve(req.Context())
		if err != nil {
			unread = err
			continue
		}
		if token != "" && equal(strings.TrimSpace(shown), token) {
			return name, nil
		}
	}
	if unread != nil {
		return "", refusal{http.StatusServiceUnavailable, "hale cannot read the token of a satellite"}
	}
	return "", stranger
}

func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// read returns the report, if it is one that this server understands.
func read(w http.ResponseWriter, req *http.Request) (report, error) {
	var r report
	if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxReport)).Decode(&r); err != nil {
		return r, refusal{http.StatusBadRequest, "this is no report of a satellite: " + err.Error()}
	}
	if r.Protocol != Protocol {
		return r, refusal{http.StatusUpgradeRequired, fmt.Sprintf("the satellite (hale %s) speaks protocol %d, and "+
			"this server speaks %d: install the same version of hale on both", line(r.Version), r.Protocol, Protocol)}
	}
	return r, nil
}

// take takes in what the satellite says.
func (h *Hub) take(name string, r *report) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.seats[name]
	now := time.Now()
	switch {
	case s == nil:
		return refusal{http.StatusUnauthorized, "the satellite is not in the configuration any more"}
	case s.process != r.Process && s.session != "" && now.Before(s.heard.Add(h.settings.StaleAfter)):
		return refusal{http.StatusConflict,
			"another process reports as satellite " + name + ": give each a token of its own"}
	}
	s.heard = now
	if r.Session != s.session || r.Session == "" || r.Process != s.process || r.Stamp > s.stamp {
		h.log.Info("a satellite reports", "satellite", name, "version", line(r.Version))
		s.begin(r.Process, now)
		r.Session, r.Have = "", 0
		for _, w := range h.targets {
			if slices.Contains(w.eyes, name) {
				w.panel.heed(w.ID)
			}
		}
		return nil
	}
	s.asOf = h.origin.Add(time.Duration(r.Stamp) - max(r.Behind, 0))
	for _, e := range r.Edges {
		w := h.targets[e.ID]
		if w == nil || w.revision != e.Revision || !slices.Contains(w.eyes, name) {
			continue // of what it is to look at no more, or otherwise
		}
		e.said = e.tidied()
		s.votes[e.ID] = e
		w.panel.heed(e.ID)
	}
	for _, l := range r.Looks {
		if a := s.looks[l.Number]; a != nil {
			a.answer <- l.tidied()
			delete(s.looks, l.Number)
		}
	}
	return nil
}

// answer returns what is new for the satellite, as soon as something is, or after a while.
func (h *Hub) answer(ctx context.Context, name string, r *report) (orders, error) {
	late := time.NewTimer(hold)
	defer late.Stop()
	for over := false; ; {
		h.mu.Lock()
		s := h.seats[name]
		if s == nil || s.process != r.Process {
			h.mu.Unlock()
			return orders{}, refusal{http.StatusConflict, "another process reports as satellite " + name}
		}
		if over || r.Session == "" || !s.idle(r.Have) {
			out := h.news(s, r)
			h.mu.Unlock()
			return out, nil
		}
		h.mu.Unlock()
		select {
		case <-ctx.Done():
			over = true
		case <-late.C:
			over = true
		case <-s.bell:
		}
	}
}

// news is what the satellite does not have yet. It is stamped now.
func (h *Hub) news(s *seat, r *report) orders {
	out := orders{Protocol: Protocol, Session: s.session, Anew: r.Session == ""}
	var changes []change
	changes, out.Have = s.since(r.Have)
	for _, c := range changes {
		if w := h.targets[c.id]; w != nil && !c.gone {
			out.Targets = append(out.Targets, w.onWire())
		} else {
			out.Gone = append(out.Gone, c.id)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(s.looks)) {
		if a := s.looks[n]; !a.sent {
			a.sent = true
			out.Looks = append(out.Looks, a.look)
		}
	}
	s.stamp = int64(time.Since(h.origin))
	out.Stamp = s.stamp
	return out
}
