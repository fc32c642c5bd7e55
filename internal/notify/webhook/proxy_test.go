package webhook

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/secret"
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
		target := New(Options{Name: "hook", URL: secret.Value{Plain: to}, Format: FormatHale, Timeout: time.Minute})
		target.proxy = http.ProxyURL(proxy)
		_, err := target.Send(t.Context(), notify.Message{Key: "k"})
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
