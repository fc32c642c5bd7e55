package policy

import (
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
)

// Check is one configured active probe.
type Check struct {
	Name    fleet.CheckName
	Kind    CheckKind
	Every   time.Duration // from one start to the next
	Timeout time.Duration // shorter than Every
	// DownAfter failures make it down, UpAfter successes up again: in a row, or of the last DownIn and UpIn results,
	// where those are greater.
	DownAfter, DownIn int
	UpAfter, UpIn     int
	Port              int // of all kinds that have one
	// Full has a tcp check complete the connection, so that the program behind the port gets to see it. Otherwise the
	// system behind it answers alone, where that is cheaper.
	Full bool
	HTTP HTTPCheck // http only
	Exec ExecCheck // exec only
	SSH  SSHCheck  `json:",omitzero"` // ssh only
	UDP  UDPCheck  `json:",omitzero"` // udp only
	DNS  DNSCheck  `json:",omitzero"` // dns only
	GRPC GRPCCheck `json:",omitzero"` // grpc only
	// Heartbeat is for heartbeat only.
	Heartbeat HeartbeatCheck `json:",omitzero"`
	Pool      PoolCheck      `json:",omitzero"` // pool only
	// Certificate is for tls only.
	Certificate CertificateCheck `json:",omitzero"`
	// NotEvery are the hours at which its failures count for nothing, and DependsOn the checks that explain its
	// failures. See health.Heed.
	NotEvery  []Hours
	DependsOn []fleet.CheckName
	// Tells says that it only tells: it is one of Spec.Tells, and not of Spec.Checks.
	Tells bool `json:",omitempty"`
	// Sight says from where it is asked; the zero value: from hale's server alone.
	Sight Sight `json:",omitzero"`
}

// Sight is from how many vantages a check asks: hale's server is one, satellites are the others.
type Sight struct {
	Vantages int
	Agree    int // so many must say that the machine is down
	// StaleAfter is how long what a satellite said counts.
	StaleAfter time.Duration
}

// Shared reports whether there is more than one vantage.
func (s Sight) Shared() bool { return s.Vantages > 1 }

// Lag is how much later than one vantage alone several of them notice something.
func (s Sight) Lag() time.Duration {
	if !s.Shared() {
		return 0
	}
	return s.StaleAfter
}

// Shared reports whether any check is asked from more than one vantage.
func (s *Spec) Shared() bool {
	return slices.ContainsFunc(s.Asked(), func(c *Check) bool { return c.Sight.Shared() })
}

// MostVantages is the greatest number of vantages that a check can have.
const MostVantages = 9

// CheckKind is the way a check asks.
type CheckKind string

// The kinds of check.
const (
	CheckPing CheckKind = "ping"
	CheckTCP  CheckKind = "tcp"
	CheckHTTP CheckKind = "http"
	CheckExec CheckKind = "exec"
	// CheckAgent asks the agent inside the guest, by way of the provider: no network comes into it, and no address.
	CheckAgent CheckKind = "agent"
	CheckSSH   CheckKind = "ssh"
	CheckTLS   CheckKind = "tls"
	CheckUDP   CheckKind = "udp"
	CheckDNS   CheckKind = "dns"
	CheckGRPC  CheckKind = "grpc"
	// CheckHeartbeat sends nothing: the machine reports by itself, and is judged by whether it does.
	CheckHeartbeat CheckKind = "heartbeat"
	// CheckPool sends nothing, either: the load balancer says what it finds of the machine.
	CheckPool CheckKind = "pool"
)

// ByAddress reports whether a check of the kind must know where the machine is in the network.
func (k CheckKind) ByAddress() bool { return k != CheckAgent && k != CheckHeartbeat }

// Reaches reports whether the check's result comes from what answers at the machine's address. A program that is not
// told the address has ways of its own.
func (c *Check) Reaches() bool {
	return c.Kind.ByAddress() && c.Kind != CheckPool && (c.Kind != CheckExec || c.Exec.Asks("{ip}"))
}

// Anywhere reports whether a check of the kind can be made from anywhere that the network reaches: it needs nothing of
// hale's own server, or of its provider.
func (k CheckKind) Anywhere() bool {
	switch k {
	case CheckPing, CheckTCP, CheckHTTP, CheckSSH, CheckTLS, CheckUDP, CheckDNS, CheckGRPC:
		return true
	case CheckExec, CheckAgent, CheckHeartbeat, CheckPool:
	}
	return false
}

// Elsewhere reports whether a check of the kind hears the machine by another way than hale's own through the network:
// it bears no witness to that way.
func (k CheckKind) Elsewhere() bool { return k == CheckAgent || k == CheckPool }

// Hasty reports whether a single answer that is lost on the way makes the check down.
func (c *Check) Hasty() bool { return c.DownAfter == 1 && c.Reaches() }

// HTTPCheck is what an http check asks for, and what it takes for a good answer. The zero value gets / over http and is
// content with any 2xx.
type HTTPCheck struct {
	Scheme  string // "http" or "https"
	Path    string
	Host    string   // Host header and TLS server name; empty: the address
	Method  string   // empty: GET
	Headers []Header // sorted by name
	// Status are the codes of a good answer; none: any 2xx.
	Status []StatusRange
	// Body is a regular expression that the beginning of the body must match; empty: the body is not read.
	Body string
	// Redirects are followed up to this number, and only on the machine itself.
	Redirects int
	// NoConnection says what a connection that could not be made means.
	NoConnection NoConnection
	// KeepAlive asks over a connection that stays open between checks, as far as the machine lets it: cheaper, but not
	// told that no further client can be connected any more.
	KeepAlive bool
	TLS       TLSCheck
}

// Header is one line of a request's head. Its value is a text, or a secret; then Value is empty.
type Header struct {
	Name, Value string
	Secret      fleet.Secret
}

// StatusRange is the HTTP status codes from First to Last.
type StatusRange struct{ First, Last int }

// NoConnection is the meaning of a connection that could not be made.
type NoConnection string

// What a connection that could not be made means. The zero value is a failure, too.
const (
	NoConnectionFails  NoConnection = "fail"   // a failure like any other
	NoConnectionIgnore NoConnection = "ignore" // it counts neither way
)

// TLSCheck is what a check demands of the certificate, beside that it is valid for the host now.
type TLSCheck struct {
	CA       string // certificates in PEM form that are trusted instead of the system's; empty: the system's
	Days     int    // it must last so many days more
	Insecure bool   // any certificate will do
}

// ExecCheck is the program of an exec check.
type ExecCheck struct {
	// Command is the program and its arguments, without a shell. Placeholders are replaced.
	Command []string
	// Env is its environment, sorted by name, beside a PATH. Placeholders are replaced in the values, and in secrets
	// nothing is.
	Env     []Variable
	Warning Warning
}

// Texts are all in which placeholders are replaced.
func (e *ExecCheck) Texts() []string { return texts(e.Command, e.Env) }

// Asks reports whether the program has the placeholder.
func (e *ExecCheck) Asks(placeholder string) bool { return mention(e.Texts(), placeholder) }

// AsksMetadata reports whether the program is told metadata.
func (e *ExecCheck) AsksMetadata() bool { return mention(e.Texts(), metaOpens) }

func mention(texts []string, part string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, part) })
}

func texts(args []string, env []Variable) []string {
	out := slices.Clone(args)
	for _, v := range env {
		out = append(out, v.Value)
	}
	return out
}

// Variable is one variable of a program's environment. Its value is a text, or a secret; then Value is empty.
type Variable struct {
	Name, Value string
	Secret      fleet.Secret
}

// Warning is the meaning of exit code 1.
type Warning string

// What exit code 1 means. The zero value is a failure, too: it is how programs say no.
const (
	WarningFails Warning = "fail"
	WarningOK    Warning = "ok" // as monitoring plugins have it: a warning is not yet a failure
)

// Accepts reports whether the status is that of a good answer.
func (h *HTTPCheck) Accepts(status int) bool {
	if len(h.Status) == 0 {
		return status >= 200 && status <= 299
	}
	for _, r := range h.Status {
		if status >= r.First && status <= r.Last {
			return true
		}
	}
	return false
}

// TellsAfter is how long after the check went down people are told: in that time it is asked on every machine of the
// fleet, so that what has one cause is one message.
func (c *Check) TellsAfter() time.Duration { return min(max(GatherWarnings, c.Every), OnlyCounted) }

// GatherWarnings is how long a warning waits for others at least.
const GatherWarnings = 2 * time.Minute

// OnlyCounted is how long what comes and goes is counted, and not told or written down again.
const OnlyCounted = time.Hour
