package config

import (
	"fmt"
	"time"

	"hale/internal/fleet"
	"hale/internal/heartbeat"
)

type heartbeatDraft struct{ token, secret at[secretDraft] }

var heartbeatWay = wayOf(fleet.CheckHeartbeat, "secret: {file: PATH}",
	"The machine reports by itself, at least once in every `every`, and has `timeout` more; see heartbeats. Until "+
		"its first report it is unknown, for as long as would make it down. Here timeout is half of every by default, "+
		"and 3s at least.", heartbeatShape(),
	func(c *fleetCompiler, d at[heartbeatDraft], out *fleet.Check) { out.Heartbeat = c.heartbeat(d) }, writeHeartbeat)

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

func (c *fleetCompiler) heartbeat(d at[heartbeatDraft]) fleet.HeartbeatCheck {
	if simulated := c.providers[c.draft.provider.value].value == ProviderSimulated; !c.listens && !simulated {
		c.add(d.spot, "needs a place where machines report",
			"add heartbeats: {listen: \":7700\"} at the top of the file")
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

// beatTimeout returns how long after its time a report may come: half of every by default. It is so long at least that
// hale knows by then whether it could hear it.
func (c *fleetCompiler) beatTimeout(d checkDraft) time.Duration {
	least := heartbeat.MinTimeout
	switch {
	case d.every.known() && d.every.value <= least:
		c.add(d.every.spot, fmt.Sprintf("%s is too short for a heartbeat", formatDuration(d.every.value)),
			"write 5s or more")
	case d.timeout.how == absent:
		return max(least, d.every.value/2)
	case d.timeout.known() && d.timeout.value < least:
		c.add(d.timeout.spot, fmt.Sprintf("%s is too short for a heartbeat", formatDuration(d.timeout.value)),
			fmt.Sprintf("write %s or more", formatDuration(least)))
	case d.timeout.known() && d.every.known() && d.timeout.value >= d.every.value:
		c.add(d.timeout.spot, fmt.Sprintf("%s is not shorter than every", formatDuration(d.timeout.value)),
			"raise every or lower timeout")
	}
	return d.timeout.value
}

// writeHeartbeat says where the token is kept. Simulated machines have none to show.
func writeHeartbeat(c *fleet.Check, p *pairs) {
	h := &c.Heartbeat
	key := "token"
	if h.PerMachine {
		key = "secret"
	}
	if h.Token.File != "" {
		p.add(key, "{file: %s}", quoted(h.Token.File))
		return
	}
	p.add(key, "{env: %s}", quoted(h.Token.Env))
}
