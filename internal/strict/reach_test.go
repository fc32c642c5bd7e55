package strict_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"hale/internal/strict"
)

func TestWhichAddressesNeedToBeListed(t *testing.T) {
	t.Parallel()
	for text, needs := range map[string]bool{
		"127.0.0.1": true, "127.8.9.10": true, "::1": true, "0.0.0.0": true, "0.1.2.3": true, "::": true,
		"::ffff:127.0.0.1": true, "::127.0.0.1": true, "64:ff9b::7f00:1": true, "2002:7f00:1::": true,
		"169.254.169.254": true, "169.254.0.7": true, "fe80::1%eth0": true, "fe80::a9fe:a9fe": true,
		"fd00:ec2::254": true, "fd20:ce::254": true, "100.100.100.200": true, "168.63.129.16": true,
		"64:ff9b::a9fe:a9fe": true,

		"10.0.0.1": false, "192.168.1.1": false, "172.16.0.1": false, "100.100.100.201": false, "93.184.216.34": false,
		"fd00::1": false, "2001:db8::1": false, "64:ff9b::808:808": false, "2002:808:808::": false,
	} {
		err := strict.Reach{}.Address(netip.MustParseAddr(text))
		var refused *strict.RefusedError
		if errors.As(err, &refused) != needs || needs && (refused.Sent || !strings.Contains(err.Error(), "allow_addresses")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatIsListedIsReachedAndNothingBeside(t *testing.T) {
	t.Parallel()
	r := strict.Reach{netip.MustParsePrefix("127.0.0.2/32"), netip.MustParsePrefix("169.254.0.0/24")}
	for text, reached := range map[string]bool{
		"127.0.0.2": true, "::ffff:127.0.0.2": true, "169.254.0.9": true,
		"127.0.0.1": false, "::1": false, "169.254.169.254": false,
	} {
		if err := r.Address(netip.MustParseAddr(text)); (err == nil) != reached {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestANameOfHalesOwnServerIsKnownBeforeItIsDialled(t *testing.T) {
	t.Parallel()
	for host, refused := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "hook.localhost": true, "[::1]": true, "127.0.0.1": true,
		"example.org": false, "localhost.example.org": false, "10.0.0.1": false,
	} {
		if err := (strict.Reach{}).Host(host); (err != nil) != refused {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// A name that came to a good address when it was looked up, and comes to hale's own server when it is dialled, leads
// nowhere: the address is judged that is connected to.
func TestANameIsJudgedByTheAddressThatIsDialled(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: strict.Reach{}.Dialer().DialContext}}
	_, err = ask(t.Context(), t, client.Transport, "http://localhost:"+port)
	var refused *strict.RefusedError
	if !errors.As(err, &refused) || asked != 0 {
		t.Errorf("%v, and %d requests arrived", err, asked)
	}
}

func TestBehindAProxyWhatHaleKnowsOfANameCounts(t *testing.T) {
	t.Parallel()
	for to, refused := range map[string]bool{
		"http://169.254.169.254/": true, "http://localhost/": true, "http://no-such-host.invalid/": false,
		"http://10.0.0.1/": false,
	} {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		if err := (strict.Reach{}).Behind(t.Context(), u); (err != nil) != refused {
			t.Errorf("%s: %v", to, err)
		}
	}
}
