package netprobe

import (
	"context"

	"hale/internal/kinds"
	"hale/internal/probe"
)

// kindOfCheck is a kind of check: its keys, and how a machine is asked. A nil error is a success; said is what the
// answer said that people may want to know.
type kindOfCheck struct {
	kinds.Check
	ask func(k asker, ctx context.Context, t probe.Target) (said string, err error)
}

// quiet asks in a way in which an answer has nothing to say.
func quiet(ask func(asker, context.Context, probe.Target) error) func(asker, context.Context,
	probe.Target) (string, error) {
	return func(k asker, ctx context.Context, t probe.Target) (string, error) { return "", ask(k, ctx, t) }
}

// kindsOfCheck are all of them, in the order of the reference.
var kindsOfCheck = []kindOfCheck{
	{pingKeys, quiet(asker.echo)},
	{tcpKeys, quiet(asker.connect)},
	{httpKeys, quiet(asker.get)},
	{execKeys, asker.run},
	{agentKeys, quiet(asker.pingGuest)},
	{heartbeatKeys, asker.beat},
	{poolKeys, quiet(asker.found)},
	{sshKeys, asker.introduction},
	{tlsKeys, quiet(asker.certificate)},
	{udpKeys, quiet(asker.datagram)},
	{grpcKeys, quiet(asker.health)},
	{dnsKeys, quiet(asker.resolve)},
}

// Checks are the kinds of check, as a configuration names them.
func Checks() []kinds.Check {
	out := make([]kinds.Check, len(kindsOfCheck))
	for i, k := range kindsOfCheck {
		out[i] = k.Check
	}
	return out
}
