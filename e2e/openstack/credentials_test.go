package openstack

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	client "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/provider/openstack"
	"hale/internal/testbed/cloud"
)

// account writes a clouds.yaml with one cloud, "mine", that is entered so.
func account(t *testing.T, file, how string) {
	t.Helper()
	if err := os.WriteFile(file, []byte("clouds:\n  mine: {region_name: "+cloud.Region+", "+how+"}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
}

// byPassword is how the plain member of the project of that name enters at Keystone.
func byPassword(keystone, member string) string {
	return fmt.Sprintf("auth: {auth_url: %q, username: %[2]s, password: hale, project_name: %[2]s, user_domain_name: "+
		"Default, project_domain_name: Default}", keystone, member)
}

// gate is the way to the cloud, on which the tokens are seen that a provider gets and uses.
type gate struct {
	mu     sync.Mutex
	logins int
	last   string
}

func (g *gate) wrap(way http.RoundTripper) http.RoundTripper {
	return transport(func(q *http.Request) (*http.Response, error) {
		g.mu.Lock()
		if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/auth/tokens") {
			g.logins++
		}
		if token := q.Header.Get("X-Auth-Token"); token != "" {
			g.last = token
		}
		g.mu.Unlock()
		return way.RoundTrip(q)
	})
}

func (g *gate) seen() (logins int, last string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.logins, g.last
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// entering returns a provider with the account of the file.
func entering(t *testing.T, file string) (*openstack.Provider, *gate) {
	t.Helper()
	g := &gate{}
	p, err := openstack.New(openstack.Options{Cloud: "mine", CloudsFile: file, Wrap: g.wrap})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, g
}

// atKeystone enters as the plain member.
func atKeystone(t *testing.T) (keystone *gophercloud.ServiceClient, user string) {
	t.Helper()
	all, err := client.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: cloud.Keystone, Username: "demo", Password: "hale", DomainName: "Default", TenantName: "demo",
	})
	if err != nil {
		t.Fatal(err)
	}
	if keystone, err = client.NewIdentityV3(all, gophercloud.EndpointOpts{}); err != nil {
		t.Fatal(err)
	}
	who, err := tokens.Get(t.Context(), keystone, all.Token()).ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	return keystone, who.ID
}

// forgetTokens lets the services ask Keystone again about every token: they remember for minutes what it said.
func forgetTokens(t *testing.T) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:11211")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer := make([]byte, 64)
	if _, err := fmt.Fprint(conn, "flush_all\r\n"); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(answer); err != nil || strings.TrimSpace(string(answer[:n])) != "OK" {
		t.Fatalf("memcached: %q, %v", answer[:n], err)
	}
}

// TestApplicationCredentials: hale works with an application credential; one that is taken back is refused credentials
// and no empty cloud; and the next one is read from the same file, without a restart.
func TestApplicationCredentials(t *testing.T) {
	keystone, user := atKeystone(t)
	issue := func(name string) *applicationcredentials.ApplicationCredential {
		t.Helper()
		made, err := applicationcredentials.Create(t.Context(), keystone, user,
			applicationcredentials.CreateOpts{Name: name}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			applicationcredentials.Delete(context.WithoutCancel(t.Context()), keystone, user, made.ID) // it may be gone
		})
		return made
	}
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	use := func(c *applicationcredentials.ApplicationCredential) {
		t.Helper()
		account(t, file,
			fmt.Sprintf("auth_type: v3applicationcredential, auth: {auth_url: %q, application_credential_id: %s, "+
				"application_credential_secret: %s}",
				cloud.Keystone, c.ID, c.Secret))
	}
	first := issue("hale-first")
	use(first)
	p, _ := entering(t, file)
	id := newPerson(t, cloud.Demo).boot(t, "of-demo", nil)
	sees := func(what string) map[fleet.HostName]string {
		t.Helper()
		identity, err := p.Identity(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		listing, err := p.List(t.Context())
		if err != nil ||
			!slices.ContainsFunc(listing.Instances, func(i fleet.Instance) bool {
				return i.ID == fleet.InstanceID(id)
			}) {
			t.Fatalf("%s: %+v, %v", what, listing, err)
		}
		return identity
	}
	before := sees("the first credential")

	if err := applicationcredentials.Delete(t.Context(), keystone, user, first.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	forgetTokens(t)
	for range 2 { // the second time there is no session any more
		if listing, err := p.List(t.Context()); !fault.Is(err, fault.Unauthorised) {
			t.Fatalf("with a credential that was taken back: %+v, %v", listing, err)
		}
	}
	use(issue("hale-second"))
	if after := sees("the second credential"); after[""] != before[""] {
		t.Errorf("the project was %q and is %q", before[""], after[""])
	}
}

// TestATokenThatIsTakenBack: all calls at that moment get their answers, and one new token serves them all.
func TestATokenThatIsTakenBack(t *testing.T) {
	keystone, _ := atKeystone(t)
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	account(t, file, byPassword(cloud.Keystone, cloud.Demo))
	p, g := entering(t, file)
	id := newPerson(t, cloud.Demo).boot(t, "asked-often", nil)
	if _, err := p.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	logins, token := g.seen()
	if logins != 1 {
		t.Fatalf("%d logins for the first list", logins)
	}
	if err := tokens.Revoke(t.Context(), keystone, token).Err; err != nil {
		t.Fatal(err)
	}
	forgetTokens(t)
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			if _, err := p.Get(t.Context(), provider.Ref{ID: fleet.InstanceID(id)}); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	if _, err := p.List(t.Context()); err != nil {
		t.Error(err)
	}
	if logins, _ := g.seen(); logins != 2 {
		t.Errorf("%d logins in all; one token for all would be 2", logins)
	}
}

// TestAnAuthorityOfTheirOwn: Keystone's certificate is believed where clouds.yaml names who signed it, and nowhere
// else.
func TestAnAuthorityOfTheirOwn(t *testing.T) {
	origin, err := url.Parse("http://127.0.0.1:5000")
	if err != nil {
		t.Fatal(err)
	}
	tls := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(origin))
	t.Cleanup(tls.Close)
	dir := t.TempDir()
	ca, file := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "clouds.yaml")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	account(t, file, byPassword(tls.URL+"/v3", cloud.Demo))
	p, _ := entering(t, file)
	_, err = p.List(t.Context())
	if unknown := (x509.UnknownAuthorityError{}); !fault.Is(err, fault.Transient) ||
		!strings.Contains(err.Error(), unknown.Error()) {
		t.Errorf("without the authority: %v", err)
	}
	account(t, file, byPassword(tls.URL+"/v3", cloud.Demo)+", cacert: "+ca)
	if _, err := p.List(t.Context()); err != nil {
		t.Errorf("with the authority: %v", err)
	}
}

// TestTwoCloudsInOneHale: two projects, in two regions and entered by two accounts, are two providers of one hale; a
// machine that is lost in one is built again there, while the other's API says nothing.
func TestTwoCloudsInOneHale(t *testing.T) {
	m := newStage(t, "web-1")
	other := newPerson(t, cloud.Other)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, s := range other.all(within{t, ctx}) {
			if strings.HasPrefix(s.Name, "mail-") {
				servers.ForceDelete(ctx, other.compute, s.ID)
			}
		}
	})
	m.configure("hale.yaml", `
providers:
  here: {type: openstack, cloud: {name: demo, file: CLOUDS, region: Proxied}, poll: 1s}
  there: {type: openstack, cloud: {name: other, file: CLOUDS}, poll: 1s}
fleets:
  web:
    provider: here
    size: 1
    `+template+`
    repair: {steps: [recreate: {}]}
    grace: 5s
  mail:
    provider: there
    size: 1
    `+template+`
    repair: {steps: [recreate: {}]}
    grace: 5s
`)
	m.config = filepath.Join(m.dir, "hale.yaml")
	m.start()
	// mail returns the ids of those servers of the other project.
	mail := func() (ids []string) {
		for _, s := range other.all(t) {
			if s.Name == "mail-1" && s.Status == "ACTIVE" {
				ids = append(ids, s.ID)
			}
		}
		return ids
	}
	well := func(want int) func() (string, bool) {
		return func() (string, bool) {
			f, err := m.status()
			return fmt.Sprint(f.Healthy, " healthy, ", f.InRepair, " in repair, ",
				err), err == nil && f.Healthy == want && f.InRepair == 0 && f.InBuild == 0
		}
	}
	m.await("both fleets to stand", well(2))
	web, first := m.all(), mail()
	if len(web) != 1 || len(first) != 1 {
		t.Fatalf("one project has %d servers, the other %d", len(web), len(first))
	}

	m.proxy.set(func(_ http.ResponseWriter, q *http.Request, _ http.Handler) { <-q.Context().Done() })
	if err := servers.Delete(t.Context(), other.compute, first[0]).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	m.await("the lost one to be built again", func() (string, bool) {
		ids := mail()
		return fmt.Sprint(ids), len(ids) == 1 && ids[0] != first[0]
	})
	m.proxy.set(nil)
	m.await("both fleets to be well", well(2))
	if now := m.all(); now["web-1"].ID != web["web-1"].ID || !now["web-1"].Updated.Equal(web["web-1"].Updated) {
		t.Errorf("the other cloud's machine was touched: %+v, was %+v", now, web)
	}
	if ids := mail(); len(ids) != 1 {
		t.Errorf("the servers of the other project are %v", ids)
	}
}

// TestWrongCredentialsAreNoEmptyCloud: hale's clouds.yaml gets the account of another project, without any machine of
// the fleet. hale calls the cloud doubtful and touches nothing in either project. With the right account it goes on,
// without a restart.
func TestWrongCredentialsAreNoEmptyCloud(t *testing.T) {
	m := newStage(t, "web-1", "web-2", "web-3")
	other := newPerson(t, cloud.Other)
	file := filepath.Join(m.dir, "clouds.yaml")
	account(t, file, byPassword(cloud.Keystone, cloud.Demo))
	m.configure("hale.yaml",
		strings.Replace(byWord, "{name: demo, file: CLOUDS, region: Proxied}",
			"{name: mine, file: DIR/clouds.yaml}", 1))
	m.config = filepath.Join(m.dir, "hale.yaml")
	m.start()
	ids := m.awaitWell("the first builds")
	strangers := len(other.all(t))
	began := time.Now()
	wrong := func(what string) {
		t.Helper()
		m.await(what+" to be seen", func() (string, bool) {
			f, err := m.status()
			return fmt.Sprintf("%+v, %v", f.Provider, err), err == nil && f.Provider.Standing == "doubtful"
		})
		seen := time.Now()
		m.await("some looks more", func() (string, bool) { return "", time.Since(seen) > 8*time.Second })
		if n := len(other.all(t)); n != strangers {
			t.Errorf("%s: the other project has %d servers, and had %d", what, n, strangers)
		}
		if given := m.orders(began); len(given) > 0 {
			t.Errorf("%s: hale gave orders: %v", what, given)
		}
	}
	right := func(what string) {
		t.Helper()
		account(t, file, byPassword(cloud.Keystone, cloud.Demo))
		now := m.awaitWell("after " + what)
		for name, s := range ids {
			if now[name].ID != s.ID || !now[name].Updated.Equal(s.Updated) {
				t.Errorf("%s: %s was touched: %+v, was %+v", what, name, now[name], s)
			}
		}
	}

	account(t, file, byPassword(cloud.Keystone, cloud.Other))
	wrong("another account")
	right("another account")

	m.kill()
	account(t, file, byPassword(cloud.Keystone, cloud.Other))
	m.start()
	wrong("another account from the start")
	right("another account from the start")
}
