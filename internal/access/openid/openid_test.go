package openid_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/access"
	"hale/internal/access/openid"
	"hale/internal/access/token"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/secret"
	"hale/internal/state"
	"hale/internal/state/memory"
	"hale/internal/testbed/people"
)

// roles are those of the tests.
var roles = []openid.Role{
	{Group: "operators", Grant: access.Grant{Role: access.Operator, Fleets: []fleet.Name{"web"}}},
	{Group: "admins", Grant: access.Grant{Role: access.Admin}},
	{Email: "Mallory@example.org", Grant: access.Grant{Role: access.Admin}},
}

// house is a hale over TLS, with a real provider.
type house struct {
	t        *testing.T
	people   *people.Provider
	provider *openid.Provider
	store    state.Store
	door     *openid.Door
	url      string
	tls      *http.Client
	refused  atomic.Pointer[string] // why the last one was
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, store: memory.New(memory.Options{}).Open(nil)}
	server := httptest.NewUnstartedServer(h)
	server.StartTLS()
	t.Cleanup(server.Close)
	h.url, h.tls = server.URL, server.Client()
	h.people = people.Start(t, h.url+openid.PathDone)
	h.provider = h.provides(openid.Options{})
	h.door = openid.NewDoor(h.store, func() *openid.Provider { return h.provider }, h.refuse)
	return h
}

// provides is the real provider as hale knows it.
func (h *house) provides(o openid.Options) *openid.Provider {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(people.Secret), 0o600); err != nil {
		h.t.Fatal(err)
	}
	var err error
	if o.Secret, err = secret.File(file); err != nil {
		h.t.Fatal(err)
	}
	o.Issuer, o.ClientID, o.GroupsClaim, o.Roles = h.people.Issuer, people.ClientID, "groups", roles
	p, err := openid.New(o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(p.Close)
	return p
}

func (h *house) refuse(w http.ResponseWriter, _ *http.Request, err error) {
	said := err.Error()
	h.refused.Store(&said)
	status := http.StatusServiceUnavailable
	if fault.Is(err, fault.Unauthorised) {
		status = http.StatusForbidden
	}
	http.Error(w, "refused", status)
}

// ServeHTTP answers as hale's API would: with who calls.
func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.door.Serves(r) {
		h.door.ServeHTTP(w, r)
		return
	}
	p, _, err := h.door.Session(r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	_, _ = io.WriteString(w, p.Name)
}

// browser is one that trusts hale, too.
func (h *house) browser(who string) *people.Browser {
	b := h.people.Browser(who)
	b.Transport = h.tls.Transport
	return b
}

func TestAPersonSignsInWithABrowser(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.browser("ana")
	if page := b.Open(h.url + "/v1/whoami"); page.Text != "" {
		t.Errorf("before it is %q", page.Text)
	}
	page := b.Open(h.url + openid.PathSignIn + "?to=/fleets/web")
	if page.Text != "ana@example.org" || page.URL.Path != "/fleets/web" {
		t.Fatalf("%+v, refused for %v", page, h.refused.Load())
	}
	at, _ := url.Parse(h.url)
	for _, c := range b.Jar.Cookies(at) {
		entries, _, err := h.store.List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(e.Key+string(e.Value), c.Value) {
				t.Errorf("%s has the cookie %s", e.Key, c.Name)
			}
		}
	}
	resp, err := b.Post(h.url+openid.PathSignOut, "", nil)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	if page := b.Open(h.url + "/"); page.Text != "" {
		t.Errorf("signed out it is %q", page.Text)
	}
	if entries, _, err := h.store.List(t.Context(), ""); err != nil || len(entries) != 0 {
		t.Errorf("%d entries are left, %v", len(entries), err)
	}
}

// TestACookieIsForThisHostAndNoScript: and a browser keeps it over TLS only.
func TestACookieIsForThisHostAndNoScript(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.browser("ana")
	var set []*http.Cookie
	b.CheckRedirect = func(q *http.Request, _ []*http.Request) error {
		if q.Response != nil {
			set = append(set, q.Response.Cookies()...)
		}
		return nil
	}
	b.Open(h.url + openid.PathSignIn)
	named := 0
	for _, c := range set {
		if !strings.HasPrefix(c.Name, "__Host-hale") {
			continue
		}
		named++
		if !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("%+v", c)
		}
	}
	if named < 2 {
		t.Errorf("there are %d cookies in %v", named, set)
	}
}

func TestAPersonWithoutARoleIsKeptOut(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, who := range []string{"cy", "mallory"} { // mallory's address is not verified
		if page := h.browser(who).Open(h.url + openid.PathSignIn); page.Status != http.StatusForbidden {
			t.Errorf("%s: %+v", who, page)
		}
	}
	if entries, _, err := h.store.List(t.Context(), ""); err != nil || len(entries) != 0 {
		t.Errorf("%d entries are stored, %v", len(entries), err)
	}
}

// TestASignInEndsWhereItBegan: the address to which the provider sends a browser back works in that browser
// only, and once.
func TestASignInEndsWhereItBegan(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.browser("ana")
	var back string
	b.CheckRedirect = func(q *http.Request, _ []*http.Request) error {
		if q.URL.Path == openid.PathDone {
			back = q.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	b.Open(h.url + openid.PathSignIn)
	if back == "" {
		t.Fatal("the provider does not send the browser back")
	}
	other := h.browser("bo") // which has begun a sign-in of its own
	other.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	other.Open(h.url + openid.PathSignIn)
	if page := other.Open(back); page.Status != http.StatusForbidden {
		t.Errorf("another browser: %+v", page)
	}
	if page := b.Open(back); page.Status != http.StatusForbidden { // the first question spent it
		t.Errorf("the same one, afterwards: %+v", page)
	}
	for _, address := range []string{"?state=x&code=y", "", "?error=x"} {
		if page := b.Open(h.url + openid.PathDone + address); page.Status != http.StatusForbidden {
			t.Errorf("%s: %+v", address, page)
		}
	}
}

// TestTheProvidersWordIsForThisSignIn: one that was made for another nonce lets none in.
func TestTheProvidersWordIsForThisSignIn(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.browser("ana")
	b.CheckRedirect = func(q *http.Request, _ []*http.Request) error {
		if v := q.URL.Query(); v.Has("nonce") {
			v.Set("nonce", "another")
			q.URL.RawQuery = v.Encode()
		}
		return nil
	}
	if page := b.Open(h.url + openid.PathSignIn); page.Status != http.StatusForbidden {
		t.Errorf("%+v", page)
	}
}

func TestASignInLeadsToNoOtherSite(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, to := range []string{"//evil.example", "https://evil.example", "/\\evil.example", "javascript:1", "/a\nb"} {
		page := h.browser("ana").Open(h.url + openid.PathSignIn + "?to=" + url.QueryEscape(to))
		if page.URL.Path != "/v1/whoami" || page.Status != http.StatusOK {
			t.Errorf("%q leads to %v: %v", to, page.URL, h.refused.Load())
		}
	}
}

func TestAPersonSignsInOnAnotherDevice(t *testing.T) {
	t.Parallel()
	h := open(t)
	var d openid.Device
	if status := h.post(openid.PathDevice, "", &d); status != http.StatusOK || d.Code == "" || d.Handle == "" {
		t.Fatal(status, d, h.refused.Load())
	}
	h.people.Browser("ana").Confirm(d.Address, d.Code)
	var got openid.Ticket
	if status := h.post(openid.PathDevice+"/wait", `{"handle": "`+d.Handle+`"}`, &got); status != http.StatusOK {
		t.Fatal(status, *h.refused.Load())
	}
	p, kept, err := token.Verify(t.Context(), h.store, got.Token, time.Now())
	if err != nil || !p.May(access.Operator, "web") || p.MayAnywhere(access.Admin) || kept.Person != "ana@example.org" {
		t.Errorf("%+v, %v", p, err)
	}
	if left := time.Until(got.Expires); left > token.OwnDay || left < token.OwnDay-time.Minute {
		t.Errorf("it lives for %v", left)
	}
	if status := h.post(openid.PathDevice+"/wait", `{"handle": "`+d.Handle+`"}`, nil); status != http.StatusForbidden {
		t.Errorf("asked once more: %d", status)
	}
}

func (h *house) post(path, body string, into any) int {
	h.t.Helper()
	resp, err := h.tls.Post(h.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && into != nil && resp.StatusCode == http.StatusOK {
		err = json.NewDecoder(bytes.NewReader(data)).Decode(into)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode
}

func TestATokenOfTheProviderCountsIfItIsForHale(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.provider = h.provides(openid.Options{Audience: "hale-api"})
	person := map[string]any{"email": "ana@example.org", "email_verified": true, "groups": []string{"operators"}}
	with := func(more map[string]any) map[string]any {
		out := maps.Clone(person)
		maps.Copy(out, more)
		return out
	}
	past := time.Now().Add(-time.Minute).Unix()
	for name, c := range map[string]struct {
		m    people.Minted
		good bool
	}{
		"good":                     {people.Minted{Claims: person}, true},
		"an access token":          {people.Minted{Claims: with(map[string]any{"aud": "hale-api"})}, true},
		"for hale among others":    {people.Minted{Claims: with(map[string]any{"aud": []string{"x", "hale"}})}, true},
		"for another client":       {people.Minted{Claims: with(map[string]any{"aud": "wiki"})}, false},
		"for nobody":               {people.Minted{Claims: with(map[string]any{"aud": nil})}, false},
		"over":                     {people.Minted{Claims: with(map[string]any{"exp": past})}, false},
		"without an end":           {people.Minted{Claims: with(map[string]any{"exp": nil})}, false},
		"not yet":                  {people.Minted{Claims: with(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})}, false},
		"of another issuer":        {people.Minted{Claims: with(map[string]any{"iss": "https://evil.example"})}, false},
		"signed by another":        {people.Minted{Claims: person, By: "foreign"}, false},
		"with a key that none has": {people.Minted{Claims: person, Header: map[string]string{"kid": "two"}}, false},
		"of no subject":            {people.Minted{Claims: with(map[string]any{"sub": nil})}, false},
		"one that ends a session": {people.Minted{Claims: with(map[string]any{"events": map[string]any{"x": 1}})},
			false},
	} {
		p, until, err := h.provider.Verify(t.Context(), h.people.Mint(c.m))
		if c.good != (err == nil) || c.good != p.May(access.Operator, "web") || c.good && time.Until(until) <= 0 {
			t.Errorf("%s: %+v until %v, %v", name, p, until, err)
		}
		if !c.good && !fault.Is(err, fault.Unauthorised) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := h.people.Mint(people.Minted{Claims: person})
	parts := strings.Split(good, ".")
	none := "eyJhbGciOiJub25lIn0." + parts[1] + "."
	for _, text := range []string{"", "x", "a.b.c", none, parts[0] + "." + parts[1] + ".", good + "x",
		good[:len(good)-9]} {
		if p, _, err := h.provider.Verify(t.Context(), text); err == nil || p.MayAnywhere(access.Viewer) {
			t.Errorf("%q: %+v", text, p)
		}
	}
}

func TestAnAddressCountsOnlyIfItIsVerified(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, c := range []struct {
		verified any
		admin    bool
	}{{true, true}, {"true", true}, {false, false}, {"false", false}, {nil, false}, {1, false}} {
		p, _, err := h.provider.Verify(t.Context(), h.people.Mint(people.Minted{Claims: map[string]any{
			"email": "mallory@example.org", "email_verified": c.verified,
		}}))
		if err != nil || p.MayAnywhere(access.Admin) != c.admin {
			t.Errorf("verified %v: %+v, %v", c.verified, p, err)
		}
	}
}

// TestAProviderThatIsAwayIsNoRefusal: and hale asks it again when it is back.
func TestAProviderThatIsAwayIsNoRefusal(t *testing.T) {
	t.Parallel()
	h := open(t)
	good := h.people.Mint(people.Minted{})
	h.people.Stop()
	if _, _, err := h.provider.Verify(t.Context(), good); !fault.Is(err, fault.Transient) {
		t.Errorf("%v", err)
	}
	if status := h.post(openid.PathDevice, "", nil); status != http.StatusServiceUnavailable {
		t.Errorf("%d", status)
	}
}

// TestTheKeysAreAwayIsNoRefusal: the provider was known, and has gone before its keys were asked for.
func TestTheKeysAreAwayIsNoRefusal(t *testing.T) {
	t.Parallel()
	h := open(t)
	good := h.people.Mint(people.Minted{})
	if status := h.post(openid.PathDevice, "", nil); status != http.StatusOK { // it is discovered
		t.Fatal(status)
	}
	h.people.Stop()
	if _, _, err := h.provider.Verify(t.Context(), good); !fault.Is(err, fault.Transient) {
		t.Errorf("%v", err)
	}
}

func TestTheSecretIsNowhere(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.people.Stop()
	for _, path := range []string{openid.PathDevice, openid.PathDevice + "/wait"} {
		h.post(path, `{"handle": "x"}`, nil)
	}
	h.browser("ana").Open(h.url + openid.PathSignIn)
	if said := *h.refused.Load(); strings.Contains(said, people.Secret) {
		t.Error(said)
	}
}

// TestASessionFollowsTheRolesAsTheyAreNow, and ends in the store.
func TestASessionFollowsTheRolesAsTheyAreNow(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.browser("bo")
	if page := b.Open(h.url + openid.PathSignIn); page.Text != "bo@example.org" {
		t.Fatalf("%+v", page)
	}
	r := httptest.NewRequest(http.MethodGet, h.url, nil)
	at, _ := url.Parse(h.url)
	for _, c := range b.Jar.Cookies(at) {
		r.AddCookie(c)
	}
	if p, until, err := h.door.Session(r); err != nil || !p.May(access.Admin, "") ||
		time.Until(until) > openid.SessionFor {
		t.Errorf("%+v until %v, %v", p, until, err)
	}
	was := roles
	h.provider = h.providesOnly(was[:1])
	if p, _, err := h.door.Session(r); err != nil || p.May(access.Admin, "") || !p.May(access.Operator, "web") {
		t.Errorf("with fewer roles: %+v, %v", p, err)
	}
	entries, _, err := h.store.List(t.Context(), "access/sessions/")
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	for _, spoiled := range []string{"", "{}", string(entries[0].Value[:20]),
		strings.Replace(string(entries[0].Value), "2", "1", 1)} {
		txn := state.Txn{Then: []state.Write{state.Put(entries[0].Key, []byte(spoiled))}}
		if _, err := h.store.Commit(t.Context(), txn); err != nil {
			t.Fatal(err)
		}
		if p, _, err := h.door.Session(r); err != nil || p.MayAnywhere(access.Viewer) {
			t.Errorf("%q: %+v, %v", spoiled, p, err)
		}
	}
}

func (h *house) providesOnly(some []openid.Role) *openid.Provider {
	h.t.Helper()
	p, err := openid.New(openid.Options{Issuer: h.people.Issuer, ClientID: "hale", GroupsClaim: "groups",
		Roles: slices.Clone(some)})
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

func TestAForeignCookieIsNone(t *testing.T) {
	t.Parallel()
	h := open(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := url.Parse(h.url)
	for _, value := range []string{"x", "../tokens/x", strings.Repeat("a", 4000), "%00"} {
		jar.SetCookies(at, []*http.Cookie{{Name: "__Host-hale", Value: value, Secure: true, Path: "/"}})
		b := h.browser("ana")
		b.Jar = jar
		if page := b.Open(h.url + "/"); page.Text != "" || page.Status != http.StatusOK {
			t.Errorf("%q: %+v", value, page)
		}
	}
}
