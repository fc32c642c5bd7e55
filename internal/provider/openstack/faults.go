package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"hale/internal/core/fault"
)

// answer is what a service says when it refuses, in any of their forms: {"itemNotFound": {"code": 404, "message": …}},
// {"NeutronError": {"type": …, "message": …}}, {"error": {…}}; Octavia's is flat: {"faultcode": …, "faultstring": …}.
type answer struct {
	key     string
	Code    int    `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// readAnswer returns the service's own words; false: the body comes from elsewhere, such as a proxy's page.
func readAnswer(body []byte) (answer, bool) {
	var flat struct {
		Code string `json:"faultcode"`
		Text string `json:"faultstring"`
	}
	if json.Unmarshal(body, &flat) == nil && flat.Code != "" && flat.Text != "" {
		return answer{key: flat.Code, Message: flat.Text}, true
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(body, &outer) != nil || len(outer) != 1 {
		return answer{}, false
	}
	for key, inner := range outer {
		a := answer{key: key}
		if json.Unmarshal(inner, &a) == nil && a.Message != "" {
			return a, true
		}
	}
	return answer{}, false
}

// failed translates what a request ended with. A change with an unknown effect is fault.UnknownOutcome.
func (c *call) failed(how manner, err error) error {
	known := (*fault.Error)(nil)
	if errors.As(err, &known) {
		return known // classified where it arose
	}
	refused := (*gophercloud.ErrUnableToReauthenticate)(nil)
	if errors.As(err, &refused) {
		return c.failed(reading, refused.ErrReauth) // the token was refused before anything was done
	}
	status := gophercloud.ErrUnexpectedResponseCode{}
	if errors.As(err, &status) {
		return c.answered(how, status)
	}
	if how == changing {
		return c.fault(fault.UnknownOutcome, err)
	}
	return c.fault(fault.Transient, err)
}

// taken reports whether Keystone no longer knows the credentials: an application credential was deleted, or a token of
// it was used. Keystone answers 404 then, which elsewhere means that there is no such thing.
func taken(e gophercloud.ErrUnexpectedResponseCode) bool {
	return e.Actual == http.StatusNotFound && strings.HasSuffix(pathOf(e.URL), "/auth/tokens")
}

// longestText bounds what is repeated of a service's words, in bytes.
const longestText = 1000

// answered translates an answer that is no success.
func (c *call) answered(how manner, e gophercloud.ErrUnexpectedResponseCode) error {
	said, own := readAnswer(e.Body)
	text := said.Message
	if !own {
		text = "an answer that is not the service's own"
	}
	err := fmt.Errorf("%s %s: %d: %s", e.Method, pathOf(e.URL), e.Actual, text[:min(len(text), longestText)])
	if e.Actual == http.StatusUnauthorized || own && taken(e) {
		if c.session != nil {
			c.p.forget(c.session)
		}
		return c.fault(fault.Unauthorised, err)
	}
	switch e.Actual {
	case http.StatusTooManyRequests:
		return c.throttled(e, err)
	case http.StatusRequestEntityTooLarge:
		if after := e.ResponseHeader.Get("Retry-After"); after != "" && after != "0" {
			// as Nova said it before 429 was written down; with no time to wait for, it is Cinder's word for a quota
			return c.throttled(e, err)
		}
		return c.fault(fault.Quota, err)
	case http.StatusNotFound:
		switch {
		case own && slices.Contains(referredTypes, said.Type):
			return c.fault(fault.Invalid, err)
		case own:
			return c.fault(fault.NotFound, err)
		}
		return c.fault(fault.Transient, err) // a proxy without its service behind it answers so to everything
	}
	if !own && e.Actual < http.StatusInternalServerError {
		return c.fault(fault.Transient, err)
	}
	return c.fault(kindOf(how, e.Actual, said), err)
}

// kindOf is what a service's own words mean.
func kindOf(how manner, status int, said answer) fault.Kind {
	switch {
	case status == http.StatusForbidden && (strings.HasPrefix(said.Message, "Quota exceeded") ||
		strings.HasPrefix(said.Message, "Quota has been met")), // Nova, and Octavia
		slices.Contains(quotaTypes, said.Type):
		return fault.Quota
	case status == http.StatusForbidden:
		return fault.Unauthorised
	case status == http.StatusBadRequest:
		return fault.Invalid
	case status == http.StatusConflict && strings.HasSuffix(said.Message, " is locked"): // Nova has no other sign
		return fault.Locked
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return fault.Conflict
	case status == http.StatusNotImplemented:
		return fault.Unsupported
	case status < http.StatusInternalServerError:
		return fault.Permanent
	case how == changing:
		return fault.UnknownOutcome
	}
	return fault.Transient
}

// referredTypes are Neutron's words for what a port is to have, and what is not there: hale never asks for it itself.
var referredTypes = []string{"NetworkNotFound", "SecurityGroupNotFound"}

// quotaTypes are Neutron's words for a limit that is reached.
var quotaTypes = []string{"OverQuota", "QuotaExceeded", "IpAddressGenerationFailure", "ExternalIpAddressExhausted"}

// The pause that a cloud may ask for, when it says nothing and at most.
const (
	defaultPause = 5 * time.Second
	longestPause = time.Minute
)

// throttled remembers the pause, so that nothing is sent until it is over.
func (c *call) throttled(e gophercloud.ErrUnexpectedResponseCode, err error) error {
	pause := defaultPause
	if seconds, perr := strconv.Atoi(e.ResponseHeader.Get("Retry-After")); perr == nil && seconds >= 0 {
		pause = min(time.Duration(seconds)*time.Second, longestPause)
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.resume = time.Now().Add(pause)
	return c.fault(fault.Throttled, err)
}

// pathOf leaves out the host and what was asked for, which says nothing more.
func pathOf(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	_, path, _ := strings.Cut(url, "/")
	path, _, _ = strings.Cut(path, "?")
	return "/" + path
}
