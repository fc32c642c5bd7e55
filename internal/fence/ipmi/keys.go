package ipmi

import (
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Kind is the fence ipmi.
func Kind() kinds.Fence {
	return kinds.WayOf("ipmi", "…",
		"The host's own controller, asked by IPMI 2.0 with the program ipmitool. IPMI proves no "+
			"identity: keep controllers on a network of their own.", shape(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct{ Options }

// Secrets implements kinds.Fencing.
func (s Settings) Secrets() []secret.Secret { return []secret.Secret{s.Password} }

// TellsHosts implements kinds.Fencing.
func (s Settings) TellsHosts() bool { return strings.Contains(s.Host, kinds.HostWord) }

// Arm implements kinds.Fencing.
func (s Settings) Arm(name string, host fleet.HostName) kinds.Armed {
	o := s.Options
	o.Name, o.Program, o.Host = name, "ipmitool", kinds.ForHost(o.Host, host)
	return kinds.Armed{Controller: New(o)}
}

const (
	defaultPort   = 623
	defaultCipher = 17
)

type draft struct {
	host, user, privilege keys.At[string]
	port, cipher          keys.At[int]
	password              keys.At[keys.SecretRef]
}

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("host", "10.0.0.11", "The controller's address. `{host}` stands for the host's name.",
			keys.Text("a host name or address", "10.0.0.11"),
			func(d *draft) *keys.At[string] { return &d.host }),
		keys.Or("port", defaultPort, "Its port.", keys.Integer(1, 65535),
			func(d *draft) *keys.At[int] { return &d.port }),
		keys.Must("user", "hale", "Who hale is to it.", keys.Text("a user name", "hale"),
			func(d *draft) *keys.At[string] { return &d.user }),
		keys.Must("password", "{file: /etc/hale/h1-bmc}",
			"The password: `{file: PATH}` or `{env: NAME}`, never the password itself.", keys.Secret(),
			func(d *draft) *keys.At[keys.SecretRef] { return &d.password }),
		keys.Or("cipher", defaultCipher, "The cipher suite: 17, or 3 where a controller has no other.",
			keys.Integer(1, 17),
			func(d *draft) *keys.At[int] { return &d.cipher }),
		keys.May("privilege", "The privilege level to ask for: `operator` may turn a host off.", keys.Text("a level",
			"operator"),
			func(d *draft) *keys.At[string] { return &d.privilege }).Said("administrator"),
	}}
}

func compileKeys(f *keys.Finder, v keys.At[draft]) kinds.Fencing {
	d := v.Value
	return Settings{Options{Host: d.host.Value, User: d.user.Value, Password: f.Secret(d.password), Port: d.port.Value,
		Cipher: d.cipher.Value, Privilege: d.privilege.Value}}
}
