package libvirt_test

import (
	"strings"
	"testing"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/provider/libvirt"
)

// TestHowHostsAreReached: by TLS, by SSH with its keys, and in the clear only where the file says that it may be, with
// a warning.
func TestHowHostsAreReached(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("/etc/hale/hale.yaml", []byte(`
providers:
  clear:
    type: libvirt
    insecure: true
    hosts:
      - {name: h1, uri: qemu+tcp://h1/system}
      - {name: h2, uri: qemu+tls://h2/system}
  here: {type: libvirt, hosts: [{name: a, uri: "qemu+tcp://127.0.0.1:99/system"},
    {name: b, uri: qemu+tcp://localhost/system},
    {name: c, uri: "qemu+tcp://[::1]/system"}]}
  usual: {type: libvirt, uri: qemu://h3/system, state_dir: /srv/hale/}
  far:
    type: libvirt
    tls: {ca: /pki/ca.pem}
    ssh: {key: /etc/hale/key}
    sasl: {user: hale, password: {file: /run/secrets/p}}
    hosts:
      - {name: h4, uri: qemu+tls://h4/system}
      - {name: h5, uri: "qemu+ssh://hale@h5:2222/system?socket=/run/l"}
`), adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	warnings := c.Warnings(adapters.All())
	if len(warnings) != 1 || !strings.Contains(warnings[0], "providers.clear: qemu+tcp://h1/system goes in the clear") {
		t.Errorf("warnings: %q", warnings)
	}
	for _, p := range c.Providers {
		settings, _ := p.Settings.(libvirt.Settings)
		proof := settings.Proof
		folder := "/var/lib/libvirt/images"
		if p.Name == "usual" {
			folder = "/srv/hale"
		}
		if settings.StateDir != folder {
			t.Errorf("%s keeps its disks in %s, want %s", p.Name, settings.StateDir, folder)
		}
		if p.Name != "far" {
			if proof != nil {
				t.Errorf("%s has %+v", p.Name, proof)
			}
			continue
		}
		tls, ssh, sasl := proof.TLS, proof.SSH, proof.SASL
		if tls.CA != "/pki/ca.pem" || tls.Key != "/etc/pki/libvirt/private/clientkey.pem" ||
			ssh.Key != "/etc/hale/key" ||
			ssh.KnownHosts != "/etc/ssh/ssh_known_hosts" || sasl.User != "hale" || sasl.Password.None() {
			t.Errorf("far has %+v", proof)
		}
	}
}
