package netprobe

import (
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

type certificateDraft struct {
	port     keys.At[int]
	host, ca keys.At[string]
	days     keys.At[int]
	insecure keys.At[bool]
}

var tlsKeys = kinds.CheckOf(policy.CheckTLS, "port: 636, certificate_days: 14",
	"Shake hands at any port, and look at the "+
		"certificate: it must be valid for the host, and last. Nothing is asked.", certificateShape(),
	func(c kinds.Asked, d keys.At[certificateDraft]) {
		c.Check.Port, c.Check.Certificate = certificateOf(c, d.Value)
	}, writeTLS)

func certificateShape() keys.Object[certificateDraft] {
	return keys.Object[certificateDraft]{Fields: []keys.Field[certificateDraft]{
		keys.Must("port", "636", "The port. It must speak TLS from the first byte: STARTTLS is not spoken.",
			keys.Integer(1, 65535), func(c *certificateDraft) *keys.At[int] { return &c.port }),
		keys.Must("certificate_days", "14", "It is a failure when the certificate, or one that it rests on, ends "+
			"within so many days; 0: when it has ended. No repair brings a new one: leave the check out of "+
			"unhealthy_when, and its machines are suspect and not repaired.", keys.Integer(0, 3650),
			func(c *certificateDraft) *keys.At[int] { return &c.days }),
		keys.May("host", "The name in the certificate, and the one that the server is asked for (SNI).",
			keys.Text("a host name", "ldap.example.org"),
			func(c *certificateDraft) *keys.At[string] { return &c.host }).Said("the machine's address"),
		keys.May("ca", "A file with the certificates, in PEM form, that are trusted instead of the system's. Relative "+
			"paths begin at the folder of this file.",
			keys.Text("a path", "ca.pem"), func(c *certificateDraft) *keys.At[string] { return &c.ca }),
		keys.Or("insecure", false, "Take any certificate, as long as it lasts. Better is ca with that of the server.",
			keys.Boolean(),
			func(c *certificateDraft) *keys.At[bool] { return &c.insecure }),
	}}
}

func certificateOf(c kinds.Asked, d certificateDraft) (int, policy.CertificateCheck) {
	c.HostName(d.host)
	return d.port.Value, policy.CertificateCheck{Host: d.host.Value, TLSCheck: c.Certificate(d.ca, d.days, d.insecure)}
}

func writeTLS(c *policy.Check, p *keys.Pairs) {
	p.Add("port", "%d", c.Port)
	p.MayText("host", c.Certificate.Host)
	p.Add("certificate_days", "%d", c.Certificate.Days)
	p.May("insecure", "%t", c.Certificate.Insecure)
}
