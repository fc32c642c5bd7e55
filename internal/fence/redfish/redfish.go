// Package redfish switches a host's power by its Redfish service, as servers' controllers have one since about 2016.
//
// It promises that it checks the service's certificate unless Options say otherwise. Order and credentials go to the
// configured address only, whatever links the service answers with. A service can make it neither ask nor read without
// end. It reads the password anew for each call, and repeats it in no error. The only order that it gives is ForceOff.
// It keeps no connection open.
package redfish

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/fence"
	"hale/internal/secret"
	"hale/internal/strict"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/common"
	"github.com/stmcginnis/gofish/redfish"
)

// Options are what a Controller is made of.
type Options struct {
	Name     string // the method's, for errors
	URL      string // https://bmc.example.org, without a path
	User     string
	Password secret.Secret
	System   string // the system's id; empty: the only one
	CA       string // a PEM file; empty: the system's authorities
	Insecure bool   // the service's certificate is not checked
}

// Controller asks one Redfish service.
type Controller struct{ o Options }

var _ fence.Controller = (*Controller)(nil)

// New makes a controller. It connects to nothing yet.
func New(o Options) *Controller { return &Controller{o} }

// Power implements fence.Controller.
func (c *Controller) Power(ctx context.Context) (fence.Power, error) {
	const op = "redfish.power"
	state := fence.PowerUnknown
	err := c.with(ctx, op, func(s *redfish.ComputerSystem, _ string) error {
		switch s.PowerState {
		case redfish.OnPowerState, redfish.PausedPowerState:
			state = fence.PowerOn
		case redfish.OffPowerState:
			state = fence.PowerOff
		default: // on its way, or a word of the maker's own
		}
		return nil
	})
	return state, err
}

// Off implements fence.Controller.
func (c *Controller) Off(ctx context.Context) error {
	const op = "redfish.off"
	return c.with(ctx, op, func(s *redfish.ComputerSystem, password string) error {
		if s.PowerState == redfish.OffPowerState {
			return nil // many services refuse to turn off what is off
		}
		if can := s.SupportedResetTypes; len(can) > 0 && !slices.Contains(can, redfish.ForceOffResetType) {
			return fault.New(fault.Unsupported, op, c.o.Name,
				errors.New("it cannot turn the host off at once (ForceOff)"))
		}
		err := s.Reset(redfish.ForceOffResetType)
		// no answer at all: it may have been heard
		if err != nil && !errors.As(err, new(*common.Error)) && !unsent(err) {
			return fault.New(fault.UnknownOutcome, op, c.o.Name,
				errors.New(secret.Redact(inner(err).Error(), password)))
		}
		return err
	})
}

// with finds the system and does something with it.
func (c *Controller) with(ctx context.Context, op string,
	do func(s *redfish.ComputerSystem, password string) error) error {
	password, err := c.o.Password.Resolve(ctx)
	if err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return fault.New(fault.Invalid, op, c.o.Name, err)
	}
	ctx = strict.Operation(ctx)
	api, err := gofish.ConnectContext(ctx,
		gofish.ClientConfig{Endpoint: strings.TrimRight(c.o.URL, "/"), Username: c.o.User, Password: password,
			BasicAuth: true, HTTPClient: client})
	if err == nil {
		var system *redfish.ComputerSystem
		if system, err = c.system(api); err == nil {
			err = do(system, password)
		}
	}
	return c.failure(ctx, op, password, err)
}

// system returns the one that is meant.
func (c *Controller) system(api *gofish.APIClient) (*redfish.ComputerSystem, error) {
	systems, err := systemsOf(api)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, s := range systems {
		if s.ID == c.o.System || c.o.System == "" && len(systems) == 1 {
			return s, nil
		}
		ids = append(ids, s.ID)
	}
	if c.o.System == "" {
		return nil, unfit(fmt.Sprintf("it has %d systems (%s): name one", len(ids), strings.Join(ids, ", ")))
	}
	return nil, unfit(fmt.Sprintf("it has no system %s, but %s", c.o.System, strings.Join(ids, ", ")))
}

// systemsOf lists the service's systems, one after the other. The library would ask in goroutines, which write to one
// map without a lock when the service fails: that can end the process.
func systemsOf(api *gofish.APIClient) (systems []*redfish.ComputerSystem, err error) {
	link, err := systemsLink(api)
	for link != "" && err == nil {
		var page *common.Collection
		if page, err = common.GetCollection(api, link); err != nil {
			break
		}
		for _, item := range page.ItemLinks {
			s, err := redfish.GetComputerSystem(api, item)
			if err != nil {
				return nil, err
			}
			systems = append(systems, s)
		}
		link = page.MembersNextLink
	}
	return systems, err
}

// systemsLink asks the service's root where its systems are; empty: it has none.
func systemsLink(api *gofish.APIClient) (string, error) {
	resp, err := api.Get(api.Service.ODataID)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var root struct{ Systems common.Link }
	err = json.NewDecoder(resp.Body).Decode(&root)
	return root.Systems.String(), err
}

// unfit is a configuration that does not fit the service.
type unfit string

// Error implements error.
func (u unfit) Error() string { return string(u) }

// client trusts the authorities that the options name, and no other.
func (c *Controller) client() (*http.Client, error) {
	trust := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: c.o.Insecure, //nolint:gosec // when the operator says so, and `hale status` repeats it
	}
	if c.o.CA != "" {
		pem, err := os.ReadFile(c.o.CA)
		if err != nil {
			return nil, fmt.Errorf("the authority's certificate: %w", err)
		}
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("there is no certificate in %s", c.o.CA)
		}
	}
	here, err := url.Parse(c.o.URL)
	if err != nil {
		return nil, errors.New("its url is not a web address")
	}
	wire := &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true, MaxResponseHeaderBytes: strict.MaxHead}
	return &http.Client{Transport: strict.New(wire, limits, here)}, nil
}

// limits are generous: a system is described in less than 100 KiB, and all systems of a chassis are read to find one.
var limits = strict.Limits{Answer: 1 << 20, Operation: 8 << 20, Requests: 256}

// unsent reports whether a request was refused before it left, or was for no address at all.
func unsent(err error) bool {
	var refused *strict.RefusedError
	var address *url.Error
	return errors.As(err, &refused) && !refused.Sent || errors.As(err, &address) && address.Op == "parse"
}

// failure classifies an error. None has the password in it.
func (c *Controller) failure(ctx context.Context, op, password string, err error) error {
	var classified *fault.Error
	var said *common.Error
	var wrong unfit
	kind := fault.Transient
	switch {
	case err == nil:
		return nil
	case errors.As(err, &classified):
		return err
	case errors.As(err, &wrong):
		kind = fault.Invalid
	case ctx.Err() != nil:
		err = errors.New("no answer in time")
	case errors.As(err, &said):
		kind = kindOf(said.HTTPReturnedStatusCode)
	case certificate(err):
		kind = fault.Invalid
	}
	text := secret.Redact(inner(err).Error(), password)
	why := errors.New(text[:min(len(text), longestText)])
	if kind == fault.Unauthorised {
		return fence.Denied(op, c.o.Name, why)
	}
	return fault.New(kind, op, c.o.Name, why)
}

// longestText bounds what is repeated of a service's words, in bytes.
const longestText = 300

func kindOf(status int) fault.Kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fault.Unauthorised
	case http.StatusNotFound:
		return fault.NotFound
	case http.StatusBadRequest, http.StatusMethodNotAllowed:
		return fault.Unsupported
	}
	return fault.Transient
}

// certificate reports whether the service is not who it should be.
func certificate(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError))
}

// inner strips what net/http puts around an error: the address.
func inner(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
