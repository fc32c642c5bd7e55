package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"hale/internal/keys"
)

// Where machines report by themselves, and the checks that wait for that.

type heartbeatsDraft struct {
	listen  keys.At[string]
	address keys.At[string]
	tls     keys.At[keyPairDraft]
}

type keyPairDraft struct{ certificate, key keys.At[string] }

func heartbeatsShape() keys.Object[heartbeatsDraft] {
	return keys.Object[heartbeatsDraft]{Fields: []keys.Field[heartbeatsDraft]{
		keys.Must("listen", "\":7700\"", "The address and port, as `:7700` or `10.0.0.1:7700`. Where hale cannot "+
			"listen it goes on without, tries again, and the checks are unknown.",
			keys.Text("an address and port", "\":7700\""),
			func(h *heartbeatsDraft) *keys.At[string] { return &h.listen }),
		keys.May("address", "The address and port by which the machines reach it. hale tests itself there: while it "+
			"does not hear itself, silence means nothing.",
			keys.Text("an address and port", "hale.example.org:7700"),
			func(h *heartbeatsDraft) *keys.At[string] { return &h.address }).Said("where it listens"),
		keys.May("tls", "Speak TLS. Without it, tokens go in the clear.",
			keyPairShape(), func(h *heartbeatsDraft) *keys.At[keyPairDraft] { return &h.tls }),
	}}
}

// keyPairShape is by what a server of hale's speaks TLS.
func keyPairShape() keys.Object[keyPairDraft] {
	return keys.Object[keyPairDraft]{Fields: []keys.Field[keyPairDraft]{
		keys.Must("certificate", "cert.pem", "The file with the certificate, and those that it rests on, in PEM form. It "+
			"is read again when it changes.", keys.Text("a path", "cert.pem"),
			func(p *keyPairDraft) *keys.At[string] { return &p.certificate }),
		keys.Must("key", "key.pem", "The file with its key, in PEM form.", keys.Text("a path", "key.pem"),
			func(p *keyPairDraft) *keys.At[string] { return &p.key }),
	}}
}

func compileHeartbeats(h keys.At[heartbeatsDraft], f *keys.Finder) Heartbeats {
	d := h.Value
	if d.listen.Given() && !hasPort(d.listen.Value) {
		f.Add(d.listen.Spot, fmt.Sprintf("%q is not an address and port", d.listen.Value),
			"write for example \":7700\"")
	}
	if d.address.Given() && (!hasPort(d.address.Value) || strings.HasPrefix(d.address.Value, ":")) {
		f.Add(d.address.Spot, fmt.Sprintf("%q is not an address and port", d.address.Value),
			"write for example \"hale.example.org:7700\"")
	}
	return Heartbeats{Listen: d.listen.Value, Address: d.address.Value, Certificate: keys.Path(d.tls.Value.certificate),
		Key: keys.Path(d.tls.Value.key)}
}

func hasPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n != 0
}
