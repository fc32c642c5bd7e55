// Package outpost puts a satellite together: probes in another network, which report to hale's server over one
// connection (hale probe).
//
// It promises that its token goes nowhere but to the servers that it was told to join, and there not in the clear.
package outpost

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/defect"
	"hale/internal/doorway"
	"hale/internal/probe/bulkprobe"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/satellite"
	"hale/internal/secret"
)

// Options say which satellite this is. All are needed, unless it says otherwise.
type Options struct {
	Join      []string // the servers of one installation
	TokenFile string
	CA        string // who signs their certificates; empty: as the system has it
	Name      string // empty: the token says it
	Version   string
	Logger    *slog.Logger
}

// The limits of the way to the server.
const (
	dialWithin  = 3 * time.Second
	idleFor     = time.Minute
	largestHead = 64 << 10
)

// Run probes and reports until ctx ends.
func Run(ctx context.Context, o Options) error {
	if err := o.sound(); err != nil {
		return fault.New(fault.Invalid, "probe", "", err)
	}
	path, err := filepath.Abs(o.TokenFile)
	if err != nil {
		return fault.New(fault.Invalid, "probe", o.TokenFile, err)
	}
	token, err := secret.File(path)
	if err == nil {
		_, err = token.Resolve(ctx)
	}
	if err != nil {
		return fault.New(fault.Invalid, "probe", o.TokenFile, err)
	}
	if exposed := token.Exposed(); exposed != "" {
		o.Logger.Warn("a secret is not kept well", "problem", exposed)
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		if secure.RootCAs, err = doorway.Authorities(o.CA).Get(time.Now()); err != nil {
			return fault.New(fault.Invalid, "probe", o.CA, err)
		}
	}
	return Probe(ctx, Report{To: o.Join, Name: o.Name, Version: o.Version, Token: token.Resolve, TLS: secure,
		Logger: o.Logger})
}

// Report says to which servers a vantage reports, and as which.
type Report struct {
	To      []string // as https://hale.example.org:7118
	Name    string
	Version string
	Token   func(context.Context) (string, error)
	TLS     *tls.Config
	Logger  *slog.Logger
}

// Probe probes what the servers want probed and reports to them, until ctx ends. An error says that it cannot probe.
func Probe(ctx context.Context, r Report) error {
	if err := netprobe.MayPing(ctx); errors.Is(err, fs.ErrPermission) {
		r.Logger.Warn("there is no right to send pings: ping checks have no vote from here", "err", err)
	}
	defects := defect.NewRegister(r.Logger)
	panics := defects.Witness(defect.Probes, "")
	network := netprobe.Network()
	defer func() {
		if err := network.Close(); err != nil {
			r.Logger.Warn("the probes' sockets were not closed well", "err", err)
		}
	}()
	engine, stop := engineOf(ctx, network, r.Logger, panics)
	defer stop()
	through := way(r.TLS)
	defer through.CloseIdleConnections()
	return satellite.Run(ctx, satellite.Options{Join: r.To, Name: r.Name, Version: r.Version, Token: r.Token,
		Through: through, Engine: engine, Logger: r.Logger, Panics: panics})
}

// engineOf returns what probes over the network: by shards where this system has them. stop ends these, after the
// engine has ended.
func engineOf(ctx context.Context, network *netprobe.Net, log *slog.Logger,
	panics defect.Witness) (engine satellite.Engine, stop func()) {
	ordinary := netprobe.New(network, netprobe.Options{Panics: panics})
	pool, err := bulkprobe.New(bulkprobe.Options{Panics: panics})
	if err != nil {
		log.Info("checks are made in the ordinary way, which costs more where there are many", "err", err)
		return ordinary, func() {}
	}
	shards, end := context.WithCancel(context.WithoutCancel(ctx))
	var runs sync.WaitGroup
	runs.Go(func() {
		defer panics.Catch("", "its work", nil)
		if err := defect.Try(func() error { return pool.Run(shards) }); err != nil {
			log.Error("the shards do not probe", "err", err)
		}
	})
	return pool.Engine(ordinary), func() {
		end()
		runs.Wait()
		pool.Close()
	}
}

// way is the way to the servers: one connection, in which nobody reads the token.
func way(secure *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialWithin}).DialContext,
		TLSHandshakeTimeout: dialWithin, MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, IdleConnTimeout: idleFor,
		MaxResponseHeaderBytes: largestHead, TLSClientConfig: secure,
	}
}

// sound reports a server to which the token would not go well.
func (o Options) sound() error {
	if len(o.Join) == 0 {
		return errors.New("no server is named: write --join https://hale.example.org:7118")
	}
	for _, j := range o.Join {
		u, err := url.Parse(j)
		switch {
		case err == nil && u.User != nil:
			return errors.New("a server's address has a user in it: a satellite shows its token, and nothing else")
		case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Host == "":
			return fmt.Errorf("%q is not the address of a server: write it as https://hale.example.org:7118", j)
		case u.Scheme == "http" && !here(u.Hostname()):
			return fmt.Errorf("the token would go to %s in the clear: write https://%s", u.Host, u.Host)
		}
	}
	return nil
}

// here reports whether the host is this very machine.
func here(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
