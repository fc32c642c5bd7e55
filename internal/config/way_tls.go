package config

import (
	"hale/internal/fleet"
)

type certificateDraft struct {
	port     at[int]
	host, ca at[string]
	days     at[int]
	insecure at[bool]
}

var tlsWay = wayOf(fleet.CheckTLS, "port: 636, certificate_days: 14", "Shake hands at any port, and look at the "+
	"certificate: it must be valid for the host, and last. Nothing is asked.", certificateShape(),
	func(c *fleetCompiler, d at[certificateDraft], out *fleet.Check) {
		out.Port, out.Certificate = c.certificate(d.value)
	}, writeTLS)

func certificateShape() object[certificateDraft] {
	return object[certificateDraft]{fields: []field[certificateDraft]{
		must("port", "636", "The port. It must speak TLS from the first byte: STARTTLS is not spoken.",
			integer(1, 65535), func(c *certificateDraft) *at[int] { return &c.port }),
		must("certificate_days", "14", "It is a failure when the certificate, or one that it rests on, ends within "+
			"so many days; 0: when it has ended. No repair brings a new one: leave the check out of unhealthy_when, "+
			"and its machines are suspect and not repaired.", integer(0, 3650),
			func(c *certificateDraft) *at[int] { return &c.days }),
		may("host", "The name in the certificate, and the one that the server is asked for (SNI).", text("a host name",
			"ldap.example.org"),
			func(c *certificateDraft) *at[string] { return &c.host }).said("the machine's address"),
		may("ca", "A file with the certificates, in PEM form, that are trusted instead of the system's. Relative "+
			"paths begin at the folder of this file.",
			text("a path", "ca.pem"), func(c *certificateDraft) *at[string] { return &c.ca }),
		or("insecure", false, "Take any certificate, as long as it lasts. Better is ca with that of the server.",
			boolean(),
			func(c *certificateDraft) *at[bool] { return &c.insecure }),
	}}
}

func (c *fleetCompiler) certificate(d certificateDraft) (int, fleet.CertificateCheck) {
	c.hostName(d.host)
	return d.port.value, fleet.CertificateCheck{Host: d.host.value, TLSCheck: c.demand(d.ca, d.days, d.insecure)}
}

func writeTLS(c *fleet.Check, p *pairs) {
	p.add("port", "%d", c.Port)
	p.unless(c.Certificate.Host == "", "host", "%s", quoted(c.Certificate.Host))
	p.add("certificate_days", "%d", c.Certificate.Days)
	p.unless(!c.Certificate.Insecure, "insecure", "true")
}
