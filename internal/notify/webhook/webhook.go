// Package webhook tells people by POST requests.
//
// It promises that only a 2xx answer is a yes; that the secret headers go to the configured address only, and nothing
// goes to hale's own server, its links or its cloud's metadata unless that is listed (package strict); that each
// request bears the message's key as Idempotency-Key; that Retry-After is heeded; and that neither the address, where
// it is secret, nor a secret header is in any answer or error. It keeps no connection open.
package webhook

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/outlet/post"
	"hale/internal/secret"
	"hale/internal/strict"
)

// Options are what a Target is made of.
type Options struct {
	Name    string
	URL     secret.Value
	CA      string // a PEM file; empty: the system's authorities
	Format  Format
	Headers []secret.Named
	Reach   strict.Reach  // what it may reach of hale's own surroundings
	Timeout time.Duration // of one try
	Version string        // of hale, for User-Agent
}

// Format is the shape of the request's body.
type Format string

// The formats.
const (
	FormatHale        Format = "hale"        // the message
	FormatCloudEvents Format = "cloudevents" // the message in a CloudEvents 1.0 envelope
	FormatText        Format = "text"        // {"text": …}, as chat programs take it
)

// Target posts messages to one address.
type Target struct{ o Options }

// New makes a target. It connects to nothing yet.
func New(o Options) *Target { return &Target{o} }

// Send implements notify.Target.
func (t *Target) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	kind, body, err := t.body(m)
	if err != nil {
		return notify.Answer{}, fault.New(fault.Invalid, op, t.o.Name, err)
	}
	p := post.New(post.Options{Op: op, URL: t.o.URL, CA: t.o.CA, Headers: t.o.Headers, Once: true,
		Reach:    func(string) strict.Reach { return t.o.Reach },
		Identity: post.Identity{Name: t.o.Name, Timeout: t.o.Timeout, Version: t.o.Version}})
	defer p.Close()
	said, err := p.Send(ctx, "", http.Header{"Content-Type": {kind}, "Idempotency-Key": {m.Key}}, body)
	if err != nil {
		return notify.Answer{}, err
	}
	return notify.Answer{Said: strings.TrimSpace(said.Status + " " + string(said.Body))}, nil
}

const op = "webhook.send"

// cloudEvent is the envelope of CloudEvents 1.0 in its structured JSON form.
type cloudEvent struct {
	SpecVersion     string         `json:"specversion"`
	ID              string         `json:"id"`
	Source          string         `json:"source"`
	Type            string         `json:"type"`
	Subject         string         `json:"subject,omitempty"`
	Time            time.Time      `json:"time"`
	DataContentType string         `json:"datacontenttype"`
	Data            notify.Message `json:"data"`
}

func (t *Target) body(m notify.Message) (contentType string, body []byte, err error) {
	switch t.o.Format {
	case FormatCloudEvents:
		about := m.Machine
		if about == "" {
			about = m.Fleet
		}
		body, err = json.Marshal(cloudEvent{
			SpecVersion: "1.0", ID: m.Key, Source: "/hale/" + url.PathEscape(m.Server), Type: "hale." + string(m.Event),
			Subject: about, Time: m.At, DataContentType: "application/json", Data: m,
		})
		return "application/cloudevents+json", body, err
	case FormatText:
		body, err = json.Marshal(map[string]string{"text": m.Subject + "\n\n" + m.Text})
	case FormatHale:
		body, err = json.Marshal(m)
	}
	return "application/json", body, err
}
