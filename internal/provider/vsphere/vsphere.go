// Package vsphere is the adapter to VMware vCenter: one provider is one datacenter, or one cluster of it, with all its
// hosts. It promises what package provider's port demands. Every call ends with its context. A task with an unseen end
// is fault.UnknownOutcome. An instance carries its mark from the moment it exists. Each call reads the machine's mark,
// and acts only if it is the one that the caller named. Each write names vCenter's change version, so that it cannot
// overwrite another client's change.
//
// It places new instances on the host that it is told; where DRS moves them later is DRS's business, and is followed.
// It makes no template and no network. How it does what it does is told in DESIGN.md.
package vsphere

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/secret"
)

var (
	_ provider.Rehearser    = (*Provider)(nil)
	_ provider.Provider     = (*Provider)(nil)
	_ provider.Watcher      = (*Provider)(nil)
	_ provider.Resumer      = (*Provider)(nil)
	_ provider.SoftRebooter = (*Provider)(nil)
	_ provider.GuestPinger  = (*Provider)(nil)
	_ provider.Keeper       = (*Provider)(nil)
	_ provider.UsageReader  = (*Provider)(nil)
	_ provider.Rebuilder    = (*Provider)(nil)
	_ provider.Snapshotter  = (*Provider)(nil)
)

// Options are what New needs.
type Options struct {
	// URL is vCenter's, as https://vcenter.example.org/sdk; the path may be left out.
	URL string
	// User logs in with the Password, which is resolved at each login.
	User     string
	Password secret.Secret
	// Roots, when set, are the only authorities that may have signed vCenter's certificate. Default: the system's.
	Roots *x509.CertPool
	// Thumbprint, when set, is the SHA-256 (or SHA-1) of the one certificate that is believed though no authority
	// signed it, in hex with colons.
	Thumbprint string
	// Unverified believes any certificate.
	Unverified bool
	// Datacenter is the path of the datacenter, and Cluster that of a cluster (or a lone host) within its hosts.
	// Without Cluster all hosts of the datacenter count.
	Datacenter, Cluster string
	// Folder is where instances are built, below the datacenter's folder of virtual machines; no two in it have the
	// same name. Empty: that folder itself.
	Folder string
	// Pool is the resource pool of new instances, below the cluster's own; needs Cluster. Empty: that of the host's
	// cluster.
	Pool string
	// Datastore holds new instances, and their kept disks. Empty: where the template lies, and no kept disks.
	Datastore string
	// AntiAffinity keeps the instances of each fleet on different hosts, by a rule of DRS.
	AntiAffinity bool
	// Places are labels of hosts, beside what vCenter says.
	Places map[fleet.HostName]fleet.Place
	// Installation, when set, is the only installation with orders and marks that are accepted; others are
	// fault.Conflict.
	Installation fleet.Installation
	// CallLimit ends calls without a deadline in their context. Default: one minute.
	CallLimit time.Duration
	// Keepalive is for how long a watch waits for news before it asks again; at least a second. Default: 30 s.
	Keepalive time.Duration
	// Logger receives what no caller can be told. Default: none.
	Logger *slog.Logger
}

// Defaults of Options.
const (
	defaultCallLimit = time.Minute
	defaultKeepalive = 30 * time.Second
)

// Provider is the adapter. Its methods may be called at the same time.
type Provider struct {
	o    Options
	url  *url.URL
	log  *slog.Logger
	gate chan struct{} // held while logging in
	conn *conn         // guarded by gate
	// lockout is guarded by gate, too.
	lockout lockout
	under   calls // those under way
	marks   *marks
	stops   *stops
	rules   chan struct{} // held while a rule is read and written
}

// New checks the options and makes the adapter. It connects to nothing yet.
func New(o Options) (*Provider, error) {
	u, problems := parseURL(o.URL)
	if o.User == "" || o.Password.None() {
		problems = append(problems, errors.New("user and password are needed"))
	}
	if o.Datacenter == "" {
		problems = append(problems, errors.New("no datacenter"))
	}
	if o.Pool != "" && o.Cluster == "" {
		problems = append(problems, errors.New("a resource pool needs its cluster"))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fault.New(fault.Invalid, "vsphere.new", "", err)
	}
	if o.CallLimit <= 0 {
		o.CallLimit = defaultCallLimit
	}
	if o.Keepalive <= 0 {
		o.Keepalive = defaultKeepalive
	}
	o.Keepalive = max(o.Keepalive, time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Provider{
		o:     o,
		url:   u,
		log:   o.Logger,
		gate:  make(chan struct{}, 1),
		rules: make(chan struct{}, 1),
		marks: newMarks(),
		stops: newStops(),
	}, nil
}

// parseURL reads vCenter's address. What was written is not repeated, since a password might be in it.
func parseURL(text string) (*url.URL, []error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	switch {
	case err != nil, u.Host == "":
		return nil, []error{errors.New("the URL is invalid: write https://vcenter.example.org/sdk")}
	case u.Scheme != "https":
		return nil, []error{fmt.Errorf("the URL's scheme is %q, and must be https", u.Scheme)}
	case u.User != nil:
		return nil, []error{errors.New("the URL holds a user or a password: use the keys user and password")}
	}
	if u.Path == "" {
		u.Path = "/sdk"
	}
	return u, nil
}

// Close ends all connections; calls and watches under way end.
func (p *Provider) Close() error {
	p.under.close()
	p.logout()
	return nil
}
