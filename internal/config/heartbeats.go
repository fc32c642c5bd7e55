package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"hale/internal/fleet"
	"hale/internal/heartbeat"
)

// Where machines report by themselves, and the checks that wait for that.

type heartbeatsDraft struct {
	listen  at[string]
	address at[string]
	tls     at[keyPairDraft]
}

type keyPairDraft struct{ certificate, key at[string] }

type heartbeatDraft struct{ token, secret at[secretDraft] }

func heartbeatsShape() object[heartbeatsDraft] {
	return object[heartbeatsDraft]{fields: []field[heartbeatsDraft]{
		must("listen", "\":7700\"", "The address and port, as `:7700` or `10.0.0.1:7700`. Where hale cannot listen it goes on without, tries again, and the checks are unknown.",
			text("an address and port", "\":7700\""), func(h *heartbeatsDraft) *at[string] { return &h.listen }),
		may("address", "The address and port by which the machines reach it. hale tests itself there: while it does "+
			"not hear itself, silence means nothing.",
			text("an address and port", "hale.example.org:7700"),
			func(h *heartbeatsDraft) *at[string] { return &h.address }).said("where it listens"),
		may("tls", "Speak TLS. Without it, tokens go in the clear.", object[keyPairDraft]{fields: []field[keyPairDraft]{
			must("certificate", "cert.pem", "The file with the certificate, and those that it rests on, in PEM form. It is read again when it changes.", text("a path", "cert.pem"),
				func(p *keyPairDraft) *at[string] { return &p.certificate }),
			must("key", "key.pem", "The file with its key, in PEM form.", text("a path", "key.pem"), func(p *keyPairDraft) *at[string] { return &p.key }),
		}}, func(h *heartbeatsDraft) *at[keyPairDraft] { return &h.tls }),
	}}
}

func heartbeatShape() object[heartbeatDraft] {
	return object[heartbeatDraft]{fields: []field[heartbeatDraft]{
		may("secret", "The secret that each machine's own token (`Authorization: Bearer …`) is derived from: `{file: "+
			"PATH}` or `{env: NAME}`, never the secret itself. `{heartbeat.CHECK}` in `user_data` is the machine's "+
			"token. Give this or `token`.", secretShape(),
			func(h *heartbeatDraft) *at[secretDraft] { return &h.secret }),
		may("token", "One token that all machines of the fleet show: `{file: PATH}` or `{env: NAME}`. Whoever has it "+
			"can report each of them ill, so nothing is rebuilt or replaced for that alone.", secretShape(),
			func(h *heartbeatDraft) *at[secretDraft] { return &h.token }),
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

func (c *fleetCompiler) heartbeat(d at[heartbeatDraft]) fleet.HeartbeatCheck {
	if simulated := c.providers[c.draft.provider.value].value == ProviderSimulated; !c.listens && !simulated {
		c.add(d.spot, "needs a place where machines report", "add heartbeats: {listen: \":7700\"} at the top of the file")
	}
	token, own := d.value.token, d.value.secret.written()
	switch {
	case own && token.written():
		c.add(token.spot, "comes beside secret", "take one of the two out: with secret each machine has a token of "+
			"its own")
	case d.how == given && !own && token.how == absent:
		c.add(d.under("secret"), "is missing", "add secret: {file: …}, from which each machine's token is derived")
	case own:
		token = d.value.secret
	}
	switch {
	case c.secret(token).None():
	case token.value.file.written():
		return fleet.HeartbeatCheck{Token: fleet.Secret{File: resolve(token.value.file)}, PerMachine: own}
	default:
		return fleet.HeartbeatCheck{Token: fleet.Secret{Env: token.value.env.value}, PerMachine: own}
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
