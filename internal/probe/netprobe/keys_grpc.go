package netprobe

import (
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

type grpcDraft struct {
	port            keys.At[int]
	service, host   keys.At[string]
	tls             keys.At[bool]
	ca              keys.At[string]
	certificateDays keys.At[int]
	insecure        keys.At[bool]
}

var grpcKeys = kinds.CheckOf(policy.CheckGRPC, "port: 50051",
	"Ask a gRPC server for its health, by the gRPC Health Checking "+
		"Protocol (`grpc.health.v1.Health/Check`). SERVING is a success; NOT_SERVING, a service that it does not know, "+
		"and a server that does not speak the protocol are failures.", grpcShape(),
	func(c kinds.Asked, d keys.At[grpcDraft]) {
		c.Check.Port, c.Check.GRPC = d.Value.port.Value, grpcOf(c, d.Value)
	}, writeGRPC)

func grpcShape() keys.Object[grpcDraft] {
	return keys.Object[grpcDraft]{Fields: []keys.Field[grpcDraft]{
		keys.Must("port", "50051", "The port.", keys.Integer(1, 65535),
			func(g *grpcDraft) *keys.At[int] { return &g.port }),
		keys.May("service", "The service to ask for its health.", keys.Text("the name of a service",
			"shop.v1.Orders"), func(g *grpcDraft) *keys.At[string] { return &g.service }).
			Said("the server as a whole"),
		keys.May("host", "As whom the server is asked (`:authority`), and with tls the name in the certificate.",
			keys.Text("a host name", "orders.example.org"),
			func(g *grpcDraft) *keys.At[string] { return &g.host }).Said("the machine's address"),
		keys.Or("tls", false, "Speak TLS, and verify the certificate.", keys.Boolean(),
			func(g *grpcDraft) *keys.At[bool] { return &g.tls }),
		keys.May("ca", "tls only: a file with the certificates, in PEM form, that are trusted instead of the "+
			"system's. Relative paths begin at the folder of this file.",
			keys.Text("a path", "ca.pem"), func(g *grpcDraft) *keys.At[string] { return &g.ca }),
		keys.Or("certificate_days", 0, "tls only: it is a failure when the certificate, or one that it rests on, ends "+
			"within so many days. No repair brings a new one.",
			keys.Integer(0, 3650), func(g *grpcDraft) *keys.At[int] { return &g.certificateDays }),
		keys.Or("insecure", false, "tls only: take any certificate. Better is ca with that of the server.",
			keys.Boolean(),
			func(g *grpcDraft) *keys.At[bool] { return &g.insecure }),
	}}
}

func grpcOf(c kinds.Asked, d grpcDraft) policy.GRPCCheck {
	c.HostName(d.host)
	if d.tls.Known() && !d.tls.Value {
		c.NoCertificate("tls", "tls: true", d.ca, d.certificateDays, d.insecure)
	}
	return policy.GRPCCheck{Service: d.service.Value, Host: d.host.Value, Secure: d.tls.Value,
		TLS: c.Certificate(d.ca, d.certificateDays, d.insecure)}
}

func writeGRPC(c *policy.Check, p *keys.Pairs) {
	p.Add("port", "%d", c.Port)
	p.MayText("service", c.GRPC.Service)
	p.MayText("host", c.GRPC.Host)
	p.May("tls", "%t", c.GRPC.Secure)
	p.May("certificate_days", "%d", c.GRPC.TLS.Days)
	p.May("insecure", "%t", c.GRPC.TLS.Insecure)
}
