// Package openstack is the adapter to OpenStack clouds: one provider is one project of one region. It promises what
// package provider's port demands, on clouds where names are not unique and calls only begin something. An instance
// carries its mark from the moment it exists. Of two creates for one name one wins (see DESIGN.md). A call with an
// unknown effect is fault.UnknownOutcome. Each call reads the server's mark, and acts only if it is the one that the
// caller named. "Not found" is Nova's own word, not a proxy's.
//
// It does not choose hosts, which is Nova's scheduler's business: to hale a project is one host with an empty name. It
// makes no network, no flavor, no volume but the machines' kept disks, and no image but copies of its servers' disks.
package openstack

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/provider"
	"hale/internal/provider/openstack/notification"
)

var (
	_ provider.Rehearser     = (*Provider)(nil)
	_ provider.Provider      = (*Provider)(nil)
	_ provider.Resumer       = (*Provider)(nil)
	_ provider.SoftRebooter  = (*Provider)(nil)
	_ provider.Keeper        = (*Provider)(nil)
	_ provider.Reverter      = (*Provider)(nil)
	_ provider.Adjuster      = (*Provider)(nil)
	_ provider.Rebuilder     = (*Provider)(nil)
	_ provider.ConsoleReader = (*Provider)(nil)
	_ provider.UsageReader   = (*Provider)(nil)
	_ provider.Evacuator     = (*Provider)(nil)
	_ provider.Migrator      = (*Provider)(nil)
	_ provider.Snapshotter   = (*Provider)(nil)
	_ provider.Rescuer       = (*Provider)(nil)
	_ provider.Chooser       = (*Provider)(nil)
	_ provider.StartReader   = (*Provider)(nil)
	_ provider.StartNoter    = (*Provider)(nil)
)

// Options are what New needs. The zero value of each but Cloud has a default.
type Options struct {
	// Cloud is the entry of clouds.yaml.
	Cloud string
	// CloudsFile is where clouds.yaml is. Default: the usual places, OS_CLIENT_CONFIG_FILE first.
	CloudsFile string
	// Region overrides that of the file.
	Region string
	// Hypervisors says that the credentials may see the cloud's hypervisors (an administrator's, usually): each is a
	// host then, with the servers that are on it. Else the project is one host, and nothing is evacuated or migrated.
	Hypervisors bool
	// Places are where hypervisors stand, as far as the configuration says; Nova knows their availability zones.
	Places map[fleet.HostName]fleet.Place
	// FullEvery is the time from one full list to the next; in between only changes are asked for. Default: one minute.
	FullEvery time.Duration
	// CallLimit ends calls without a deadline in their context. Default: one minute.
	CallLimit time.Duration
	// Events is how the cloud's message bus is listened to; nil: it is not. Its logger is the adapter's.
	Events *notification.Options
	// Wrap, when set, is put around the transport of every call: tests make trouble with it.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Logger receives what no caller can be told. Default: none.
	Logger *slog.Logger
	// Panics is told of what panicked on a goroutine of the adapter's own. May be nil.
	Panics defect.Witness
}

// Defaults of Options.
const (
	defaultFullEvery = time.Minute
	defaultCallLimit = time.Minute
)

// Provider is the adapter. Its methods may be called at the same time.
type Provider struct {
	options Options
	log     *slog.Logger
	closed  chan struct{} // closed by Close; every call ends with it
	end     sync.Once
	inits   chan struct{} // a token for the goroutine that logs in
	traffic traffic
	only    string // the type of the only service that is spoken to; empty: those that have servers (Service)

	mu      sync.Mutex // guards what follows, and is never held during a call
	session *session   // nil: not logged in
	resume  time.Time  // not before, since the cloud asked for a pause
	ids     map[fleet.InstanceID]string
	resting map[fleet.InstanceID]bool // those that the last list showed not to run
	stops   map[string]stopSeen

	list  listing
	lists *provider.Together[struct{}, provider.Listing]
	// projects asks for the project's id.
	projects *provider.Together[struct{}, string]

	ears *notification.Listener // nil: there is nothing to hear
}

// New checks the options and makes the adapter. It reads no file and connects to nothing yet.
func New(o Options) (*Provider, error) {
	if o.Cloud == "" {
		return nil, fault.New(fault.Invalid, "openstack.new", "", errors.New("no cloud is named"))
	}
	if o.FullEvery <= 0 {
		o.FullEvery = defaultFullEvery
	}
	if o.CallLimit <= 0 {
		o.CallLimit = defaultCallLimit
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Provider{
		options: o, log: o.Logger, inits: make(chan struct{}, 1), traffic: traffic{lanes: map[string]chan struct{}{}},
		ids: map[fleet.InstanceID]string{}, stops: map[string]stopSeen{},
	}
	var err error
	if p.ears, err = o.heard(); err != nil {
		return nil, err
	}
	p.lists, p.projects = provider.NewTogether[struct{}, provider.Listing](1), provider.NewTogether[struct{}, string](1)
	p.closed = make(chan struct{})
	return p, nil
}

// Close ends all calls under way and all connections.
func (p *Provider) Close() error {
	p.end.Do(func() { close(p.closed) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session != nil {
		p.session.http.CloseIdleConnections()
	}
	p.session = nil
	return nil
}

// Has implements provider.Chooser: credentials that do not see hypervisors cannot move servers between them.
func (p *Provider) Has(ability string) bool {
	return p.options.Hypervisors || ability != "Evacuator" && ability != "Migrator"
}

// refersTo refuses a reference to a host where hypervisors are not seen: a project is one host then. Where they are, a
// server is found wherever it is.
func (p *Provider) refersTo(op string, ref provider.Ref) error {
	if ref.Host != "" && !p.options.Hypervisors {
		return fault.New(fault.Invalid, op, string(ref.ID), fmt.Errorf("a cloud has no host %q to choose", ref.Host))
	}
	return nil
}
