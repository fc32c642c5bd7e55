package config

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"hale/internal/fleet"
	"hale/internal/heartbeat"
)

// Where machines report by themselves, and the checks that wait for that.

type heartbeatsDraft struct {
	listen at[string]
	tls    at[keyPairDraft]
}

type keyPairDraft struct{ certificate, key at[string] }

type heartbeatDraft struct{ token at[secretDraft] }

func heartbeatsShape() object[heartbeatsDraft] {
	return object[heartbeatsDraft]{fields: []field[heartbeatsDraft]{
		must("listen", "\":7700\"", "The address and port, as `:7700` or `10.0.0.1:7700`. Where hale cannot listen it goes on without, tries again, and the checks are unknown.",
			text("an address and port", "\":7700\""), func(h *heartbeatsDraft) *at[string] { return &h.listen }),
		may("tls", "Speak TLS. Without it, tokens go in the clear.", object[keyPairDraft]{fields: []field[keyPairDraft]{
			must("certificate", "cert.pem", "The file with the certificate, and those that it rests on, in PEM form. It is read again when it changes.", text("a path", "cert.pem"),
				func(p *keyPairDraft) *at[string] { return &p.certificate }),
			must("key", "key.pem", "The file with its key, in PEM form.", text("a path", "key.pem"), func(p *keyPairDraft) *at[string] { return &p.key }),
		}}, func(h *heartbeatsDraft) *at[keyPairDraft] { return &h.tls }),
	}}
}

func heartbeatShape() object[heartbeatDraft] {
	return object[heartbeatDraft]{fields: []field[heartbeatDraft]{
		must("token", "{file: /etc/hale/web-beat}", "What the machines show (`Authorization: Bearer …`): `{file: PATH}` or `{env: NAME}`, never the token itself. It is read for each report.",
			secretShape(), func(h *heartbeatDraft) *at[secretDraft] { return &h.token }),
	}}
}

func compileHeartbeats(h at[heartbeatsDraft], f *finder) Heartbeats {
	d := h.value
	if d.listen.given() {
		_, port, err := net.SplitHostPort(d.listen.value)
		if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 {
			f.add(d.listen.spot, fmt.Sprintf("%q is not an address and port", d.listen.value), "write for example \":7700\"")
		}
	}
	return Heartbeats{Listen: d.listen.value, Certificate: resolve(d.tls.value.certificate), Key: resolve(d.tls.value.key)}
}

func (c *fleetCompiler) heartbeat(d at[heartbeatDraft]) fleet.HeartbeatCheck {
	if simulated := c.providers[c.draft.provider.value].value == ProviderSimulated; !c.listens && !simulated {
		c.add(d.spot, "needs a place where machines report", "add heartbeats: {listen: \":7700\"} at the top of the file")
	}
	token := d.value.token
	switch {
	case c.secret(token).None():
	case token.value.file.written():
		return fleet.HeartbeatCheck{Token: fleet.Secret{File: resolve(token.value.file)}}
	default:
		return fleet.HeartbeatCheck{Token: fleet.Secret{Env: token.value.env.value}}
	}
	return fleet.HeartbeatCheck{}
}

// beatTimeout returns how long after its time a report may come: half of every by default. It is so long at least that hale knows by then whether it could hear it.
func (c *fleetCompiler) beatTimeout(d checkDraft) time.Duration {
	least := heartbeat.MinTimeout
	switch {
	case d.every.known() && d.every.value <= least:
		c.add(d.every.spot, fmt.Sprintf("%s is too short for a heartbeat", formatDuration(d.every.value)), "write 5s or more")
	case d.timeout.how == absent:
		return max(least, d.every.value/2)
	case d.timeout.known() && d.timeout.value < least:
		c.add(d.timeout.spot, fmt.Sprintf("%s is too short for a heartbeat", formatDuration(d.timeout.value)), fmt.Sprintf("write %s or more", formatDuration(least)))
	case d.timeout.known() && d.every.known() && d.timeout.value >= d.every.value:
		c.add(d.timeout.spot, fmt.Sprintf("%s is not shorter than every", formatDuration(d.timeout.value)), "raise every or lower timeout")
	}
	return d.timeout.value
}
