package openstack

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	cloud "github.com/gophercloud/gophercloud/v2/openstack"
)

// Service is one further service of a cloud, which another adapter speaks to: by the same credentials, within the same
// limits, and with errors that mean the same. Its methods may be called at the same time.
type Service struct{ p *Provider }

// Balancing is the type that Octavia has in catalogues.
const Balancing = "load-balancer"

// NewService makes one of the type. It reads no file and connects to nothing yet.
func NewService(o Options, kind string) (*Service, error) {
	p, err := New(o)
	if err != nil {
		return nil, err
	}
	p.only = kind
	return &Service{p}, nil
}

// Query is one question or order to a service.
type Query struct {
	Op, Subject string // of errors
	Method      string
	Path        []string // below the service's own address
	Where       url.Values
	Body, Into  any // as JSON; nil: there is none
	OK          []int
}

// Ask puts the question, once. An order with an unknown effect is fault.UnknownOutcome.
func (s *Service) Ask(ctx context.Context, q Query) error {
	c, err := s.p.open(ctx, q.Op, q.Subject)
	if err != nil {
		return err
	}
	defer c.end()
	if q.Method == http.MethodGet {
		if err := c.renew(); err != nil {
			return err
		}
	}
	parts := make([]string, len(q.Path))
	for i, p := range q.Path {
		parts[i] = url.PathEscape(p)
	}
	at := c.other.ServiceURL(parts...)
	if len(q.Where) > 0 {
		at += "?" + q.Where.Encode()
	}
	_, err = c.send(c.other, request{method: q.Method, url: at, body: q.Body, into: q.Into, ok: q.OK})
	return err
}

// Close ends all calls under way and all connections.
func (s *Service) Close() { _ = s.p.Close() } // which cannot fail

// locate looks up the only service that is spoken to.
func (s *session) locate(kind string) error {
	var err error
	if s.project, err = s.projectOfToken(); err != nil {
		return err
	}
	if s.other, err = furtherServices[kind](s.auth, s.where); err != nil {
		return missing(kind, err)
	}
	return nil
}

// furtherServices find their addresses in the catalogue.
var furtherServices = map[string]func(*gophercloud.ProviderClient,
	gophercloud.EndpointOpts) (*gophercloud.ServiceClient,
	error){Balancing: cloud.NewLoadBalancerV2}

// IsID reports whether the text is an id, as OpenStack's services give them.
func IsID(text string) bool {
	const long = 36
	return len(text) == long && strings.Count(text, "-") == 4 && strings.Trim(text, "0123456789abcdefABCDEF-") == ""
}
