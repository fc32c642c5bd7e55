// Package people is a real OpenID provider for tests (npm's oidc-provider), at which whom the test names is signed in.
//
// It promises that the provider ends with the test. It has ana (of the group operators), bo (admins and operators), cy
// (of none), and mallory, whose address of mail it did not verify. It needs node and npm.
package people

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed provider
var files embed.FS

const (
	startsWithin   = 30 * time.Second
	installsWithin = 3 * time.Minute
	longestPage    = 1 << 20
)

// Secret is by what hale proves to the provider that it is the client ClientID.
const (
	Secret   = "a-secret-of-tests-only"
	ClientID = "hale"
)

// Provider is one that runs.
type Provider struct {
	Issuer string
	t      *testing.T
	stop   func()
}

// Start starts a provider that sends browsers back to the address.
func Start(t *testing.T, back string) *Provider {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "node", "op.mjs", back)
	cmd.Dir, cmd.Env = installed(t), append(os.Environ(), "CLIENT_SECRET="+Secret)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatalf("the provider does not start (scripts/install-deps.sh tests installs node): %v", err)
	}
	p := &Provider{t: t, stop: sync.OnceFunc(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})}
	t.Cleanup(p.stop)
	defer time.AfterFunc(startsWithin, cancel).Stop()
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider does not come up: %v", err)
	}
	p.Issuer = "http://127.0.0.1:" + strings.TrimSpace(port)
	return p
}

// Stop ends the provider before the test ends.
func (p *Provider) Stop() { p.stop() }

// installed returns the folder with the provider and the modules that it needs, as its lock file names them.
func installed(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	content := map[string][]byte{}
	for _, name := range []string{"op.mjs", "package.json", "package-lock.json", "npmrc"} {
		data, err := files.ReadFile("provider/" + name)
		if err != nil {
			t.Fatal(err)
		}
		content[strings.Replace(name, "npmrc", ".npmrc", 1)] = data
		sum.Write(data)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	folder := filepath.Join(cache, "hale-tests", "oidc-provider-"+hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	draft, err := os.MkdirTemp(filepath.Dir(folder), "draft-") //nolint:usetesting // it is moved, and outlives the test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(draft) }() // what is left of it does no harm
	for name, data := range maps.All(content) {
		if err := os.WriteFile(filepath.Join(draft, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), installsWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	cmd.Dir = draft
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm does not install the provider (scripts/install-deps.sh tests installs npm): %v\n%s", err, said)
	}
	if err := os.Rename(draft, folder); err != nil {
		if _, other := os.Stat(folder); other != nil { // another test was faster
			t.Fatal(err)
		}
	}
	return folder
}

// Minted are claims that the provider signs, beside those of a good token of ana for hale.
type Minted struct {
	Claims map[string]any    `json:"claims"` // nil: without it
	Header map[string]string `json:"header"`
	By     string            `json:"by"` // "foreign": with another key of the same name
}

// Mint returns a token as the provider, or another one, would sign it.
func (p *Provider) Mint(m Minted) string {
	p.t.Helper()
	claims := map[string]any{"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	maps.Copy(claims, m.Claims)
	m.Claims = claims
	body, err := json.Marshal(m)
	if err != nil {
		p.t.Fatal(err)
	}
	page := p.Browser("").send(http.MethodPost, p.Issuer+"/mint", bytes.NewReader(body))
	return page.Text
}

// Browser is one in which a person of the name is signed in at the provider.
type Browser struct {
	*http.Client
	t   *testing.T
	who string
}

// Browser opens one. It keeps cookies, and follows redirects.
func (p *Provider) Browser(who string) *Browser {
	p.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return &Browser{t: p.t, who: who, Client: &http.Client{Jar: jar, Timeout: startsWithin}}
}

// Page is what a browser shows.
type Page struct {
	Status int
	URL    *url.URL
	Text   string
}

// Open goes to the address.
func (b *Browser) Open(address string) Page {
	b.t.Helper()
	return b.send(http.MethodGet, address, nil)
}

func (b *Browser) send(method, address string, body io.Reader) Page {
	b.t.Helper()
	q, err := http.NewRequestWithContext(b.t.Context(), method, address, body)
	if err != nil {
		b.t.Fatal(err)
	}
	q.Header.Set("X-Who", b.who)
	if method == http.MethodPost {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := b.Do(q)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, longestPage))
	if err != nil {
		b.t.Fatal(err)
	}
	return Page{resp.StatusCode, resp.Request.URL, string(text)}
}

var (
	formOf  = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	inputOf = regexp.MustCompile(`<(?:input|button)[^>]* name="([^"]*)"(?:[^>]* value="([^"]*)")?`)
)

// Confirm types the code of a sign-in on another device in, and agrees.
func (b *Browser) Confirm(address, code string) {
	b.t.Helper()
	page := b.Open(address)
	for range 5 {
		action := formOf.FindStringSubmatch(page.Text)
		if action == nil {
			break
		}
		form := url.Values{}
		for _, in := range inputOf.FindAllStringSubmatch(page.Text, -1) {
			if in[1] != "abort" {
				form.Set(in[1], in[2])
			}
		}
		if form.Get("user_code") == "" {
			form.Set("user_code", code)
		}
		to, err := page.URL.Parse(action[1])
		if err != nil {
			b.t.Fatal(err)
		}
		page = b.send(http.MethodPost, to.String(), strings.NewReader(form.Encode()))
	}
	if page.Status != http.StatusOK || !strings.Contains(page.Text, "done") {
		b.t.Fatalf("the code is not taken: %s", fmt.Sprint(page))
	}
}
