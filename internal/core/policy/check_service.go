package policy

import (
	"time"

	"hale/internal/core/fleet"
)

// SSHCheck is what an ssh check wants of the line by which a server introduces itself (RFC 4253, 4.2).
type SSHCheck struct {
	Banner string // a regular expression that the line must match; empty: any server of SSH 2 will do
}

// CertificateCheck is what a tls check wants of the server at the port.
type CertificateCheck struct {
	Host string // the name in the certificate, and the one that is asked for; empty: the address
	TLSCheck
}

// UDPCheck is what a udp check sends, and what it wants to hear.
type UDPCheck struct {
	Send   []byte // one datagram
	Answer string // a regular expression that the answer must match; empty: any will do
}

// DNSCheck is what a dns check asks the machine's own name server.
type DNSCheck struct {
	Name   string
	Type   RecordType
	Answer []string // must all be there; none: one record of the type will do
	TCP    bool     // in a stream at once, instead of only what is too long for a datagram
}

// GRPCCheck is what a grpc check asks for by the gRPC Health Checking Protocol.
type GRPCCheck struct {
	Service string // empty: the server as a whole
	Host    string // the server's name, as asked for and as in its certificate; empty: the address
	Secure  bool   // TLS is spoken
	TLS     TLSCheck
}

// MinBeatTimeout is the shortest timeout with which a heartbeat check keeps its promises: within it hale knows whether
// it could hear the machine.
const MinBeatTimeout = 3 * time.Second

// HeartbeatCheck is how it is known that a report is the machine's own.
type HeartbeatCheck struct {
	Token fleet.Secret // what the machines of the fleet show
	// PerMachine says that each shows another token, derived from this one: see TokenOf.
	PerMachine bool `json:",omitzero"`
}

// TokenOf is what a machine's own token is derived of.
func (HeartbeatCheck) TokenOf(f fleet.Name, m fleet.MachineName, c fleet.CheckName) string {
	return string(f) + "/" + string(m) + "/" + string(c)
}

// Shared reports whether any machine of the fleet can report another one by the check.
func (c *Check) Shared() bool { return c.Kind == CheckHeartbeat && !c.Heartbeat.PerMachine }

// HeartbeatPlaceholder stands in user data for the machine's own token of the check.
func HeartbeatPlaceholder(c fleet.CheckName) string { return "{heartbeat." + string(c) + "}" }

// PoolCheck is whose word on the machine counts.
type PoolCheck struct {
	Balancer string // a load balancer that the fleet is behind
}

// RecordType is a type of DNS records.
type RecordType string

// The types that can be asked for.
const (
	RecordA     RecordType = "A"
	RecordAAAA  RecordType = "AAAA"
	RecordCNAME RecordType = "CNAME"
	RecordMX    RecordType = "MX"
	RecordTXT   RecordType = "TXT"
	RecordSRV   RecordType = "SRV"
	RecordNS    RecordType = "NS"
	RecordSOA   RecordType = "SOA"
	RecordPTR   RecordType = "PTR"
)
