package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/strict"
)

// conn is one session at vCenter, with what was made in it.
type conn struct {
	vc         *vim25.Client
	transport  *http.Transport
	datacenter types.ManagedObjectReference
	// scope is the cluster that counts; empty: the whole datacenter.
	scope types.ManagedObjectReference
	// view has everything in the datacenter.
	view types.ManagedObjectReference
	// farewell ends the session, within logoutLimit.
	farewell func()
}

// call is one operation under way.
type call struct {
	p       *Provider
	op      string
	subject string
	conn    *conn
	end     func() // gives back what it holds
}

// open starts an operation: its context ends when the caller's does, at the call limit if that has none, and when the
// provider is closed. The caller ends it.
func (p *Provider) open(ctx context.Context, op string, id fleet.InstanceID) (context.Context, *call, error) {
	c := &call{p: p, op: op, subject: string(id)}
	if err := ctx.Err(); err != nil {
		return ctx, c, fault.New(fault.Transient, op, c.subject, err)
	}
	limit := func() {}
	if _, has := ctx.Deadline(); !has {
		ctx, limit = context.WithTimeout(ctx, p.o.CallLimit)
	}
	ctx, leave := p.under.enter(strict.Operation(ctx))
	c.end = func() {
		leave()
		limit()
	}
	var err error
	if c.conn, err = p.connected(ctx, nil); err != nil {
		err = c.fault(cause(ctx, err))
		c.end()
		return ctx, c, err
	}
	return ctx, c, nil
}

// calls are those under way, so that Close ends them.
type calls struct {
	mu      sync.Mutex
	closed  bool
	cancels map[*context.CancelCauseFunc]bool
}

// enter returns a context that ends with the calls, too, and how to leave.
func (s *calls) enter(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		cancel(errClosed)
	}
	if s.cancels == nil {
		s.cancels = map[*context.CancelCauseFunc]bool{}
	}
	s.cancels[&cancel] = true
	return ctx, func() {
		s.mu.Lock()
		delete(s.cancels, &cancel)
		s.mu.Unlock()
		cancel(nil)
	}
}

func (s *calls) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for cancel := range s.cancels {
		(*cancel)(errClosed)
	}
}

var errClosed = errors.New("the provider was closed")

// connected returns the session, after a login where there is none, or only the one that turned out to be over.
func (p *Provider) connected(ctx context.Context, over *conn) (*conn, error) {
	select {
	case p.gate <- struct{}{}:
		defer func() { <-p.gate }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.conn != nil && p.conn != over {
		return p.conn, nil
	}
	if p.conn != nil {
		p.conn.transport.CloseIdleConnections()
		p.conn = nil
	}
	c, err := p.login(ctx)
	if err != nil {
		return nil, err
	}
	p.conn = c
	return c, nil
}

// limits of what vCenter may make hale take. pageObjects machines fit into an answer, each with the user data of a
// guest (64 KiB, as base64). An operation lists, and waits for tasks.
var limits = strict.Limits{Answer: 32 << 20, Operation: 256 << 20, Requests: 10_000}

// login opens a session and finds in it what never changes.
func (p *Provider) login(ctx context.Context) (*conn, error) {
	password, err := p.o.Password.Resolve(ctx)
	if err != nil {
		return nil, fault.New(fault.Unauthorised, "vsphere.login", p.url.Host,
			err) // not its own kind: "not found" is said of machines
	}
	if err := p.lockout.check(password); err != nil {
		return nil, fault.New(fault.Unauthorised, "vsphere.login", p.url.Host, err)
	}
	wire := soap.NewClient(p.url, p.o.Unverified)
	if p.o.Roots != nil {
		wire.DefaultTransport().TLSClientConfig.RootCAs = p.o.Roots
	}
	wire.SetThumbprint(p.url.Host, p.o.Thumbprint)
	c := &conn{transport: wire.DefaultTransport()}
	c.transport.TLSHandshakeTimeout = 10 * time.Second
	c.transport.MaxIdleConnsPerHost = 8
	c.transport.MaxResponseHeaderBytes = strict.MaxHead
	wire.Transport = strict.New(c.transport, limits, p.url)
	if c.vc, err = vim25.NewClient(ctx, wire); err != nil {
		return nil, err
	}
	if !c.vc.IsVC() {
		return nil, fault.New(fault.Unsupported, "vsphere.login", p.url.Host,
			errors.New("it is an ESXi host, and only vCenter can clone"))
	}
	err = session.NewManager(c.vc).Login(ctx, url.UserPassword(p.o.User, password))
	p.lockout.note(password, err)
	if err != nil {
		return nil, err
	}
	c.farewell = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutLimit)
		defer cancel()
		// it ends by itself, later
		_, _ = methods.Logout(ctx, c.vc, &types.Logout{This: *c.vc.ServiceContent.SessionManager})
		c.transport.CloseIdleConnections()
	}
	if err := c.orient(ctx, &p.o); err != nil {
		c.farewell()
		return nil, err
	}
	return c, nil
}

// viewed are the kinds of what a listing is put together from.
var viewed = []string{kindVM, kindHost, kindCompute, kindDatastore, kindNetwork}

const (
	kindVM        = "VirtualMachine"
	kindHost      = "HostSystem"
	kindCompute   = "ComputeResource"
	kindDatastore = "Datastore"
	kindNetwork   = "Network"

	kindCluster = "ClusterComputeResource" // which is a kindCompute
)

// orient finds the datacenter and the cluster, and makes the view.
func (c *conn) orient(ctx context.Context, o *Options) error {
	var err error
	if c.datacenter, err = c.at(ctx, o.Datacenter); err != nil {
		return err
	}
	if o.Cluster != "" {
		if c.scope, err = c.at(ctx, o.Datacenter+"/host/"+o.Cluster); err != nil {
			return err
		}
	}
	res, err := methods.CreateContainerView(ctx, c.vc, &types.CreateContainerView{
		This: *c.vc.ServiceContent.ViewManager, Container: c.datacenter, Type: viewed, Recursive: true,
	})
	if err == nil {
		c.view = res.Returnval
	}
	return err
}

// at finds an object by its inventory path.
func (c *conn) at(ctx context.Context, path string) (types.ManagedObjectReference, error) {
	res, err := methods.FindByInventoryPath(ctx, c.vc, &types.FindByInventoryPath{
		This:          *c.vc.ServiceContent.SearchIndex,
		InventoryPath: path,
	})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	if res.Returnval == nil {
		return types.ManagedObjectReference{}, fault.New(fault.Invalid, "vsphere.find", path,
			fmt.Errorf("vCenter has no %s, or the user may not see it", path))
	}
	return *res.Returnval, nil
}

// logoutLimit is how long a farewell may take.
const logoutLimit = time.Second

// logout ends the session, so that it does not count against vCenter's limit until it has aged. The calls under way end
// soon: they were told.
func (p *Provider) logout() {
	p.gate <- struct{}{}
	defer func() { <-p.gate }()
	if p.conn != nil {
		p.conn.farewell()
		p.conn = nil
	}
}

// read asks something that changes nothing; once more after a login when the session is over.
func (c *call) read(ctx context.Context, ask func() error) error {
	err := ask()
	if !sessionOver(err, c.conn) {
		return err
	}
	next, lerr := c.p.connected(ctx, c.conn)
	if lerr != nil {
		return lerr
	}
	c.conn = next
	return ask()
}

// one reads properties of one object.
func (c *conn) one(ctx context.Context, ref types.ManagedObjectReference, into any, properties ...string) error {
	return property.DefaultCollector(c.vc).RetrieveOne(ctx, ref, properties, into)
}
