package haproxy

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"hale/internal/balancer"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Kind is the balancer haproxy.
func Kind() kinds.Balancer {
	return kinds.WayOf("haproxy", "socket: …, backend: …",
		"A backend of an HAProxy, by its runtime API. A machine is the server of its own name: declare as many as the "+
			"fleet may have, as `server-template web- 20 127.0.0.1:1 check disabled` for the fleet web.",
		shape(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct{ Options }

// Secrets implements kinds.Balancing: there are none.
func (s Settings) Secrets() []secret.Secret { return nil }

// Pool implements kinds.Balancing.
func (s Settings) Pool(o kinds.BalancerOptions) balancer.Pool {
	how := s.Options
	how.Name = o.Name
	return New(how)
}

type draft struct {
	socket, backend, add keys.At[string]
}

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("socket", "/run/haproxy/admin.sock",
			"Where HAProxy takes commands (`stats socket … level admin`): a "+
				"path, or an address and port. By the network nothing is encrypted, and no password is asked for.",
			keys.Text("a path, or an address and port", "/run/haproxy/admin.sock"),
			func(d *draft) *keys.At[string] { return &d.socket }),
		keys.Must("backend", "web", "The backend's name.", keys.Text("a name", "web"),
			func(d *draft) *keys.At[string] { return &d.backend }),
		keys.May("add", "With which words a server is made that the backend does not have, as `check inter 2s` "+
			"(HAProxy 2.6 and newer).", keys.Text("words of a server line", "check inter 2s"),
			func(d *draft) *keys.At[string] { return &d.add }).Said("none is made: only declared servers are used"),
	}}
}

func compileKeys(f *keys.Finder, v keys.At[draft]) kinds.Balancing {
	d := v.Value
	o := Options{Socket: d.socket.Value, Backend: d.backend.Value}
	if _, port, err := net.SplitHostPort(o.Socket); err != nil || port == "" ||
		strings.ContainsRune(o.Socket, filepath.Separator) {
		o.Socket = keys.Path(d.socket)
	}
	single(f, d.backend, " \t\r\n;/\\")
	single(f, d.add, "\r\n;\\")
	if d.add.Given() {
		o.Add = &d.add.Value
	}
	return Settings{o}
}

// single reports a text that would be more than one word, or command, to HAProxy.
func single(f *keys.Finder, text keys.At[string], without string) {
	if text.Known() && strings.ContainsAny(text.Value, without) {
		f.Add(text.Spot, fmt.Sprintf("%q is more than that", text.Value),
			"write it as it stands in HAProxy's configuration")
	}
}
