// Package door is where a server of hale's own cluster is reached: by the other servers, by its own commands, and by a
// server that has an invitation. All of it goes through one port, in TLS.
//
// It promises that who shows no certificate of the cluster's authority can only ask to join, with the secret of an
// invitation; and that a server which the cluster let go is turned away, though its certificate is good.
package door

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"hale/internal/cluster/papers"
	"hale/internal/core/fault"
	"hale/internal/defect"
	"hale/internal/doorway"
)

// House is what is behind the door. Errors are of package fault; their cause is told.
type House interface {
	Join(ctx context.Context, q JoinRequest) (JoinAnswer, error)
	Invite(ctx context.Context, q InviteRequest) (Invited, error)
	Leave(ctx context.Context) error
	Replace(ctx context.Context, q InviteRequest) (Invited, error)
	Dismiss(ctx context.Context, q DismissRequest) error
	Servers(ctx context.Context) (Servers, error)
	Standing(ctx context.Context) Standing
	// Gone reports whether the cluster let the server of the id go.
	Gone(ctx context.Context, id string) bool
	// Peers answers etcd's own calls; nil: not yet.
	Peers() http.Handler
	// Reports takes those of servers that stand by; nil: this one is not the active one, or takes none.
	Reports() http.Handler
}

// The calls beside etcd's own.
const (
	joinPath     = "/hale/join"
	invitePath   = "/hale/invite"
	leavePath    = "/hale/leave"
	replacePath  = "/hale/replace"
	dismissPath  = "/hale/dismiss"
	serversPath  = "/hale/servers"
	standingPath = "/hale/standing"
	reportPath   = "/satellite" // as satellites have it
)

// limits are the places: of strangers, who may come to join, some always stay free for the servers of the cluster.
var limits = doorway.Limits{All: 1024, Strangers: 256, PerStranger: 32, PerKnown: 512, KnownFor: time.Hour}

const (
	headersWithin = 5 * time.Second
	bodyWithin    = 10 * time.Second // of what is not etcd's
	endsWithin    = 200 * time.Millisecond
	longestBody   = 64 << 10
)

// Options say whose door it is.
type Options struct {
	House  House
	Papers *papers.Papers
	Logger *slog.Logger
	Panics defect.Witness
}

// Listen opens the port. The error names the address, and what to do.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var way net.ListenConfig
	l, err := way.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fault.New(fault.Conflict, "cluster.listen", address, fmt.Errorf("%w: does another program listen "+
			"there, and is it an address of this machine? (state.cluster.listen)", err))
	}
	return l, nil
}

// Serve answers at the listener until ctx ends.
func Serve(ctx context.Context, l net.Listener, o Options) error {
	d := door{o, doorway.New(limits)}
	srv := &http.Server{Handler: defect.Handler(d.handler(), o.Panics, "door"), ReadHeaderTimeout: headersWithin,
		ErrorLog:     slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}} // etcd's streams are of HTTP/1.1
	// etcd's streams never end by themselves.
	return doorway.Serve(ctx, srv, tls.NewListener(d.places.Listener(l), o.Papers.Serving()), endsWithin)
}

type door struct {
	Options
	places *doorway.Places
}

func (d door) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+joinPath, answered(d.House.Join))
	mux.Handle("POST "+invitePath, d.ours(answered(d.House.Invite)))
	mux.Handle("POST "+replacePath, d.ours(answered(d.House.Replace)))
	mux.Handle("POST "+leavePath, d.ours(answered(func(ctx context.Context, _ struct{}) (struct{}, error) {
		return struct{}{}, d.House.Leave(ctx)
	})))
	mux.Handle("POST "+dismissPath, d.ours(answered(func(ctx context.Context, q DismissRequest) (struct{}, error) {
		return struct{}{}, d.House.Dismiss(ctx, q)
	})))
	mux.Handle("POST "+serversPath, d.ours(answered(func(ctx context.Context, _ struct{}) (Servers, error) {
		return d.House.Servers(ctx)
	})))
	mux.Handle("POST "+standingPath, d.ours(answered(func(ctx context.Context, _ struct{}) (Standing, error) {
		return d.House.Standing(ctx), nil
	})))
	mux.Handle("POST "+reportPath, d.ours(http.HandlerFunc(d.reports)))
	mux.Handle("/", d.ours(http.HandlerFunc(d.peers)))
	return mux
}

// reports has a report of a server that stands by taken.
func (d door) reports(w http.ResponseWriter, r *http.Request) {
	taken := d.House.Reports()
	if taken == nil {
		http.Error(w, "this server is not the active one, or no check has vantages", http.StatusServiceUnavailable)
		return
	}
	way := http.NewResponseController(w)
	_ = way.SetReadDeadline(time.Now().Add(bodyWithin)) // its connection can
	taken.ServeHTTP(w, r)
	_ = way.SetReadDeadline(time.Time{})
}

// peers has etcd answer its own calls. It panics with http.ErrAbortHandler, which ends the connection and is no defect,
// where etcd panics over what it cannot answer, as a message for another server: net/http wants that, and no caller
// could do better.
func (d door) peers(w http.ResponseWriter, r *http.Request) {
	peers := d.House.Peers()
	if peers == nil {
		http.Error(w, "this server is starting", http.StatusServiceUnavailable)
		return
	}
	defer func() {
		if p := recover(); p != nil {
			panic(http.ErrAbortHandler)
		}
	}()
	peers.ServeHTTP(w, r)
}

// ours lets servers of the cluster in, and nobody else. One that the cluster let go is told so as etcd does.
func (d door) ours(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			refuse(w, http.StatusUnauthorized, fault.Unauthorised, "only servers of the cluster may ask that")
			return
		}
		id := papers.IDOf(r.TLS.PeerCertificates[0])
		if id == "" || d.House.Gone(r.Context(), id) {
			refuse(w, http.StatusGone, fault.NotFound, "the cluster has let this server go: it left, or was replaced")
			return
		}
		d.places.Vouch(doorway.From(r.RemoteAddr), time.Now())
		next.ServeHTTP(w, r)
	})
}

// refusal is an answer that says why not.
type refusal struct {
	Kind fault.Kind `json:"kind"`
	Why  string     `json:"why"`
}

func refuse(w http.ResponseWriter, status int, kind fault.Kind, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refusal{kind, why}) // who asked has gone
}

// answered makes a call of the function.
func answered[Q, A any](do func(context.Context, Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q Q
		way := http.NewResponseController(w)
		_ = way.SetReadDeadline(time.Now().Add(bodyWithin)) // its connection can
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longestBody))
		_ = way.SetReadDeadline(time.Time{})
		if err == nil {
			err = json.Unmarshal(body, &q)
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, fault.Invalid, "the request cannot be read")
			return
		}
		a, err := do(r.Context(), q)
		if err != nil {
			refuse(w, http.StatusConflict, fault.KindOf(err), fault.Plain(err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a) // who asked has gone
	})
}
