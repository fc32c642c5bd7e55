package fleet

// SSHCheck is what an ssh check wants of the line by which a server introduces itself (RFC 4253, 4.2).
type SSHCheck struct {
	Banner string // a regular expression that the line must match; empty: any server of SSH 2 will do
}

// CertificateCheck is what a tls check wants of whoever speaks TLS at the port.
type CertificateCheck struct {
	Host string // the name in the certificate, and the one that is asked for; empty: the address
	TLSCheck
}
