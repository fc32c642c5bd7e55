package config

import (
	"cmp"
	"fmt"
	"time"

	"hale/internal/keys"
	"hale/internal/secret"
)

// Satellites are probes in other networks, which report to hale. The zero value: there are none.
type Satellites struct {
	Listen           string // host:port, where the host may be missing
	Certificate, Key string // files in PEM form, by absolute paths; empty: no TLS is spoken
	// Tokens are what each shows, by its name.
	Tokens map[string]secret.Secret
	// StaleAfter is how long what one said counts.
	StaleAfter time.Duration
}

// Stale is how long what another vantage than hale's server said counts, also where there are no satellites.
func (s Satellites) Stale() time.Duration { return cmp.Or(s.StaleAfter, defaultStaleAfter) }

type satellitesDraft struct {
	listen keys.At[string]
	tls    keys.At[keyPairDraft]
	tokens keys.At[[]keys.Named[keys.SecretRef]]
	stale  keys.At[time.Duration]
}

const defaultStaleAfter = 5 * time.Second

func satellitesShape() keys.Object[satellitesDraft] {
	return keys.Object[satellitesDraft]{Fields: []keys.Field[satellitesDraft]{
		keys.Must("listen", "\":7118\"", "The address and port where satellites report. Where hale cannot listen it "+
			"goes on without, and tries again.", keys.Text("an address and port", "\":7118\""),
			func(s *satellitesDraft) *keys.At[string] { return &s.listen }),
		keys.May("tls", "Speak TLS. Demanded, unless it listens on this machine alone.", keyPairShape(),
			func(s *satellitesDraft) *keys.At[keyPairDraft] { return &s.tls }),
		keys.Must("tokens", "{ams: {file: /etc/hale/ams.token}}", "The token of each satellite, by the satellite's "+
			"name. Each has a token of its own, long and random (`openssl rand -hex 32`).",
			keys.Mapping[keys.SecretRef]{Key: "SATELLITE", Each: keys.Secret(),
				Names: keys.KeyForm{Noun: "the name of a satellite", Pattern: "^[a-z0-9][a-z0-9-]{0,62}$"}},
			func(s *satellitesDraft) *keys.At[[]keys.Named[keys.SecretRef]] { return &s.tokens }),
		keys.Or("stale_after", defaultStaleAfter, "How long what a satellite said counts. One that is silent for "+
			"longer has no vote: that is unknown, and not down.", keys.Duration(3*time.Second, time.Minute),
			func(s *satellitesDraft) *keys.At[time.Duration] { return &s.stale }),
	}}
}

func compileSatellites(s keys.At[satellitesDraft], f *keys.Finder) Satellites {
	if !s.Written() {
		return Satellites{}
	}
	d := s.Value
	out := Satellites{Listen: d.listen.Value, Certificate: keys.Path(d.tls.Value.certificate),
		Key: keys.Path(d.tls.Value.key), Tokens: map[string]secret.Secret{}, StaleAfter: d.stale.Value}
	switch {
	case d.listen.Given() && !hasPort(d.listen.Value):
		f.Add(d.listen.Spot, fmt.Sprintf("%q is not an address and port", d.listen.Value),
			"write for example \":7118\"")
	case d.listen.Given() && !isLoopback(d.listen.Value) && !d.tls.Written():
		f.Add(d.listen.Spot, "is reached from other machines, and tokens would go there in the clear",
			"add tls: {certificate: PATH, key: PATH}")
	}
	for _, n := range d.tokens.Value {
		if !n.OK {
			continue
		}
		token := f.Secret(keys.At[keys.SecretRef]{Spot: n.Spot, Value: n.Value, How: keys.Given})
		for name, other := range out.Tokens {
			if token == other && !token.None() {
				f.Add(n.Spot, "has the token of satellite "+name, "give each a token of its own")
			}
		}
		out.Tokens[n.Name] = token
	}
	return out
}
