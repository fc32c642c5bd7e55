package openid

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"hale/internal/access"
	"hale/internal/access/token"
	"hale/internal/core/fault"
	"hale/internal/state"

	"github.com/alexedwards/scs/v2"
	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Where people sign in, and out.
const (
	PathSignIn  = "/signin"
	PathDone    = "/signin/done"
	PathSignOut = "/signout"
	PathDevice  = "/signin/device"
)

// Limits of sign-ins that are under way.
const (
	signInWithin = 10 * time.Minute
	mostUnderWay = 2000
	waitsAtOnce  = 25 * time.Second     // of one question whether a person has signed in on another device
	passName     = "__Host-hale-signin" //nolint:gosec // the name of a cookie
)

// Door is where people sign in. It keeps sign-ins that are under way in memory: nothing of strangers is stored.
type Door struct {
	store    state.Store
	sessions *scs.SessionManager
	refuse   func(w http.ResponseWriter, r *http.Request, err error)
	provider func() *Provider

	mu       sync.Mutex
	underWay map[string]underWay
}

// underWay is a sign-in that began.
type underWay struct {
	at                    time.Time
	pass, nonce, verifier string
	to                    string
	device                *oauth2.DeviceAuthResponse
}

// NewDoor makes a door. The provider is asked for at each sign-in; nil: people cannot sign in now. The refusal is told
// what was wrong, as a fault.
func NewDoor(s state.Store, provider func() *Provider, refuse func(http.ResponseWriter, *http.Request, error)) *Door {
	return &Door{
		store: s, sessions: newSessions(s), provider: provider, refuse: refuse, underWay: map[string]underWay{},
	}
}

// Serves reports whether the request is one of a sign-in or sign-out.
func (*Door) Serves(r *http.Request) bool {
	p := r.URL.Path
	return p == PathSignOut || p == PathSignIn || strings.HasPrefix(p, PathSignIn+"/")
}

// ServeHTTP implements http.Handler for what it Serves.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	provider := d.provider()
	var do func(http.ResponseWriter, *http.Request, *Provider) error
	switch r.Method + " " + r.URL.Path {
	case "GET " + PathSignIn:
		do = d.begin
	case "GET " + PathDone:
		do = d.done
	case "POST " + PathSignOut:
		do = d.signOut
	case "POST " + PathDevice:
		do = d.beginDevice
	case "POST " + PathDevice + "/wait":
		do = d.waitForDevice
	}
	err := error(fault.New(fault.NotFound, "openid.sign-in", r.URL.Path, errors.New("there is no such page")))
	switch {
	case do != nil && provider == nil:
		err = fault.New(fault.NotFound, "openid.sign-in", r.URL.Path,
			errors.New("nobody signs in here: the configuration names no api.openid; show a token of hale's"))
	case do != nil:
		w.Header().Set("Cache-Control", "no-store")
		err = do(w, r, provider)
	}
	if err != nil {
		d.refuse(w, r, err)
	}
}

func refused(why string) error {
	return fault.New(fault.Unauthorised, "openid.sign-in", "", errors.New(why))
}

// begin sends a browser to the provider.
func (d *Door) begin(w http.ResponseWriter, r *http.Request, p *Provider) error {
	flow, _, err := p.flow(r.Context(), d.back(r))
	if err != nil {
		return err
	}
	u := underWay{pass: rand.Text(), nonce: rand.Text(), verifier: oauth2.GenerateVerifier(), to: local(r.FormValue("to"))}
	state := rand.Text()
	d.note(state, u)
	http.SetCookie(w, &http.Cookie{
		Name: passName, Value: u.pass, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode,
		MaxAge: int(signInWithin / time.Second),
	})
	to := flow.AuthCodeURL(state, oidc.Nonce(u.nonce), oauth2.S256ChallengeOption(u.verifier))
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // to the provider of the configuration
	return nil
}

// back is where the provider sends the browser. The host was found to be one of hale's names.
func (*Door) back(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + PathDone
}

// local is where a person goes after the sign-in: a page of this hale.
func local(to string) string {
	if len(to) > 1000 || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/v1/whoami"
	}
	return to
}

// done takes a browser back from the provider.
func (d *Door) done(w http.ResponseWriter, r *http.Request, p *Provider) error {
	u, known := d.take(r.FormValue("state"))
	pass, err := r.Cookie(passName)
	if !known || u.pass == "" || err != nil || pass.Value != u.pass {
		return refused("this sign-in was not begun in this browser in the last minutes: begin again at " + PathSignIn)
	}
	if said := r.FormValue("error"); said != "" {
		return refused("the provider refuses: " + printable(said))
	}
	flow, f, err := p.flow(r.Context(), d.back(r))
	if err != nil {
		return err
	}
	ctx := oidc.ClientContext(r.Context(), p.client)
	got, err := flow.Exchange(ctx, r.FormValue("code"), oauth2.VerifierOption(u.verifier))
	if err != nil {
		return outcome(err)
	}
	who, err := p.signedIn(ctx, f, got, u.nonce)
	if err != nil {
		return err
	}
	if !p.Principal(who).MayAnywhere(access.Viewer) {
		return refused(p.Principal(who).Name + " is known, and has no role here: see api.openid.roles")
	}
	if err := d.keep(w, r, who); err != nil {
		return err
	}
	http.Redirect(w, r, u.to, http.StatusSeeOther)
	return nil
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text[:min(len(text), 100)])
}

const identityKey = "who"

// keep begins a session.
func (d *Door) keep(w http.ResponseWriter, r *http.Request, who Identity) error {
	data, err := json.Marshal(who)
	if err != nil {
		return fault.New(fault.Invalid, "openid.session", "", err)
	}
	ctx, err := d.sessions.Load(r.Context(), "") // a new one: what a browser brought along is not gone on with
	if err != nil {
		return err
	}
	d.sessions.Put(ctx, identityKey, string(data))
	name, ends, err := d.sessions.Commit(ctx)
	if err != nil {
		return err
	}
	d.sessions.WriteSessionCookie(ctx, w, name, ends)
	return nil
}

// Session returns who is signed in by the request's cookie, and until when. The zero Principal: none is. An error is
// the store's.
func (d *Door) Session(r *http.Request) (access.Principal, time.Time, error) {
	p := d.provider()
	cookie, err := r.Cookie(cookieName)
	if err != nil || p == nil || len(cookie.Value) > longestClaim {
		return access.Principal{}, time.Time{}, nil //nolint:nilerr // there is no cookie
	}
	ctx, err := d.sessions.Load(r.Context(), cookie.Value)
	if err != nil {
		return access.Principal{}, time.Time{}, err
	}
	var who Identity
	if json.Unmarshal([]byte(d.sessions.GetString(ctx, identityKey)), &who) != nil || who.Subject == "" {
		return access.Principal{}, time.Time{}, nil //nolint:nilerr // there is no such session
	}
	return p.Principal(who), d.sessions.Deadline(ctx), nil
}

// signOut ends a session.
func (d *Door) signOut(w http.ResponseWriter, r *http.Request, _ *Provider) error {
	if cookie, err := r.Cookie(cookieName); err == nil {
		ctx, err := d.sessions.Load(r.Context(), cookie.Value)
		if err == nil {
			err = d.sessions.Destroy(ctx)
		}
		if err != nil {
			return err
		}
		d.sessions.WriteSessionCookie(ctx, w, "", time.Time{})
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Device is a sign-in on another device, as its beginner is told of it.
type Device struct {
	Handle  string    `json:"handle"` // a secret of who began it
	Code    string    `json:"code"`   // that the person types in
	Address string    `json:"address"`
	Whole   string    `json:"whole,omitempty"` // the address with the code in it
	Expires time.Time `json:"expires"`
}

// Ticket is the token that a sign-in on another device ends with.
type Ticket struct {
	Token   string    `json:"token"`
	Person  string    `json:"person"`
	Expires time.Time `json:"expires"`
}

// beginDevice begins a sign-in on another device.
func (d *Door) beginDevice(w http.ResponseWriter, r *http.Request, p *Provider) error {
	flow, _, err := p.flow(r.Context(), "")
	if err != nil {
		return err
	}
	if flow.Endpoint.DeviceAuthURL == "" {
		return refused("the provider knows no sign-in on another device; ask an admin for a token")
	}
	device, err := flow.DeviceAuth(oidc.ClientContext(r.Context(), p.proving(flow)))
	if err != nil {
		return outcome(err)
	}
	handle := rand.Text()
	d.note(handle, underWay{device: device})
	return answer(w, http.StatusOK, Device{
		Handle: handle, Code: device.UserCode, Address: device.VerificationURI, Whole: device.VerificationURIComplete,
		Expires: device.Expiry,
	})
}

// waitForDevice answers when the person has signed in, with a token for a day's work, or after a while that they have
// not.
func (d *Door) waitForDevice(w http.ResponseWriter, r *http.Request, p *Provider) error {
	var asked struct {
		Handle string `json:"handle"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&asked); err != nil {
		return fault.New(fault.Invalid, "openid.sign-in", "", errors.New("write {\"handle\": …}"))
	}
	u, known := d.take(asked.Handle) // so that two questions at once are not asked
	if !known || u.device == nil || !time.Now().Before(u.device.Expiry) {
		return refused("there is no such sign-in, or it took too long: begin again")
	}
	flow, f, err := p.flow(r.Context(), "")
	if err != nil {
		d.note(asked.Handle, u)
		return err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(r.Context(), p.client), waitsAtOnce)
	defer cancel()
	got, err := flow.DeviceAccessToken(ctx, u.device)
	switch {
	case err != nil && ctx.Err() != nil:
		d.note(asked.Handle, u)
		return answer(w, http.StatusAccepted, struct {
			Waits bool `json:"waits"`
		}{true})
	case err != nil:
		return outcome(err)
	}
	who, err := p.signedIn(ctx, f, got, "")
	if err != nil {
		return err
	}
	return d.ticket(w, r, p.Principal(who))
}

// ticket makes a token that may what the person may now.
func (d *Door) ticket(w http.ResponseWriter, r *http.Request, who access.Principal) error {
	if len(who.Grants) == 0 {
		return refused(who.Name + " is known, and has no role here: see api.openid.roles")
	}
	text, kept, err := token.Make(r.Context(), d.store, who,
		token.Wish{Name: "signed in from " + r.RemoteAddr, Grants: who.Grants, For: token.OwnDay}, time.Now())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, Ticket{Token: text, Person: kept.Person, Expires: kept.Expires})
}

func answer(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return fmt.Errorf("the answer did not reach its reader: %w", err)
	}
	return nil
}

// note keeps a sign-in that is under way. Where there are too many, the oldest goes.
func (d *Door) note(key string, u underWay) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if u.at.IsZero() {
		u.at = time.Now()
	}
	if len(d.underWay) >= mostUnderWay {
		oldest := ""
		for k, other := range d.underWay {
			if oldest == "" || other.at.Before(d.underWay[oldest].at) {
				oldest = k
			}
		}
		delete(d.underWay, oldest)
	}
	d.underWay[key] = u
}

// take returns a sign-in that is under way, which none other gets then.
func (d *Door) take(key string) (underWay, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u, known := d.underWay[key]
	delete(d.underWay, key)
	return u, known && time.Since(u.at) < signInWithin
}
