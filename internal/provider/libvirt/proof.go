package libvirt

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"

	"hale/internal/secret"
)

// Proof is what hale and the daemons of other hosts prove to each other. All files are read for each connection, so
// that new ones are taken up.
type Proof struct {
	TLS  TLS  // for qemu+tls
	SSH  SSH  // for qemu+ssh
	SASL SASL // where a daemon asks for it
}

// TLS names files in PEM form. What is empty lies where libvirt's own clients look.
type TLS struct {
	CA          string // who signs the daemons' certificates
	Certificate string // hale's, for the daemons
	Key         string // of the certificate
}

// SSH names hale's key and the keys of the hosts.
type SSH struct {
	Key        string // private, without a passphrase
	KnownHosts string // as of known_hosts(5); empty: DefaultKnownHosts
}

// SASL is hale's user and password at a daemon. The zero value: none.
type SASL struct {
	User     string
	Password secret.Secret
}

// Where libvirt's and OpenSSH's own clients look.
const (
	DefaultCA          = "/etc/pki/CA/cacert.pem"
	DefaultCertificate = "/etc/pki/libvirt/clientcert.pem"
	DefaultKey         = "/etc/pki/libvirt/private/clientkey.pem"
	DefaultKnownHosts  = "/etc/ssh/ssh_known_hosts"
)

// distrust is why one end does not take the other for who it says it is, with the way out. It is fault.Unauthorised.
type distrust struct {
	text  string
	cause error // nil: none
}

func (d *distrust) Error() string {
	if d.cause == nil {
		return d.text
	}
	return d.text + " (" + d.cause.Error() + ")"
}

func (d *distrust) Unwrap() error { return d.cause }

func distrustf(cause error, format string, args ...any) error {
	return &distrust{fmt.Sprintf(format, args...), cause}
}

// readProof reads a file that a proof needs.
func readProof(path, what string) ([]byte, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, distrustf(nil, "hale's user may not read %s, %s: let it, by chgrp and chmod g+r", path, what)
	case err != nil:
		return nil, distrustf(err, "%s cannot be read: put it there, or say in the configuration where it is", what)
	}
	return data, nil
}

// config reads the files.
func (t TLS) config(host string) (*tls.Config, error) {
	ca, certificate, key := cmp.Or(t.CA, DefaultCA), cmp.Or(t.Certificate, DefaultCertificate),
		cmp.Or(t.Key, DefaultKey)
	authority, err := readProof(ca, "the certificate of the authority that signs the daemons'")
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, distrustf(nil, "%s holds no certificate in PEM form", ca)
	}
	public, err := readProof(certificate, "hale's certificate")
	if err != nil {
		return nil, err
	}
	private, err := readProof(key, "the key of hale's certificate")
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		return nil, distrustf(err, "%s and %s are not a certificate and its key", certificate, key)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: pool,
		Certificates: []tls.Certificate{pair}}, nil
}

// shake speaks TLS with the daemon, and waits until that has said whether it takes hale's certificate: by one byte.
func (t TLS) shake(ctx context.Context, conn net.Conn, host string) (net.Conn, error) {
	config, err := t.config(host)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, t.explain(err, host)
	}
	var taken [1]byte
	switch _, err := io.ReadFull(secured, taken[:]); {
	case err != nil:
		return nil, t.explain(err, host)
	case taken[0] != 1:
		return nil, t.turnedAway(host, nil)
	}
	return secured, nil
}

// explain says what a failed handshake means.
func (t TLS) explain(err error, host string) error {
	var unproven *tls.CertificateVerificationError
	var name x509.HostnameError
	var told *net.OpError
	switch {
	case errors.As(err, &name):
		return distrustf(err, "the daemon at %s shows a certificate for another name: give it one with this name, as "+
			"dns_name or ip_address, or write the name that it has into uri", host)
	case errors.As(err, &unproven):
		return distrustf(err, "the daemon at %s shows a certificate that hale does not trust: it must be signed by "+
			"the authority in %s, and be in date", host, cmp.Or(t.CA, DefaultCA))
	case errors.As(err, &told) && told.Op == "remote error", errors.Is(err, io.EOF):
		return t.turnedAway(host, err)
	}
	return err
}

func (t TLS) turnedAway(host string, cause error) error {
	return distrustf(cause, "the daemon at %s does not take hale's certificate, %s: it must be signed by the "+
		"authority in the daemon's ca_file, be for clients, and be listed in its tls_allowed_dn_list if it has one; "+
		"its log has the reason", host, cmp.Or(t.Certificate, DefaultCertificate))
}
