package config

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/keys"
)

// way is one way in which a check can ask. Each lies in a file of its own: the key under which it is written, what the
// check becomes by it, and how that is written back.
type way struct {
	kind    fleet.CheckKind
	example string // of what stands under the key, where an example helps
	key     keys.Section[asked, struct{}]
	write   func(check *fleet.Check, p *pairs)
}

// asked is a check that is told what it asks.
type asked struct {
	*fleetCompiler
	check *fleet.Check
}

// ways are all of them, in the order of the reference.
var ways = []way{
	pingWay, tcpWay, httpWay, execWay, agentWay, heartbeatWay, sshWay, tlsWay, udpWay, grpcWay, dnsWay,
}

// wayOf makes a way of what its key says: the shape of what is written there, what compile makes of that, and write,
// which puts the same into pairs.
func wayOf[V any](kind fleet.CheckKind, example, doc string, s keys.Shape[V],
	compile func(c *fleetCompiler, d keys.At[V], out *fleet.Check), write func(check *fleet.Check, p *pairs)) way {
	key := keys.Under(string(kind), doc, s, func(a asked, d keys.At[V]) struct{} {
		compile(a.fleetCompiler, d, a.check)
		return struct{}{}
	})
	return way{kind, example, key, write}
}

// checkWays are the keys of the ways.
func checkWays() []keys.Field[checkDraft] {
	var fields []keys.Field[keys.Own]
	var words []string
	for _, w := range ways {
		fields, words = append(fields, w.key.Fields...), append(words, string(w.kind))
	}
	fields[0].Doc += " A check asks in one way: one of " + enumerated(words) + "."
	return keys.Within(fields, func(d *checkDraft) *keys.Own { return &d.ways })
}

func checkWayExamples() string {
	var all []string
	for _, w := range ways {
		all = append(all, fmt.Sprintf("%s: {%s}", w.kind, w.example))
	}
	return enumerated(all)
}
