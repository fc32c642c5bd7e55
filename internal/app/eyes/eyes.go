// Package eyes makes vantages of servers that stand by: they look at machines for the active server, as satellites do.
// There is no token and no program to set up.
//
// It promises that a server which stands by reports to the active one and to no other, which it knows by a certificate
// that the store names or by that of hale's own cluster; that its token ends with its listing in the store; and that
// whatever fails here leaves the active server with a vote less, and keeps none from becoming active.
package eyes

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"time"

	"hale/internal/config"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/doorway"
	"hale/internal/probe/satellite"
	"hale/internal/state/active"
)

// Options say where the active server takes reports. All are needed, unless it says otherwise.
type Options struct {
	Hub    *satellite.Hub
	Office *active.Office
	// Door has reports taken at the door of hale's own cluster; nil: this server is in none.
	Door   Door
	Logger *slog.Logger
	Panics defect.Witness
}

// Door is where the other servers of hale's own cluster come in.
type Door interface {
	// Hear has reports answered; nil: there are none any more. eyes says who looks.
	Hear(reports http.Handler, eyes func() []satellite.Eye)
}

// place is where reports are taken; zero: nowhere.
type place struct{ listen, advertise string }

// Reception is where the active server takes reports of those that stand by. Nil takes none.
type Reception struct {
	Options
	site *doorway.Moving[place]

	mu     sync.Mutex
	since  time.Time
	lost   error // why no report is taken
	wanted bool  // whether reports are wanted
	all    []satellite.Server
}

// New makes one that takes no reports yet.
func New(o Options) *Reception { return &Reception{Options: o, site: doorway.NewMoving[place]()} }

// Take has it go by another configuration: reports are taken as long as a check wants them.
func (r *Reception) Take(c *config.Config) {
	if r == nil {
		return
	}
	at := place{}
	if slices.ContainsFunc(c.Fleets, func(f policy.Spec) bool { return f.Shared() }) {
		at = place{c.Etcd.Listen, c.Etcd.Advertise}
		if r.Door != nil {
			at = place{c.Cluster.Listen, c.Cluster.Advertise}
		}
	}
	r.site.To(at)
}

// Run takes reports of the servers that stand by until ctx ends. When it cannot, it tries again and again.
func (r *Reception) Run(ctx context.Context) {
	if r == nil {
		return
	}
	known := make(chan struct{})
	var follows sync.WaitGroup
	follows.Go(func() {
		defer r.Panics.Catch("", "list of servers", nil)
		r.follow(ctx, sync.OnceFunc(func() { close(known) }))
	})
	defer follows.Wait()
	select {
	case <-ctx.Done(): // a report whose token is not known yet would be refused
	case <-known:
	}
	r.site.Run(ctx, r.hear, func(err error) {
		r.cannot(fmt.Errorf("hale takes no reports of the servers that stand by: %w", err))
		r.Logger.Warn("servers that stand by are not heard", "err", err)
	})
}

// again is the pause after which what failed is tried again.
const again = 2 * time.Second

// follow makes vantages of the servers that stand by, until ctx ends. While the store does not answer, the vantages
// stay as they are.
func (r *Reception) follow(ctx context.Context, known func()) {
	for ctx.Err() == nil {
		err := active.Follow(ctx, r.Office, func(all []active.Server) {
			r.know(looking(all))
			known()
		})
		if ctx.Err() == nil {
			r.Logger.Debug("which servers stand by is not known", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// know has these servers be vantages, while reports are wanted.
func (r *Reception) know(all []satellite.Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = all
	if r.wanted {
		r.Hub.TakeServers(all)
	}
}

// want says that reports are wanted, or that none are.
func (r *Reception) want(is place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wanted = is != (place{}); r.wanted {
		r.Hub.TakeServers(r.all)
	} else {
		r.Hub.TakeServers(nil)
	}
}

// looking returns the servers that look. Where two have one name, the newer one comes first: after a restart the store
// lists the process before it for a while.
func looking(all []active.Server) []satellite.Server {
	all = slices.DeleteFunc(slices.Clone(all), func(s active.Server) bool { return s.Token == "" })
	slices.SortStableFunc(all, func(a, b active.Server) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), b.Since.Compare(a.Since))
	})
	out := make([]satellite.Server, len(all))
	for i, s := range all {
		out[i] = satellite.Server{Name: s.Name, Token: string(s.Token)}
	}
	return out
}

// hear takes reports at the place until ctx ends.
func (r *Reception) hear(ctx context.Context, at place) error {
	r.want(at)
	if at == (place{}) {
		return r.wait(ctx, active.Hearing{})
	}
	if r.Door != nil {
		r.Door.Hear(r.Hub.Handler(), func() []satellite.Eye { return r.Hub.Eyes(time.Now()) })
		defer r.Door.Hear(nil, nil)
		return r.wait(ctx, active.Hearing{At: at.advertise})
	}
	own, err := certificate()
	if err != nil {
		return err
	}
	where := active.Hearing{At: at.advertise, Certificate: fingerprint(own.Certificate[0])}
	return r.Hub.Hear(ctx, at.listen, own, func() error { return r.say(ctx, where) })
}

// wait says where reports are taken, and waits for the end.
func (r *Reception) wait(ctx context.Context, where active.Hearing) error {
	if err := r.say(ctx, where); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// say has those that stand by know where reports are taken.
func (r *Reception) say(ctx context.Context, where active.Hearing) error {
	err := r.Office.Hear(ctx, where)
	if err == nil {
		r.cannot(nil)
	}
	return err
}

func (r *Reception) cannot(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil || err == nil {
		r.since = time.Now()
	}
	r.lost = err
}

// Trouble returns why no report is taken although there should be some, and since when; no error: all is well.
func (r *Reception) Trouble() (since time.Time, err error) {
	if r == nil {
		return time.Time{}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since, r.lost
}

// lives is how long a certificate holds: it is made anew whenever this server begins to take reports, and known by its
// fingerprint alone.
const lives = 100 * 365 * 24 * time.Hour

// certificate makes one for as long as reports are taken. No file has its key.
func certificate() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	as := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hale"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(lives), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, as, as, &key.PublicKey, key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// errStranger is the cause of an error where something else answers than the active server.
var errStranger = errors.New("it shows another certificate than the active server's: something else answers there, " +
	"or the active server has just changed")

// Pinned speaks TLS only with the server that shows the certificate of this fingerprint.
func Pinned(pin string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it, by the fingerprint
		VerifyConnection: func(is tls.ConnectionState) error {
			if len(is.PeerCertificates) == 0 || fingerprint(is.PeerCertificates[0].Raw) != pin {
				return errStranger
			}
			return nil
		},
	}
}
