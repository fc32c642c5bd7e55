package post

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/secret"
	"hale/internal/strict"
)

// A proxy of the administrator's may be anywhere, and what is behind it is still kept from hale's own server.
func TestAProxyMayBeOnHalesOwnServer(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		asked = append(asked, q.Host)
	}))
	defer server.Close()
	proxy, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	send := func(to string) error {
		p := New(Options{URL: secret.Value{Plain: to}, Reach: func(string) strict.Reach { return nil },
			Identity: Identity{Name: "hook", Timeout: time.Minute}})
		defer p.Close()
		p.proxy = http.ProxyURL(proxy)
		_, err := p.Send(t.Context(), "", nil, nil)
		return err
	}
	if err := send("http://hook.invalid/"); err != nil {
		t.Errorf("it does not go by the proxy: %v", err)
	}
	for _, to := range []string{"http://169.254.169.254/latest/meta-data", "http://localhost:9093/"} {
		if err := send(to); !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), "allow_addresses") {
			t.Errorf("%s: %v", to, err)
		}
	}
	if len(asked) != 1 || asked[0] != "hook.invalid" {
		t.Errorf("the proxy was asked for %v", asked)
	}
}
