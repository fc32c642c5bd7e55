package openstack

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	cloud "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/utils"

	"hale/internal/core/fault"
	"hale/internal/provider"
	"hale/internal/strict"
)

// The microversions of Nova that hale speaks. With the oldest a server can be made with tags (2.52); the newest is one
// that all of this was read for.
const (
	oldestMinor = 53
	newestMinor = 93
)

// session is one login with what it reaches. Everything goes through one token.
type session struct {
	http    *http.Client
	auth    *gophercloud.ProviderClient
	keys    *gophercloud.ServiceClient // Keystone
	compute *gophercloud.ServiceClient
	network *gophercloud.ServiceClient
	image   *gophercloud.ServiceClient
	volumes *gophercloud.ServiceClient // of Cinder, once it was needed; guarded by the provider's mu
	other   *gophercloud.ServiceClient // the only one, of a Service
	account
	project string // the id
	minor   int    // of the microversion agreed on with Nova
	oldest  int    // of those that Nova speaks
}

// call is one operation of the port under way.
type call struct {
	context.Context //nolint:containedctx // a call is one operation, and lives as long as that
	*session
	p       *Provider
	op      string
	subject string
	lane    string // of its requests, see traffic.go; empty: that of the service
	end     context.CancelFunc
}

// open begins an operation: within the call limit and until Close, logged in. The caller ends it.
func (p *Provider) open(ctx context.Context, op, subject string) (*call, error) {
	var cancel context.CancelFunc
	if _, bounded := ctx.Deadline(); bounded {
		ctx, cancel = context.WithCancel(ctx)
	} else {
		ctx, cancel = context.WithTimeout(ctx, p.options.CallLimit)
	}
	// The goroutine ends with the call.
	go func() {
		select {
		case <-p.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	c := &call{Context: strict.Operation(ctx), p: p, op: op, subject: subject, end: cancel}
	var err error
	if c.session, err = p.login(c); err != nil {
		cancel()
		return nil, err
	}
	return c, nil
}

// login returns the session, and makes one if there is none. One caller at a time tries; the others wait for it.
func (p *Provider) login(c *call) (*session, error) {
	select {
	case p.inits <- struct{}{}:
		defer func() { <-p.inits }()
	case <-c.Done():
		return nil, c.fault(fault.Transient, c.Err())
	}
	select {
	case <-p.closed:
		return nil, c.fault(fault.Transient, errors.New("the provider was closed"))
	default:
	}
	p.mu.Lock()
	s, pause := p.session, time.Until(p.resume)
	p.mu.Unlock()
	if pause > 0 {
		return nil, c.fault(fault.Throttled,
			fmt.Errorf("the cloud asked for a pause, which ends in %s", pause.Round(time.Second)))
	}
	if s != nil {
		return s, nil
	}
	s, err := p.connect(c)
	if err != nil {
		return nil, c.failed(reading, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session = s
	return s, nil
}

// account is what clouds.yaml says of a cloud.
type account struct {
	credentials gophercloud.AuthOptions
	where       gophercloud.EndpointOpts
	tls         *tls.Config
}

// same reports whether both lead to the same place in the same manner. Certificates are read when hale starts.
func (a account) same(b account) bool {
	return reflect.DeepEqual(a.credentials, b.credentials) && reflect.DeepEqual(a.where, b.where)
}

// readAccount reads clouds.yaml, as it is now.
func (p *Provider) readAccount() (a account, err error) {
	options := []clouds.ParseOption{clouds.WithCloudName(p.options.Cloud)}
	if p.options.CloudsFile != "" {
		options = append(options, clouds.WithLocations(p.options.CloudsFile))
	}
	if p.options.Region != "" {
		options = append(options, clouds.WithRegion(p.options.Region))
	}
	if a.credentials, a.where, a.tls, err = clouds.Parse(options...); err != nil {
		return account{}, fault.New(fault.Unauthorised, "openstack.credentials", p.options.Cloud, err)
	}
	a.credentials.AllowReauth = true
	return a, nil
}

// connect logs in with the credentials that are in the file now.
func (p *Provider) connect(ctx context.Context) (*session, error) {
	a, err := p.readAccount()
	if err != nil {
		return nil, err
	}
	s := &session{account: a}
	if s.auth, err = cloud.NewClient(a.credentials.IdentityEndpoint); err != nil {
		return nil, fault.New(fault.Invalid, "openstack.credentials", p.options.Cloud, err)
	}
	keystone, err := url.Parse(a.credentials.IdentityEndpoint)
	if err != nil {
		return nil, fault.New(fault.Invalid, "openstack.credentials", p.options.Cloud,
			errors.New("auth_url is not a web address"))
	}
	way := p.way(a.tls, keystone)
	s.http = &http.Client{Transport: way}
	s.auth.HTTPClient = *s.http
	s.auth.UserAgent.Prepend("hale")
	if err := cloud.Authenticate(ctx, s.auth, a.credentials); err != nil {
		return nil, err
	}
	p.trust(s, way, keystone)
	// The catalogue's addresses are looked at by requests without a context of their own.
	s.auth.HTTPClient.Transport = boundTo{
		s.http.Transport,
		func(q *http.Request) *http.Request { return q.WithContext(ctx) },
	}
	if p.only != "" {
		err = s.locate(p.only)
	} else {
		err = s.find(ctx)
	}
	s.auth.HTTPClient.Transport = s.http.Transport
	if err != nil {
		return nil, err
	}
	return s, nil
}

// renew logs in anew when clouds.yaml has other credentials by now, since the old ones may be good for long and wrong
// all the same. A file that cannot be read changes nothing. Another project is doubtful: what was listed a moment ago
// is not of it.
func (c *call) renew() error {
	if written, err := c.p.readAccount(); err == nil && !written.same(c.account) {
		return c.relogin()
	}
	return nil
}

func (c *call) relogin() error {
	was := c.session
	c.p.forget(was)
	now, err := c.p.login(c)
	switch {
	case err != nil:
		return err
	case now.who() != was.who():
		return c.elsewhere(was.who(), now.who())
	}
	c.session = now
	return nil
}

// who is the identity of what the session reaches: a project, and a region.
func (s *session) who() string { return s.project + "@" + s.where.Region }

func (c *call) elsewhere(was, is string) error {
	return c.fault(fault.Transient,
		fmt.Errorf("%w: the credentials led to %s and lead to %s", provider.ErrDoubtful, was, is))
}

// boundTo ends what has no end of its own.
type boundTo struct {
	http.RoundTripper
	within func(*http.Request) *http.Request
}

func (b boundTo) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Context().Done() == nil {
		q = b.within(q)
	}
	return b.RoundTripper.RoundTrip(q)
}

// find looks up the services in the catalogue, and agrees with Nova on how to speak.
func (s *session) find(ctx context.Context) error {
	// Keystone is asked where it let us in: a region's catalogue need not have it.
	base, _, _ := strings.Cut(s.auth.IdentityEndpoint, "/v3")
	s.keys = &gophercloud.ServiceClient{
		ProviderClient: s.auth,
		Endpoint:       strings.TrimSuffix(base, "/") + "/v3/",
		Type:           "identity",
	}
	var err error
	if s.compute, err = cloud.NewComputeV2(s.auth, s.where); err != nil {
		return missing("compute", err)
	}
	if s.network, err = cloud.NewNetworkV2(s.auth, s.where); err != nil {
		return missing("network", err)
	}
	if s.image, err = cloud.NewImageV2(s.auth, s.where); err != nil {
		return missing("image", err)
	}
	if s.project, err = s.projectOfToken(); err != nil {
		return err
	}
	spoken, err := utils.GetSupportedMicroversions(ctx, s.compute)
	if err != nil {
		return err
	}
	if spoken.MaxMajor != 2 || spoken.MaxMinor < oldestMinor || spoken.MinMinor > newestMinor {
		return fault.New(fault.Unsupported, "openstack.microversion", "",
			fmt.Errorf("nova speaks 2.%d to 2.%d, hale 2.%d to 2.%d",
				spoken.MinMinor, spoken.MaxMinor, oldestMinor, newestMinor))
	}
	s.minor, s.oldest = min(spoken.MaxMinor, newestMinor), spoken.MinMinor
	s.compute.Microversion = fmt.Sprintf("2.%d", s.minor)
	return nil
}

// missing: the catalogue has no such service; any other error is one of asking.
func missing(service string, err error) error {
	none := (*gophercloud.ErrEndpointNotFound)(nil)
	if !errors.As(err, &none) {
		return err
	}
	return fault.New(fault.Unsupported, "openstack.catalogue", service, err)
}

// projectOfToken returns the id of the project that the token is for.
func (s *session) projectOfToken() (string, error) {
	result, ok := s.auth.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return "", fault.New(fault.Unauthorised, "openstack.project", "",
			errors.New("the cloud does not authenticate by Keystone's version 3"))
	}
	project, err := result.ExtractProject()
	switch {
	case err != nil:
		return "", fault.New(fault.Unauthorised, "openstack.project", "", err)
	case project == nil || project.ID == "":
		return "", fault.New(fault.Unauthorised, "openstack.project", "",
			errors.New("the credentials are for no project"))
	}
	return project.ID, nil
}

// Limits below the call's own, for what should be quick.
const (
	dialLimit = 5 * time.Second
	idleLimit = 90 * time.Second
)

// limits of what a cloud may make hale take. An administrator is shown 64 KiB of user data with each server beside
// what it is described by, and pageSize of them fit. An operation lists, looks at what it lists, and waits.
var limits = strict.Limits{Answer: 32 << 20, Operation: 256 << 20, Requests: 20_000}

// way is how requests go: to Keystone, and to what is trusted later.
func (p *Provider) way(tlsConfig *tls.Config, keystone *url.URL) *strict.Transport {
	var transport http.RoundTripper = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        tlsConfig,
		ForceAttemptHTTP2:      true,
		IdleConnTimeout:        idleLimit,
		MaxIdleConnsPerHost:    8,
		DialContext:            (&net.Dialer{Timeout: dialLimit}).DialContext,
		TLSHandshakeTimeout:    dialLimit,
		MaxResponseHeaderBytes: strict.MaxHead,
	}
	if p.options.Wrap != nil {
		transport = p.options.Wrap(transport)
	}
	return strict.New(transport, limits, keystone)
}

// services are those that are spoken to, by their types in catalogues.
var services = []string{"compute", "network", "image", "volumev3", "block-storage"}

func (p *Provider) spoken() []string {
	if p.only != "" {
		return []string{p.only}
	}
	return services
}

func interfaceOf(where gophercloud.EndpointOpts) string {
	return string(cmp.Or(where.Availability, gophercloud.AvailabilityPublic))
}

// trust takes the catalogue's addresses for configured ones, since Keystone says where the services are. That a token
// goes in the clear, which Keystone itself was asked for by TLS, is the cloud's doing, and is said.
func (p *Provider) trust(s *session, way *strict.Transport, keystone *url.URL) {
	result, ok := s.auth.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return // find refuses such a cloud
	}
	catalog, err := result.ExtractServiceCatalog()
	if err != nil {
		return // and one without a catalogue
	}
	for _, entry := range catalog.Entries {
		for _, e := range entry.Endpoints {
			u, err := url.Parse(e.URL)
			if err != nil || u.User != nil || s.where.Region != "" && e.Region != s.where.Region &&
				e.RegionID != s.where.Region {
				continue
			}
			way.Trust(u)
			if keystone.Scheme == "https" && u.Scheme != "https" && e.Interface == interfaceOf(s.where) &&
				slices.Contains(p.spoken(), entry.Type) {
				p.log.Warn("tokens go in the clear: the cloud's catalogue has no https address here, and Keystone's "+
					"is one", "service", entry.Type, "address", e.URL)
			}
		}
	}
}

// forget drops the session, so that the next call reads the credentials afresh and logs in.
func (p *Provider) forget(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == s {
		p.session = nil
	}
}

// manner says whether a request only reads, which decides what a lost answer means.
type manner bool

const (
	reading  manner = false
	changing manner = true
)

// request is one HTTP call.
type request struct {
	method string
	url    string
	body   any
	into   any // where the answer's JSON goes; nil: nowhere
	ok     []int
	header map[string]string
}

// send makes the request by the service's client, once. The answer's headers are returned with success.
func (c *call) send(service *gophercloud.ServiceClient, q request) (http.Header, error) {
	leave, err := c.enter(service.Type)
	if err != nil {
		return nil, err
	}
	defer leave()
	how := manner(q.method != http.MethodGet)
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	opts := gophercloud.RequestOpts{OkCodes: q.ok, MoreHeaders: q.header, KeepResponseBody: true}
	if q.body != nil {
		opts.JSONBody = q.body
	}
	resp, err := service.Request(httptrace.WithClientTrace(c, trace), q.method, q.url, &opts)
	if err != nil {
		if how == changing && !sent.Load() {
			how = reading // nothing of it left
		}
		return nil, c.failed(how, err)
	}
	defer resp.Body.Close()
	if q.into == nil {
		return resp.Header, nil
	}
	if err := json.NewDecoder(resp.Body).Decode(q.into); err != nil {
		return nil, c.failed(how, fmt.Errorf("the answer is not what %s gives: %w", service.Type, err))
	}
	return resp.Header, nil
}

// get reads one thing.
func (c *call) get(service *gophercloud.ServiceClient, url string, into any) error {
	_, err := c.send(service, request{method: http.MethodGet, url: url, into: into, ok: []int{http.StatusOK}})
	return err
}

// fault makes an error of the operation.
func (c *call) fault(kind fault.Kind, err error) error { return fault.New(kind, c.op, c.subject, err) }

func (c *call) conflictf(format string, args ...any) error {
	return c.fault(fault.Conflict, fmt.Errorf(format, args...))
}
