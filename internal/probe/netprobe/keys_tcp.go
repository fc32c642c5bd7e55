package netprobe

import (
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

type tcpDraft struct {
	port keys.At[int]
	full keys.At[bool]
}

var tcpKeys = kinds.CheckOf(policy.CheckTCP, "port: 22", "Connect to a port.",
	keys.Object[tcpDraft]{Fields: []keys.Field[tcpDraft]{
		keys.Must("port", "22", "The port.", keys.Integer(1, 65535),
			func(t *tcpDraft) *keys.At[int] { return &t.port }),
		keys.Or("full", false, "Complete the connection, so that the program behind the port gets to see it; "+
			"otherwise the system behind it answers alone, where that is cheaper.",
			keys.Boolean(), func(t *tcpDraft) *keys.At[bool] { return &t.full }),
	}}, func(c kinds.Asked, d keys.At[tcpDraft]) {
		c.Check.Port, c.Check.Full = d.Value.port.Value, d.Value.full.Value
	}, func(c *policy.Check, p *keys.Pairs) {
		p.Add("port", "%d", c.Port)
		p.May("full", "%t", c.Full)
	})
