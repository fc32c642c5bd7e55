package config

import (
	"encoding/hex"
	"strings"

	"hale/internal/fleet"
)

// The kinds of check that speak one protocol each, and what they are asked for. See tables_check.go.

// wayNames and wayExamples are the ways in which a check can ask.
const (
	wayNames    = "ping, tcp, udp, http, grpc, dns, ssh, tls, exec, agent and heartbeat"
	wayExamples = "ping: {}, tcp: {port: 22}, udp: {port: 27015, send: TEXT}, http: {}, grpc: {port: 50051}, dns: {name: www.example.org}, ssh: {}, tls: {port: 636, certificate_days: 14}, " +
		"exec: {command: […]}, agent: {} and heartbeat: {secret: {file: PATH}}"
)

type sshDraft struct {
	port   at[int]
	banner at[string]
}

type udpDraft struct {
	port          at[int]
	send, sendHex at[string]
	answer        at[string]
}

type dnsDraft struct {
	port   at[int]
	name   at[string]
	record at[fleet.RecordType]
	answer at[[]at[string]]
	tcp    at[bool]
}

type grpcDraft struct {
	port            at[int]
	service, host   at[string]
	tls             at[bool]
	ca              at[string]
	certificateDays at[int]
	insecure        at[bool]
}

type certificateDraft struct {
	port     at[int]
	host, ca at[string]
	days     at[int]
	insecure at[bool]
}

func serviceFields() []field[checkDraft] {
	return []field[checkDraft]{
		may("ssh", "Wait for the line by which an SSH server introduces itself, and leave: nobody logs in.", sshShape(),
			func(c *checkDraft) *at[sshDraft] { return &c.ssh }),
		may("tls", "Shake hands at any port, and look at the certificate: it must be valid for the host, and last. Nothing is asked.", certificateShape(),
			func(c *checkDraft) *at[certificateDraft] { return &c.tls }),
		may("udp", "Send one datagram and wait for the answer. That nobody listens at the port is a failure at once, as far as the machine says so; a datagram that is lost is "+
			"one without an answer: let down_after be more than 1.", udpShape(), func(c *checkDraft) *at[udpDraft] { return &c.udp }),
		may("grpc", "Ask a gRPC server for its health, by the gRPC Health Checking Protocol (`grpc.health.v1.Health/Check`). SERVING is a success; NOT_SERVING, a service that it "+
			"does not know, and a server that does not speak the protocol are failures.", grpcShape(), func(c *checkDraft) *at[grpcDraft] { return &c.grpc }),
		may("dns", "Ask the name server on the machine itself for a record.", dnsShape(), func(c *checkDraft) *at[dnsDraft] { return &c.dns }),
	}
}

func sshShape() object[sshDraft] {
	return object[sshDraft]{fields: []field[sshDraft]{
		or("port", defaultSSHPort, "The port.", integer(1, 65535), func(s *sshDraft) *at[int] { return &s.port }),
		may("banner", "A regular expression (RE2) that the line must match, as `^SSH-2.0-OpenSSH_`, else it is a failure. Any server of SSH 2 will do where nothing is written.",
			text("a regular expression", "'OpenSSH_(9|10)'"), func(s *sshDraft) *at[string] { return &s.banner }),
	}}
}

func certificateShape() object[certificateDraft] {
	return object[certificateDraft]{fields: []field[certificateDraft]{
		must("port", "636", "The port. It must speak TLS from the first byte: STARTTLS is not spoken.", integer(1, 65535), func(c *certificateDraft) *at[int] { return &c.port }),
		must("certificate_days", "14", "It is a failure when the certificate, or one that it rests on, ends within so many days; 0: when it has ended. No repair brings a new one: "+
			"leave the check out of unhealthy_when, and its machines are suspect and not repaired.", integer(0, 3650),
			func(c *certificateDraft) *at[int] { return &c.days }),
		may("host", "The name in the certificate, and the one that the server is asked for (SNI).", text("a host name", "ldap.example.org"),
			func(c *certificateDraft) *at[string] { return &c.host }).said("the machine's address"),
		may("ca", "A file with the certificates, in PEM form, that are trusted instead of the system's. Relative paths begin at the folder of this file.",
			text("a path", "ca.pem"), func(c *certificateDraft) *at[string] { return &c.ca }),
		or("insecure", false, "Take any certificate, as long as it lasts. Better is ca with that of the server.", boolean(),
			func(c *certificateDraft) *at[bool] { return &c.insecure }),
	}}
}

func udpShape() object[udpDraft] {
	return object[udpDraft]{fields: []field[udpDraft]{
		must("port", "27015", "The port.", integer(1, 65535), func(u *udpDraft) *at[int] { return &u.port }),
		may("send", "What is sent, as text. One of send and send_hex is needed.", text("a text", "ping"), func(u *udpDraft) *at[string] { return &u.send }),
		may("send_hex", "What is sent, as bytes in hexadecimal digits, with blanks between them or not.", hexadecimal(), func(u *udpDraft) *at[string] { return &u.sendHex }),
		may("answer", "A regular expression (RE2) that the answer must match, else it is a failure; `\\xNN` stands for a byte below 80. Any answer will do where nothing is written.",
			text("a regular expression", "^pong"), func(u *udpDraft) *at[string] { return &u.answer }),
	}}
}

func grpcShape() object[grpcDraft] {
	return object[grpcDraft]{fields: []field[grpcDraft]{
		must("port", "50051", "The port.", integer(1, 65535), func(g *grpcDraft) *at[int] { return &g.port }),
		may("service", "The service whose health is asked for.", text("the name of a service", "shop.v1.Orders"), func(g *grpcDraft) *at[string] { return &g.service }).
			said("the server as a whole"),
		may("host", "As whom the server is asked (`:authority`), and with tls the name in the certificate.", text("a host name", "orders.example.org"),
			func(g *grpcDraft) *at[string] { return &g.host }).said("the machine's address"),
		or("tls", false, "Speak TLS, and verify the certificate.", boolean(), func(g *grpcDraft) *at[bool] { return &g.tls }),
		may("ca", "tls only: a file with the certificates, in PEM form, that are trusted instead of the system's. Relative paths begin at the folder of this file.",
			text("a path", "ca.pem"), func(g *grpcDraft) *at[string] { return &g.ca }),
		or("certificate_days", 0, "tls only: it is a failure when the certificate, or one that it rests on, ends within so many days. No repair brings a new one.",
			integer(0, 3650), func(g *grpcDraft) *at[int] { return &g.certificateDays }),
		or("insecure", false, "tls only: take any certificate. Better is ca with that of the server.", boolean(), func(g *grpcDraft) *at[bool] { return &g.insecure }),
	}}
}

func dnsShape() object[dnsDraft] {
	return object[dnsDraft]{fields: []field[dnsDraft]{
		must("name", "www.example.org", "The name that is asked for.", text("a name", "www.example.org"), func(d *dnsDraft) *at[string] { return &d.name }),
		or("type", defaultRecord, "The type of record. That there is none is a failure.", choice(nil, fleet.RecordA, fleet.RecordAAAA, fleet.RecordCNAME, fleet.RecordMX,
			fleet.RecordTXT, fleet.RecordSRV, fleet.RecordNS, fleet.RecordSOA, fleet.RecordPTR), func(d *dnsDraft) *at[fleet.RecordType] { return &d.record }),
		may("answer", "What the records must say, all of it, as `[192.0.2.1]`, `[\"10 mail.example.org\"]` for MX, `[\"0 5 5060 sip.example.org\"]` for SRV; of SOA the primary server. "+
			"Further records are no failure.", list[string]{noun: "one record", each: text("a record", "192.0.2.1")}, func(d *dnsDraft) *at[[]at[string]] { return &d.answer }).
			said("anything"),
		or("port", defaultDNSPort, "The port.", integer(1, 65535), func(d *dnsDraft) *at[int] { return &d.port }),
		or("tcp", false, "Ask by TCP at once. Otherwise only what is too long for a datagram is asked for by it.", boolean(), func(d *dnsDraft) *at[bool] { return &d.tcp }),
	}}
}

// hexadecimal are bytes.
func hexadecimal() scalar[string] {
	return scalar[string]{
		noun: "bytes in hexadecimal digits", example: "\"ff 00 1a\"", forms: []form{formText},
		parse: func(text string) (string, *flaw) {
			b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
			if err != nil || len(b) == 0 {
				return "", flawf("write two digits for each, for example \"ff 00 1a\"", "%q are not bytes in hexadecimal digits", text)
			}
			return string(b), nil
		},
		format: func(s string) any { return hex.EncodeToString([]byte(s)) },
		json:   schema{Type: "string", Pattern: `^\s*[0-9A-Fa-f]{2}(\s*[0-9A-Fa-f]{2})*\s*$`, noun: "bytes in hexadecimal digits"},
	}
}
