package config

// The kinds of check that speak one protocol each, and what they are asked for. See tables_check.go.

// wayNames and wayExamples are the ways in which a check can ask.
const (
	wayNames    = "ping, tcp, http, exec, agent, ssh and tls"
	wayExamples = "ping: {}, tcp: {port: 22}, http: {}, exec: {command: […]}, agent: {}, ssh: {} and tls: {port: 443, certificate_days: 14}"
)

type sshDraft struct {
	port   at[int]
	banner at[string]
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
