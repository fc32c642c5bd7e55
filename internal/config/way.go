package config

import (
	"fmt"
	"strings"

	"hale/internal/fleet"
	"hale/internal/keys"
)

// way is one way in which a check can ask. Each lies in a file of its own: the key under which it is written, what the
// check becomes by it, and how that is written back.
type way struct {
	kind    fleet.CheckKind
	example string // of what stands under the key, where an example helps
	key     keys.Field[checkDraft]
	written func(d *checkDraft) bool
	compile func(c *fleetCompiler, d *checkDraft, out *fleet.Check)
	write   func(check *fleet.Check, p *pairs)
}

// ways are all of them, in the order of the reference.
var ways = []way{
	pingWay, tcpWay, httpWay, execWay, agentWay, heartbeatWay, sshWay, tlsWay, udpWay, grpcWay, dnsWay,
}

// wayOf makes a way of what its key says: the shape of what is written there, what compile makes of that, and write,
// which puts the same into pairs.
func wayOf[V any](kind fleet.CheckKind, example, doc string, s keys.Shape[V],
	compile func(c *fleetCompiler, d keys.At[V], out *fleet.Check), write func(check *fleet.Check, p *pairs)) way {
	slot := func(d *checkDraft) *keys.At[V] {
		if d.ways == nil {
			d.ways = map[fleet.CheckKind]any{}
		}
		if v, there := d.ways[kind].(*keys.At[V]); there {
			return v
		}
		v := new(keys.At[V])
		d.ways[kind] = v
		return v
	}
	return way{
		kind: kind, example: example, key: keys.May(string(kind), doc, s, slot), write: write,
		written: func(d *checkDraft) bool { return slot(d).Written() },
		compile: func(c *fleetCompiler, d *checkDraft, out *fleet.Check) { compile(c, *slot(d), out) },
	}
}

// wayFields are the keys of the ways.
func wayFields() []keys.Field[checkDraft] {
	var fields []keys.Field[checkDraft]
	for _, w := range ways {
		fields = append(fields, w.key)
	}
	fields[0].Doc += " A check asks in one way: one of " + enumerated(ways,
		func(w way) string { return string(w.kind) }) + "."
	return fields
}

func wayExamples() string {
	return enumerated(ways, func(w way) string { return fmt.Sprintf("%s: {%s}", w.kind, w.example) })
}

// enumerated is "a, b and c".
func enumerated[T any](all []T, word func(T) string) string {
	words := make([]string, len(all))
	for i, a := range all {
		words[i] = word(a)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
