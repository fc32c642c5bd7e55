// Package libvirt is the adapter to QEMU/KVM hosts that run libvirtd: one provider, any number of hosts.
//
// It promises what package provider's port demands, on real daemons. Every call ends with its context even when the
// daemon is frozen. A call with an unknown effect is fault.UnknownOutcome. An instance carries its mark from the moment
// it exists. Each call reads the domain's mark, and acts only if it is the one that the caller named.
//
// It does not migrate, it does not watch guests from inside, and it makes no network. How it does what it does, and
// which traps it steps around, is told in DESIGN.md.
package libvirt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/internal/accel"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/provider"
)

var (
	_ provider.Rehearser    = (*Provider)(nil)
	_ provider.Provider     = (*Provider)(nil)
	_ provider.Watcher      = (*Provider)(nil)
	_ provider.Rebuilder    = (*Provider)(nil)
	_ provider.Adjuster     = (*Provider)(nil)
	_ provider.Resumer      = (*Provider)(nil)
	_ provider.SoftRebooter = (*Provider)(nil)
	_ provider.GuestPinger  = (*Provider)(nil)
	_ provider.MeterReader  = (*Provider)(nil)
	_ provider.UsageReader  = (*Provider)(nil)
	_ provider.Keeper       = (*Provider)(nil)
	_ provider.Reverter     = (*Provider)(nil)
	_ provider.Snapshotter  = (*Provider)(nil)

	_ provider.ConsoleReader = (*Provider)(nil)
	_ provider.Screenshooter = (*Provider)(nil)
	_ provider.StartReader   = (*Provider)(nil)
	_ provider.StartNoter    = (*Provider)(nil)
)

// Options are what New needs. The zero value of each but Hosts has a default.
type Options struct {
	// Hosts are the hypervisors; at least one.
	Hosts []HostOptions
	// StateDir is the folder, on each host, for the disks and seeds of instances, and the home of base images that are
	// named without a folder. It becomes a storage pool if it is none. Default: /var/lib/libvirt/images.
	StateDir string
	// Images says where base images come from that a host lacks.
	Images Images
	// Proof is for hosts that are reached by a network.
	Proof Proof
	// Installation, when set, is the only installation with orders and marks that are accepted; others are
	// fault.Conflict.
	Installation fleet.Installation
	// CallLimit ends calls without a deadline in their context. Default: one minute.
	CallLimit time.Duration
	// Keepalive is how often, and how patiently, a watch asks whether the daemon still answers. Default: 5 s.
	Keepalive time.Duration
	// Logger receives what no caller can be told. Default: none.
	Logger *slog.Logger
	// Panics is told of what panicked on a goroutine of the adapter's own. May be nil.
	Panics defect.Witness
}

// HostOptions name one hypervisor.
type HostOptions struct {
	Name fleet.HostName // unique; may be empty when there is only one host
	// URI is qemu:///system, qemu:///session, qemu+unix:///system?socket=PATH, qemu+tls://HOST[:PORT]/system,
	// qemu+ssh://USER@HOST[:PORT]/system[?socket=PATH], or qemu+tcp://HOST[:PORT]/system, which goes in the clear.
	URI string
	// Place is where the host stands. libvirt does not know it, so it is passed on as it is.
	Place fleet.Place
}

// Defaults of Options.
const (
	defaultStateDir  = "/var/lib/libvirt/images"
	defaultCallLimit = time.Minute
	defaultKeepalive = 5 * time.Second
)

// Provider is the adapter. Its methods may be called at the same time.
type Provider struct {
	hosts        []*host // sorted by name
	stateDir     string
	installation fleet.Installation
	callLimit    time.Duration
	keepalive    time.Duration
	log          *slog.Logger
	localAccel   func() accel.Accel
	panics       defect.Witness
	images       Images
	bringing     *bringing
}

// New checks the options and makes the adapter. It connects to nothing yet.
func New(o Options) (*Provider, error) {
	p := &Provider{
		stateDir:     path.Clean(o.StateDir),
		installation: o.Installation,
		callLimit:    o.CallLimit,
		keepalive:    o.Keepalive,
		log:          o.Logger,
		localAccel:   sync.OnceValue(accel.Detect),
		panics:       o.Panics,
		images:       o.Images,
		bringing:     &bringing{jobs: map[fleet.HostName]*bringJob{}},
	}
	if p.images.Within <= 0 {
		p.images.Within = defaultImageWithin
	}
	if o.StateDir == "" {
		p.stateDir = defaultStateDir
	}
	if p.callLimit <= 0 {
		p.callLimit = defaultCallLimit
	}
	if p.keepalive <= 0 {
		p.keepalive = defaultKeepalive
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	var problems []error
	if !path.IsAbs(p.stateDir) {
		problems = append(problems, fmt.Errorf("state folder %q is not absolute", p.stateDir))
	}
	if len(o.Hosts) == 0 {
		problems = append(problems, errors.New("no host"))
	}
	for _, ho := range o.Hosts {
		addr, err := parseURI(ho.URI)
		if err != nil {
			problems = append(problems, fmt.Errorf("host %q: %w", ho.Name, err))
			continue
		}
		if slices.ContainsFunc(p.hosts, func(h *host) bool { return h.name == ho.Name }) {
			problems = append(problems, fmt.Errorf("host %q is named twice", ho.Name))
		}
		p.hosts = append(p.hosts, newHost(ho, reach{address: addr, proof: o.Proof}))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fault.New(fault.Invalid, "libvirt.new", "", err)
	}
	slices.SortFunc(p.hosts, func(a, b *host) int { return strings.Compare(string(a.name), string(b.name)) })
	return p, nil
}

// Close ends all connections; calls and watches under way end.
func (p *Provider) Close() error {
	p.bringing.end()
	for _, h := range p.hosts {
		h.close()
	}
	p.bringing.wait()
	return nil
}

// open starts an operation on the host that ref names. The caller ends the returned session.
func (p *Provider) open(ctx context.Context, op string, ref provider.Ref) (context.Context, *session, error) {
	h, err := p.host(op, ref)
	if err != nil {
		return nil, nil, err
	}
	return h.open(ctx, p.callLimit, op, string(ref.ID))
}

// host returns the host that ref names.
func (p *Provider) host(op string, ref provider.Ref) (*host, error) {
	i := slices.IndexFunc(p.hosts, func(h *host) bool { return h.name == ref.Host })
	if i < 0 {
		return nil, fault.New(fault.Invalid, op, string(ref.ID), fmt.Errorf("no host %q is configured", ref.Host))
	}
	return p.hosts[i], nil
}

// onEachHost runs ask for all hosts, as onHosts does. Where there are several, each has half of the caller's time.
func (p *Provider) onEachHost(ctx context.Context, op string, ask func(s *session, i int) error) []error {
	if _, bounded := ctx.Deadline(); bounded && len(p.hosts) > 1 {
		half, cancel := p.half(ctx)
		defer cancel()
		ctx = half
	}
	return p.onHosts(p.hosts, func(*host) (context.Context, context.CancelFunc) { return ctx, func() {} }, op, ask)
}

// half is half of the caller's time: a host that hangs must not leave the caller without time for what the others
// answer.
func (p *Provider) half(ctx context.Context) (context.Context, context.CancelFunc) {
	left := p.callLimit
	if deadline, bounded := ctx.Deadline(); bounded {
		left = time.Until(deadline)
	}
	return context.WithTimeout(ctx, left/2)
}

// onHosts runs ask for the hosts at the same time, each within a context of its own, and returns their errors in the
// hosts' order.
func (p *Provider) onHosts(hosts []*host, within func(*host) (context.Context, context.CancelFunc), op string,
	ask func(s *session, i int) error) []error {
	errs := make([]error, len(hosts))
	var asked sync.WaitGroup
	for i, h := range hosts {
		asked.Go(func() {
			defer p.panics.Catch("", op, func(d *defect.Panic) {
				errs[i] = fault.New(fault.Transient, op, string(h.name), d)
			})
			ctx, cancel := within(h)
			defer cancel()
			_, s, err := h.open(ctx, p.callLimit, op, string(h.name))
			if err == nil {
				defer s.end()
				err = ask(s, i)
			}
			errs[i] = err
		})
	}
	asked.Wait()
	return errs
}

// allFailed returns the first error when there is no success among errs.
func allFailed(errs []error) error {
	if slices.Contains(errs, nil) {
		return nil
	}
	return errs[0]
}
