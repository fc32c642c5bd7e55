package config

import (
	"hale/internal/fleet"
)

type tcpDraft struct {
	port at[int]
	full at[bool]
}

var tcpWay = wayOf(fleet.CheckTCP, "port: 22", "Connect to a port.", object[tcpDraft]{fields: []field[tcpDraft]{
	must("port", "22", "The port.", integer(1, 65535), func(t *tcpDraft) *at[int] { return &t.port }),
	or("full", false, "Complete the connection, so that the program behind the port gets to see it; otherwise the "+
		"system behind it answers alone, where that is cheaper.",
		boolean(), func(t *tcpDraft) *at[bool] { return &t.full }),
}}, func(_ *fleetCompiler, d at[tcpDraft], out *fleet.Check) {
	out.Port, out.Full = d.value.port.value, d.value.full.value
}, func(c *fleet.Check, p *pairs) {
	p.add("port", "%d", c.Port)
	p.unless(!c.Full, "full", "true")
})
