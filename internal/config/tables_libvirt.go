package config

import (
	"hale/internal/keys"
	"hale/internal/provider/libvirt"
)

// The keys of a provider of type libvirt with hosts in a network.

// filesDraft names files in PEM form.
type filesDraft struct{ ca, certificate, key keys.At[string] }

// loginDraft names hale's key and those of the hosts.
type loginDraft struct{ key, knownHosts keys.At[string] }

// saslDraft is who hale is to a daemon that asks.
type saslDraft struct {
	user     keys.At[string]
	password keys.At[secretDraft]
}

// remoteFields are those keys.
func remoteFields() []keys.Field[providerDraft] {
	return []keys.Field[providerDraft]{
		keys.May("tls", "libvirt only: the files for `qemu+tls`. They are read for each connection, so that new ones "+
			"are taken up. Relative paths begin at the folder of this file.", filesShape(),
			func(p *providerDraft) *keys.At[filesDraft] { return &p.tls }).Said("where libvirt's own clients look"),
		keys.May("ssh", "libvirt only, and needed for `qemu+ssh`: hale's key, and the keys of the hosts.", loginShape(),
			func(p *providerDraft) *keys.At[loginDraft] { return &p.ssh }).Said("none"),
		keys.May("sasl", "libvirt only: who hale is to daemons that ask for a name and a password, as with `auth_tls "+
			"= \"sasl\"`. hale speaks SCRAM-SHA-256 and SCRAM-SHA-512, which libvirt takes over TLS.", saslShape(),
			func(p *providerDraft) *keys.At[saslDraft] { return &p.sasl }).Said("none"),
		keys.Or("insecure", false, "libvirt only: accept `qemu+tcp` addresses of other hosts, too. That connection "+
			"has no encryption and no login: anyone on the network between can read it and give orders. hale warns "+
			"of it at each start.", keys.Boolean(), func(p *providerDraft) *keys.At[bool] { return &p.insecure }),
	}
}

func filesShape() keys.Object[filesDraft] {
	return keys.Object[filesDraft]{Fields: []keys.Field[filesDraft]{
		keys.Or("ca", libvirt.DefaultCA, "The certificates of the authorities that sign those of the daemons. The "+
			"name or address in uri must be in the daemon's.", keys.Text("a path", libvirt.DefaultCA),
			func(t *filesDraft) *keys.At[string] { return &t.ca }),
		keys.Or("certificate", libvirt.DefaultCertificate, "hale's certificate, for clients.",
			keys.Text("a path", libvirt.DefaultCertificate),
			func(t *filesDraft) *keys.At[string] { return &t.certificate }),
		keys.Or("key", libvirt.DefaultKey, "The key of the certificate. hale's user must be able to read it.",
			keys.Text("a path", libvirt.DefaultKey),
			func(t *filesDraft) *keys.At[string] { return &t.key }),
	}}
}

func loginShape() keys.Object[loginDraft] {
	return keys.Object[loginDraft]{Fields: []keys.Field[loginDraft]{
		keys.Must("key", "/etc/hale/ssh_key", "hale's private key, without a passphrase; its public half is in "+
			"`authorized_keys` of the user that uri names.", keys.Text("a path", "/etc/hale/ssh_key"),
			func(s *loginDraft) *keys.At[string] { return &s.key }),
		keys.Or("known_hosts", libvirt.DefaultKnownHosts, "The keys of the hosts, as known_hosts(5) says. A host "+
			"that is not in it is not spoken to.", keys.Text("a path", libvirt.DefaultKnownHosts),
			func(s *loginDraft) *keys.At[string] { return &s.knownHosts }),
	}}
}

func saslShape() keys.Object[saslDraft] {
	return keys.Object[saslDraft]{Fields: []keys.Field[saslDraft]{
		keys.Must("user", "hale", "The name, as `saslpasswd2 -a libvirt` has it.", keys.Text("a user name", "hale"),
			func(s *saslDraft) *keys.At[string] { return &s.user }),
		keys.Must("password", "{file: /run/secrets/libvirt}", "The password: `{file: PATH}` or `{env: NAME}`, never "+
			"the password itself. It is read for each connection.", secretShape(),
			func(s *saslDraft) *keys.At[secretDraft] { return &s.password }),
	}}
}
