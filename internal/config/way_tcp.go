package config

import (
	"hale/internal/core/fleet"
	"hale/internal/keys"
)

type tcpDraft struct {
	port keys.At[int]
	full keys.At[bool]
}

var tcpWay = wayOf(fleet.CheckTCP, "port: 22", "Connect to a port.",
	keys.Object[tcpDraft]{Fields: []keys.Field[tcpDraft]{
		keys.Must("port", "22", "The port.", keys.Integer(1, 65535),
			func(t *tcpDraft) *keys.At[int] { return &t.port }),
		keys.Or("full", false, "Complete the connection, so that the program behind the port gets to see it; "+
			"otherwise the system behind it answers alone, where that is cheaper.",
			keys.Boolean(), func(t *tcpDraft) *keys.At[bool] { return &t.full }),
	}}, func(_ *fleetCompiler, d keys.At[tcpDraft], out *fleet.Check) {
		out.Port, out.Full = d.Value.port.Value, d.Value.full.Value
	}, func(c *fleet.Check, p *pairs) {
		p.add("port", "%d", c.Port)
		p.unless(!c.Full, "full", "true")
	})
