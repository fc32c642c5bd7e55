package netprobe

import (
	"fmt"
	"time"

	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

type heartbeatDraft struct{ token, secret keys.At[keys.SecretRef] }

var heartbeatKeys = kinds.CheckOf(policy.CheckHeartbeat, "secret: {file: PATH}",
	"The machine reports by itself, at least once in every `every`, and has `timeout` more; see heartbeats. Until "+
		"its first report it is unknown, for as long as would make it down. Here timeout is half of every by default, "+
		"and 3s at least.", heartbeatShape(),
	func(c kinds.Asked, d keys.At[heartbeatDraft]) { c.Check.Heartbeat = heartbeatOf(c, d) },
	writeHeartbeat).WithTimeout(beatTimeout)

func heartbeatShape() keys.Object[heartbeatDraft] {
	return keys.Object[heartbeatDraft]{Fields: []keys.Field[heartbeatDraft]{
		keys.May("secret", "The secret that each machine's own token (`Authorization: Bearer …`) is derived from: "+
			"`{file: PATH}` or `{env: NAME}`, never the secret itself. `{heartbeat.CHECK}` in `user_data` is the "+
			"machine's token. Give this or `token`.", keys.Secret(),
			func(h *heartbeatDraft) *keys.At[keys.SecretRef] { return &h.secret }),
		keys.May("token", "One token that all machines of the fleet show: `{file: PATH}` or `{env: NAME}`. Whoever "+
			"has it can report each of them ill, so nothing is rebuilt or replaced for that alone.", keys.Secret(),
			func(h *heartbeatDraft) *keys.At[keys.SecretRef] { return &h.token }),
	}}
}

func heartbeatOf(c kinds.Asked, d keys.At[heartbeatDraft]) policy.HeartbeatCheck {
	if !c.Received {
		c.Add(d.Spot, "needs a place where machines report",
			"add heartbeats: {listen: \":7700\"} at the top of the file")
	}
	token, own := d.Value.token, d.Value.secret.Written()
	switch {
	case own && token.Written():
		c.Add(token.Spot, "comes beside secret", "take one of the two out: with secret each machine has a token of "+
			"its own")
	case d.How == keys.Given && !own && token.How == keys.Absent:
		c.Add(d.Under("secret"), "is missing", "add secret: {file: …}, from which each machine's token is derived")
	case own:
		token = d.Value.secret
	}
	kept := c.Place(token)
	return policy.HeartbeatCheck{Token: kept, PerMachine: own && !kept.None()}
}

// beatTimeout returns how long after its time a report may come: half of every by default. It is so long at least that
// hale knows by then whether it could hear it.
func beatTimeout(f *keys.Finder, every, timeout keys.At[time.Duration]) time.Duration {
	least := policy.MinBeatTimeout
	switch {
	case every.Known() && every.Value <= least:
		f.Add(every.Spot, fmt.Sprintf("%s is too short for a heartbeat", keys.FormatDuration(every.Value)),
			"write 5s or more")
	case timeout.How == keys.Absent:
		return max(least, every.Value/2)
	case timeout.Known() && timeout.Value < least:
		f.Add(timeout.Spot, fmt.Sprintf("%s is too short for a heartbeat", keys.FormatDuration(timeout.Value)),
			fmt.Sprintf("write %s or more", keys.FormatDuration(least)))
	case timeout.Known() && every.Known() && timeout.Value >= every.Value:
		f.Add(timeout.Spot, fmt.Sprintf("%s is not shorter than every", keys.FormatDuration(timeout.Value)),
			"raise every or lower timeout")
	}
	return timeout.Value
}

// writeHeartbeat says where the token is kept. Simulated machines have none to show.
func writeHeartbeat(c *policy.Check, p *keys.Pairs) {
	h := &c.Heartbeat
	key := "token"
	if h.PerMachine {
		key = "secret"
	}
	if h.Token.File != "" {
		p.Add(key, "{file: %s}", keys.Quoted(h.Token.File))
		return
	}
	p.Add(key, "{env: %s}", keys.Quoted(h.Token.Env))
}
