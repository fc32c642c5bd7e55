// Package openid knows people by the word of an OpenID Connect provider: by a token of it that they show, by a sign-in
// in a browser, and by a sign-in on another device, as at a terminal.
//
// It promises that a token counts only if the provider signed it for this hale, and it is not over; that a sign-in ends
// where it began, by PKCE, state and nonce; that what a person may do follows from the roles as they are now, and an
// address of mail only if the provider verified it; and that a session is in the store under a hash of its cookie, so
// that a backup holds none that could be used. Nothing that strangers do is stored.
//
// It speaks with the provider's own addresses only, and needs it only when there is something to ask: a provider that
// is away keeps people out, and nothing else.
package openid

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/internal/access"
	"hale/internal/core/fault"
	"hale/internal/secret"
	"hale/internal/strict"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"
)

// Options say which provider, and what people may do.
type Options struct {
	Issuer, ClientID string
	Secret           secret.Secret // None: hale is a public client
	Audience         string        // of access tokens; empty: none is taken
	GroupsClaim      string
	Roles            []Role
	Roots            *x509.CertPool // nil: the system's
}

// Role is what the members of a group, or the owner of an address of mail, may do.
type Role struct {
	Group, Email string
	Grant        access.Grant
}

// Limits of what the provider may make hale take.
const (
	answerLimit  = 1 << 20 // bytes
	askWithin    = 10 * time.Second
	askEvery     = time.Second // the least time from one question to the next, when there are many
	asksAtOnce   = 20
	retryAfter   = 5 * time.Second // of a provider that was away
	mostGroups   = 1000
	longestClaim = 200 // bytes
)

// Provider is an OpenID provider as hale knows it.
type Provider struct {
	opts   Options
	client *http.Client
	trust  func(*url.URL)

	mu    sync.Mutex
	found *found
	tried time.Time
	why   error
}

// found is what a provider says of itself.
type found struct {
	provider *oidc.Provider
	idTokens *oidc.IDTokenVerifier
	access   *oidc.IDTokenVerifier // nil: none is taken
}

// New makes a provider, and asks it nothing yet. fault.Invalid: the issuer is no address.
func New(o Options) (*Provider, error) {
	issuer, err := url.Parse(o.Issuer)
	if err != nil {
		return nil, fault.New(fault.Invalid, "openid.new", "", errors.New("the issuer is no address"))
	}
	through := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}, Proxy: http.ProxyFromEnvironment,
		MaxResponseHeaderBytes: strict.MaxHead, IdleConnTimeout: time.Minute,
	}
	bounded := strict.New(through, strict.Limits{Answer: answerLimit}, issuer)
	slow := &unhurried{through: bounded, pace: rate.NewLimiter(rate.Every(askEvery), asksAtOnce)}
	return &Provider{opts: o, trust: bounded.Trust, client: &http.Client{Transport: slow}}, nil
}

// Close ends idle connections.
func (p *Provider) Close() { p.client.CloseIdleConnections() }

// unhurried bounds how often hale asks the provider because of what strangers send, such as tokens with unknown keys.
type unhurried struct {
	through http.RoundTripper
	pace    *rate.Limiter
}

var errHurried = errors.New("the provider was asked too often just now")

// RoundTrip implements http.RoundTripper.
func (u *unhurried) RoundTrip(q *http.Request) (*http.Response, error) {
	if !u.pace.Allow() {
		if q.Body != nil {
			_ = q.Body.Close()
		}
		return nil, errHurried
	}
	// All is read here, and within its time: what asks does not close every answer, or give every question a time.
	ctx, cancel := context.WithTimeout(q.Context(), askWithin)
	defer cancel()
	resp, err := u.through.RoundTrip(q.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil && q.Method == http.MethodGet && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the provider answers with status %d", resp.StatusCode)
	}
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// CloseIdleConnections closes those of the transport behind.
func (u *unhurried) CloseIdleConnections() {
	if c, ok := u.through.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// discover returns what the provider says of itself. fault.Transient: it does not answer now.
func (p *Provider) discover(ctx context.Context) (*found, error) {
	p.mu.Lock() // others wait for the same answer
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	now := time.Now()
	if p.why == nil || now.Sub(p.tried) >= retryAfter {
		p.tried = now
		p.found, p.why = p.ask(ctx)
	}
	return p.found, p.why
}

func (p *Provider) ask(ctx context.Context) (*found, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), p.client), askWithin)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, p.opts.Issuer)
	if err != nil {
		return nil, fault.New(fault.Transient, "openid.discover", p.opts.Issuer, err)
	}
	var more struct {
		Keys       string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, fault.New(fault.Transient, "openid.discover", p.opts.Issuer, err)
	}
	e := provider.Endpoint()
	for _, address := range []string{more.Keys, e.TokenURL, e.DeviceAuthURL, provider.UserInfoEndpoint()} {
		if u, err := url.Parse(address); err == nil && u.Scheme == p.scheme() {
			p.trust(u)
		}
	}
	set := keySet{oidc.NewRemoteKeySet(ctx, more.Keys)}
	verifier := func(audience string) *oidc.IDTokenVerifier {
		return oidc.NewVerifier(p.opts.Issuer, set,
			&oidc.Config{ClientID: audience, SupportedSigningAlgs: asymmetric(more.Algorithms)})
	}
	f := &found{provider: provider, idTokens: verifier(p.opts.ClientID)}
	if p.opts.Audience != "" {
		f.access = verifier(p.opts.Audience)
	}
	return f, nil
}

// asymmetric are those of the algorithms by which none but the provider signs. Empty: RS256.
func asymmetric(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return !slices.Contains([]string{
			oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512,
			oidc.EdDSA,
		}, name)
	})
}

// keySet notes in the context whether keys could not be had: the verifier passes on the text of an error only.
type keySet struct{ oidc.KeySet }

type keysAway struct{}

// VerifySignature implements oidc.KeySet.
func (k keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	var asked *url.Error
	if errors.As(err, &asked) || err != nil && ctx.Err() != nil {
		if away, ok := ctx.Value(keysAway{}).(*bool); ok {
			*away = true
		}
	}
	return payload, err
}

// verify asks the verifier. fault.Unauthorised: the token is not for this hale, is over, or is not signed by the
// provider. fault.Transient: its keys cannot be had now.
func (p *Provider) verify(ctx context.Context, v *oidc.IDTokenVerifier, token string) (*oidc.IDToken, error) {
	away := false
	ctx = context.WithValue(oidc.ClientContext(ctx, p.client), keysAway{}, &away)
	t, err := v.Verify(ctx, token)
	switch {
	case err == nil:
		return t, nil
	case away:
		return nil, fault.New(fault.Transient, "openid.verify", "", errors.New("the provider's keys cannot be had now"))
	}
	return nil, fault.New(fault.Unauthorised, "openid.verify", "", err)
}

// scheme is https, but for a provider on this very machine.
func (p *Provider) scheme() string {
	scheme, _, _ := strings.Cut(p.opts.Issuer, "://")
	return scheme
}

// Identity is a person as the provider says.
type Identity struct {
	Subject string
	Email   string   // empty: none that is verified
	Groups  []string `json:",omitempty"`
}

// claims are what of a token is looked at.
type claims struct {
	Subject  string          `json:"sub"`
	Email    string          `json:"email"`
	Verified json.RawMessage `json:"email_verified"`
	Events   json.RawMessage `json:"events"` // a token that ends sessions has it
}

// Verify returns who shows the token, and until when it counts. fault.Unauthorised: it opens nothing. fault.Transient:
// the provider does not answer, so that it is not known.
func (p *Provider) Verify(ctx context.Context, token string) (access.Principal, time.Time, error) {
	f, err := p.discover(ctx)
	if err != nil {
		return access.Principal{}, time.Time{}, err
	}
	verified, err := p.verify(ctx, f.idTokens, token)
	if f.access != nil && fault.Is(err, fault.Unauthorised) {
		verified, err = p.verify(ctx, f.access, token)
	}
	if err != nil {
		return access.Principal{}, time.Time{}, err
	}
	who, err := p.identity(verified)
	if err != nil {
		return access.Principal{}, time.Time{}, err
	}
	return p.Principal(who), verified.Expiry, nil
}

func (p *Provider) identity(t *oidc.IDToken) (Identity, error) { return p.told(t.Claims) }

// told is who the claims speak of.
func (p *Provider) told(read func(any) error) (Identity, error) {
	refused := func(why string) (Identity, error) {
		return Identity{}, fault.New(fault.Unauthorised, "openid.verify", "", errors.New(why))
	}
	var c claims
	var all map[string]json.RawMessage
	if read(&c) != nil || read(&all) != nil {
		return refused("its claims cannot be read")
	}
	if len(c.Events) > 0 {
		return refused("it is a token that ends a session")
	}
	if c.Subject == "" || len(c.Subject) > longestClaim || len(c.Email) > longestClaim {
		return refused("it names no subject that can be used")
	}
	who := Identity{Subject: c.Subject}
	if said := strings.Trim(string(c.Verified), `"`); said == "true" {
		who.Email = strings.ToLower(c.Email)
	}
	if groups, ok := all[p.opts.GroupsClaim]; ok {
		var one string
		if json.Unmarshal(groups, &who.Groups) != nil && json.Unmarshal(groups, &one) == nil {
			who.Groups = []string{one}
		}
	}
	if len(who.Groups) > mostGroups {
		return refused("it names too many groups")
	}
	return who, nil
}

// Principal is the person with what they may do by the roles as they are now.
func (p *Provider) Principal(who Identity) access.Principal {
	id := p.opts.Issuer + "#" + who.Subject
	out := access.Principal{Kind: access.ByOpenID, Name: who.Subject, ID: id, Persons: []string{id}}
	if who.Email != "" {
		out.Name, out.Persons = who.Email, []string{who.Email, id}
	}
	for _, r := range p.opts.Roles {
		if r.Group != "" && slices.Contains(who.Groups, r.Group) ||
			r.Email != "" && who.Email != "" && strings.EqualFold(who.Email, r.Email) {
			out.Grants = append(out.Grants, r.Grant)
		}
	}
	return out
}

// flow is hale as a client of the provider.
func (p *Provider) flow(ctx context.Context, back string) (*oauth2.Config, *found, error) {
	f, err := p.discover(ctx)
	if err != nil {
		return nil, nil, err
	}
	c := &oauth2.Config{
		ClientID: p.opts.ClientID, Endpoint: f.provider.Endpoint(), RedirectURL: back,
		Scopes: []string{oidc.ScopeOpenID, "email", "groups"},
	}
	if !slices.Contains(p.scopes(f), "groups") {
		c.Scopes = c.Scopes[:2] // a provider may refuse a scope that it does not know
	}
	if p.opts.Secret.None() {
		return c, f, nil
	}
	c.ClientSecret, err = p.opts.Secret.Resolve(ctx)
	return c, f, err
}

// proving is the client of a flow that proves who hale is by HTTP's basic authentication, which every provider takes.
func (p *Provider) proving(flow *oauth2.Config) *http.Client {
	if flow.ClientSecret == "" {
		return p.client
	}
	return &http.Client{Transport: basic{p.client.Transport, flow.ClientID, flow.ClientSecret}}
}

type basic struct {
	through          http.RoundTripper
	user, passphrase string
}

// RoundTrip implements http.RoundTripper.
func (b basic) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.SetBasicAuth(url.QueryEscape(b.user), url.QueryEscape(b.passphrase))
	return b.through.RoundTrip(q)
}

// scopes are those that the provider says it knows.
func (*Provider) scopes(f *found) []string {
	var more struct {
		Scopes []string `json:"scopes_supported"`
	}
	if f.provider.Claims(&more) != nil {
		return nil
	}
	return more.Scopes
}

// signedIn verifies what the provider answered at the end of a sign-in. The nonce is empty where there is none.
func (p *Provider) signedIn(ctx context.Context, f *found, token *oauth2.Token, nonce string) (Identity, error) {
	raw, _ := token.Extra("id_token").(string)
	id, err := p.verify(ctx, f.idTokens, raw)
	if err != nil {
		return Identity{}, err
	}
	if id.Nonce != nonce {
		return Identity{}, fault.New(fault.Unauthorised, "openid.sign-in", "",
			errors.New("the provider's word is for another sign-in"))
	}
	who, err := p.identity(id)
	if err != nil || f.provider.UserInfoEndpoint() == "" {
		return who, err
	}
	return p.fuller(ctx, f, token, who)
}

// fuller adds what the provider tells only to who asks for it: many leave address and groups out of their tokens.
func (p *Provider) fuller(ctx context.Context, f *found, token *oauth2.Token, who Identity) (Identity, error) {
	info, err := f.provider.UserInfo(oidc.ClientContext(ctx, p.client), oauth2.StaticTokenSource(token))
	if err != nil {
		return Identity{}, outcome(err)
	}
	more, err := p.told(info.Claims)
	if err != nil || more.Subject != who.Subject {
		return Identity{}, fault.New(fault.Unauthorised, "openid.sign-in", "",
			errors.New("the provider speaks of another person when it is asked again"))
	}
	if who.Email == "" {
		who.Email = more.Email
	}
	if who.Groups == nil {
		who.Groups = more.Groups
	}
	return who, nil
}

// outcome is the error of a question to the provider: what it refused, or fault.Transient.
func outcome(err error) error {
	var said *oauth2.RetrieveError
	if errors.As(err, &said) && said.ErrorCode != "" {
		return fault.New(fault.Unauthorised, "openid.sign-in", "", fmt.Errorf("the provider says %s", said.ErrorCode))
	}
	return fault.New(fault.Transient, "openid.sign-in", "", errors.New("the provider does not answer as it should"))
}
