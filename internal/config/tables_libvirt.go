package config

import "hale/internal/provider/libvirt"

// The keys of a provider of type libvirt whose hosts are reached by a network.

// filesDraft names files in PEM form.
type filesDraft struct{ ca, certificate, key at[string] }

// loginDraft names hale's key and those of the hosts.
type loginDraft struct{ key, knownHosts at[string] }

// saslDraft is who hale is to a daemon that asks.
type saslDraft struct {
	user     at[string]
	password at[secretDraft]
}

// remoteFields are those keys.
func remoteFields() []field[providerDraft] {
	return []field[providerDraft]{
		may("tls", "libvirt only: the files for `qemu+tls`. They are read for each connection, so that new ones are "+
			"taken up. Relative paths begin at the folder of this file.", filesShape(),
			func(p *providerDraft) *at[filesDraft] { return &p.tls }).said("where libvirt's own clients look"),
		may("ssh", "libvirt only, and needed for `qemu+ssh`: hale's key, and the keys of the hosts.", loginShape(),
			func(p *providerDraft) *at[loginDraft] { return &p.ssh }).said("none"),
		may("sasl", "libvirt only: who hale is to daemons that ask for a name and a password, as with `auth_tls = "+
			"\"sasl\"`. hale speaks SCRAM-SHA-256 and SCRAM-SHA-512, which libvirt takes over TLS.", saslShape(),
			func(p *providerDraft) *at[saslDraft] { return &p.sasl }).said("none"),
		or("insecure", false, "libvirt only: accept `qemu+tcp` addresses of other hosts, too. That connection has no "+
			"encryption and no login: anyone on the network between can read it and give orders. hale warns of it at "+
			"each start.", boolean(), func(p *providerDraft) *at[bool] { return &p.insecure }),
	}
}

func filesShape() object[filesDraft] {
	return object[filesDraft]{fields: []field[filesDraft]{
		or("ca", libvirt.DefaultCA, "The certificates of the authorities that sign those of the daemons. The name or "+
			"address in uri must be in the daemon's.", text("a path", libvirt.DefaultCA),
			func(t *filesDraft) *at[string] { return &t.ca }),
		or("certificate", libvirt.DefaultCertificate, "hale's certificate, for clients.",
			text("a path", libvirt.DefaultCertificate),
			func(t *filesDraft) *at[string] { return &t.certificate }),
		or("key", libvirt.DefaultKey, "The key of the certificate. hale's user must be able to read it.",
			text("a path", libvirt.DefaultKey),
			func(t *filesDraft) *at[string] { return &t.key }),
	}}
}

func loginShape() object[loginDraft] {
	return object[loginDraft]{fields: []field[loginDraft]{
		must("key", "/etc/hale/ssh_key", "hale's private key, without a passphrase; its public half is in "+
			"`authorized_keys` of the user that uri names.", text("a path", "/etc/hale/ssh_key"),
			func(s *loginDraft) *at[string] { return &s.key }),
		or("known_hosts", libvirt.DefaultKnownHosts, "The keys of the hosts, as known_hosts(5) says. A host that is "+
			"not in it is not spoken to.", text("a path", libvirt.DefaultKnownHosts),
			func(s *loginDraft) *at[string] { return &s.knownHosts }),
	}}
}

func saslShape() object[saslDraft] {
	return object[saslDraft]{fields: []field[saslDraft]{
		must("user", "hale", "The name, as `saslpasswd2 -a libvirt` has it.", text("a user name", "hale"),
			func(s *saslDraft) *at[string] { return &s.user }),
		must("password", "{file: /run/secrets/libvirt}", "The password: `{file: PATH}` or `{env: NAME}`, never the "+
			"password itself. It is read for each connection.", secretShape(),
			func(s *saslDraft) *at[secretDraft] { return &s.password }),
	}}
}
