package redfish

import (
	"net/url"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Kind is the fence redfish.
func Kind() kinds.Fence {
	return kinds.WayOf("redfish", "…",
		"The host's own controller, asked by Redfish.", shape(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct{ Options }

// Secrets implements kinds.Fencing.
func (s Settings) Secrets() []secret.Secret { return []secret.Secret{s.Password} }

// TellsHosts implements kinds.Fencing.
func (s Settings) TellsHosts() bool { return strings.Contains(s.URL+" "+s.System, kinds.HostWord) }

// Arm implements kinds.Fencing.
func (s Settings) Arm(name string, host fleet.HostName) kinds.Armed {
	o := s.Options
	o.Name, o.URL, o.System = name, kinds.ForHost(o.URL, host), kinds.ForHost(o.System, host)
	return kinds.Armed{Controller: New(o), Unverified: o.Insecure}
}

type draft struct {
	url, user, system, ca keys.At[string]
	password              keys.At[keys.SecretRef]
	verify                keys.At[bool]
}

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("url", "https://h1-bmc.example.org", "The controller's address. `{host}` stands for the host's name.",
			keys.Text("a web address", "https://h1-bmc.example.org"),
			func(d *draft) *keys.At[string] { return &d.url }),
		keys.Must("user", "hale", "Who hale is to it.", keys.Text("a user name", "hale"),
			func(d *draft) *keys.At[string] { return &d.user }),
		keys.Must("password", "{file: /etc/hale/h1-bmc}",
			"The password: `{file: PATH}` or `{env: NAME}`, never the password itself.", keys.Secret(),
			func(d *draft) *keys.At[keys.SecretRef] { return &d.password }),
		keys.May("system", "The id of the system that is the host, where the service has several.", keys.Text("an id",
			"System.Embedded.1"),
			func(d *draft) *keys.At[string] { return &d.system }).Said("the only one"),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's; a controller's own "+
			"certificate will do.", keys.Text("a path", "/etc/hale/bmc-ca.pem"),
			func(d *draft) *keys.At[string] { return &d.ca }),
		keys.Or("verify", true, "`false`: believe whoever answers, and send them the password. `hale status` says so.",
			keys.Boolean(),
			func(d *draft) *keys.At[bool] { return &d.verify }),
	}}
}

func compileKeys(f *keys.Finder, v keys.At[draft]) kinds.Fencing {
	d := v.Value
	if d.url.Known() {
		if bad := controllerFlaw(kinds.ForHost(d.url.Value, "host")); bad != nil {
			f.Add(d.url.Spot, bad.Message, bad.Hint)
		}
	}
	if d.ca.Written() && d.verify.Known() && !d.verify.Value {
		f.Add(d.ca.Spot, "has nothing to check with verify: false", "take one of the two out")
	}
	return Settings{Options{URL: d.url.Value, User: d.user.Value, Password: f.Secret(d.password),
		System: d.system.Value, CA: keys.Path(d.ca), Insecure: !d.verify.Value}}
}

// controllerFlaw judges a controller's address. What was written is not repeated, since a password might be in it.
func controllerFlaw(text string) *keys.Flaw {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return keys.Flawf("write for example https://h1-bmc.example.org", "is not a web address")
	case u.Scheme == "http":
		return keys.Flawf("write https; where the certificate cannot be checked, add verify: false",
			"would send the password in the clear")
	case u.User != nil:
		return keys.Flawf("write user: NAME and password: {file: PATH}", "holds a user name or a password")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return keys.Flawf("write only https://HOST or https://HOST:PORT", "holds more than an address")
	}
	return nil
}
