package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Where machines report by themselves, and the checks that wait for that.

type heartbeatsDraft struct {
	listen  at[string]
	address at[string]
	tls     at[keyPairDraft]
}

type keyPairDraft struct{ certificate, key at[string] }

func heartbeatsShape() object[heartbeatsDraft] {
	return object[heartbeatsDraft]{fields: []field[heartbeatsDraft]{
		must("listen", "\":7700\"", "The address and port, as `:7700` or `10.0.0.1:7700`. Where hale cannot listen "+
			"it goes on without, tries again, and the checks are unknown.",
			text("an address and port", "\":7700\""), func(h *heartbeatsDraft) *at[string] { return &h.listen }),
		may("address", "The address and port by which the machines reach it. hale tests itself there: while it does "+
			"not hear itself, silence means nothing.",
			text("an address and port", "hale.example.org:7700"),
			func(h *heartbeatsDraft) *at[string] { return &h.address }).said("where it listens"),
		may("tls", "Speak TLS. Without it, tokens go in the clear.", object[keyPairDraft]{fields: []field[keyPairDraft]{
			must("certificate", "cert.pem", "The file with the certificate, and those that it rests on, in PEM form. "+
				"It is read again when it changes.", text("a path", "cert.pem"),
				func(p *keyPairDraft) *at[string] { return &p.certificate }),
			must("key", "key.pem", "The file with its key, in PEM form.", text("a path", "key.pem"),
				func(p *keyPairDraft) *at[string] { return &p.key }),
		}}, func(h *heartbeatsDraft) *at[keyPairDraft] { return &h.tls }),
	}}
}

func compileHeartbeats(h at[heartbeatsDraft], f *finder) Heartbeats {
	d := h.value
	if d.listen.given() && !hasPort(d.listen.value) {
		f.add(d.listen.spot, fmt.Sprintf("%q is not an address and port", d.listen.value),
			"write for example \":7700\"")
	}
	if d.address.given() && (!hasPort(d.address.value) || strings.HasPrefix(d.address.value, ":")) {
		f.add(d.address.spot, fmt.Sprintf("%q is not an address and port", d.address.value),
			"write for example \"hale.example.org:7700\"")
	}
	return Heartbeats{Listen: d.listen.value, Address: d.address.value, Certificate: resolve(d.tls.value.certificate),
		Key: resolve(d.tls.value.key)}
}

func hasPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n != 0
}
