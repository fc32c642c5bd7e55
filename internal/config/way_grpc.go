package config

import (
	"hale/internal/fleet"
)

type grpcDraft struct {
	port            at[int]
	service, host   at[string]
	tls             at[bool]
	ca              at[string]
	certificateDays at[int]
	insecure        at[bool]
}

var grpcWay = wayOf(fleet.CheckGRPC, "port: 50051", "Ask a gRPC server for its health, by the gRPC Health Checking "+
	"Protocol (`grpc.health.v1.Health/Check`). SERVING is a success; NOT_SERVING, a service that it does not know, "+
	"and a server that does not speak the protocol are failures.", grpcShape(),
	func(c *fleetCompiler, d at[grpcDraft], out *fleet.Check) {
		out.Port, out.GRPC = d.value.port.value, c.grpc(d.value)
	}, writeGRPC)

func grpcShape() object[grpcDraft] {
	return object[grpcDraft]{fields: []field[grpcDraft]{
		must("port", "50051", "The port.", integer(1, 65535), func(g *grpcDraft) *at[int] { return &g.port }),
		may("service", "The service whose health is asked for.", text("the name of a service",
			"shop.v1.Orders"), func(g *grpcDraft) *at[string] { return &g.service }).
			said("the server as a whole"),
		may("host", "As whom the server is asked (`:authority`), and with tls the name in the certificate.",
			text("a host name",
				"orders.example.org"),
			func(g *grpcDraft) *at[string] { return &g.host }).said("the machine's address"),
		or("tls", false, "Speak TLS, and verify the certificate.", boolean(),
			func(g *grpcDraft) *at[bool] { return &g.tls }),
		may("ca", "tls only: a file with the certificates, in PEM form, that are trusted instead of the system's. "+
			"Relative paths begin at the folder of this file.",
			text("a path", "ca.pem"), func(g *grpcDraft) *at[string] { return &g.ca }),
		or("certificate_days", 0, "tls only: it is a failure when the certificate, or one that it rests on, ends "+
			"within so many days. No repair brings a new one.",
			integer(0, 3650), func(g *grpcDraft) *at[int] { return &g.certificateDays }),
		or("insecure", false, "tls only: take any certificate. Better is ca with that of the server.", boolean(),
			func(g *grpcDraft) *at[bool] { return &g.insecure }),
	}}
}

func (c *fleetCompiler) grpc(d grpcDraft) fleet.GRPCCheck {
	c.hostName(d.host)
	if d.tls.known() && !d.tls.value {
		c.plain("tls", "tls: true", d.ca, d.certificateDays, d.insecure)
	}
	return fleet.GRPCCheck{Service: d.service.value, Host: d.host.value, Secure: d.tls.value,
		TLS: c.demand(d.ca, d.certificateDays, d.insecure)}
}

func writeGRPC(c *fleet.Check, p *pairs) {
	p.add("port", "%d", c.Port)
	p.unless(c.GRPC.Service == "", "service", "%s", quoted(c.GRPC.Service))
	p.unless(c.GRPC.Host == "", "host", "%s", quoted(c.GRPC.Host))
	p.unless(!c.GRPC.Secure, "tls", "true")
	p.unless(c.GRPC.TLS.Days == 0, "certificate_days", "%d", c.GRPC.TLS.Days)
	p.unless(!c.GRPC.TLS.Insecure, "insecure", "true")
}
