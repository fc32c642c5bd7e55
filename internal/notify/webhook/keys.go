package webhook

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/notify"
	"hale/internal/secret"
)

// Kind is the target webhook.
func Kind() kinds.Target {
	return kinds.WayOf("webhook", "url: …",
		"POST the message as JSON. Any 2xx answer is a success; redirects are not followed; "+
			"Retry-After is heeded.", shape(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct{ Options }

// Secrets implements kinds.Telling.
func (s Settings) Secrets() []secret.Secret {
	return secret.In(append([]secret.Named{{Secret: s.URL.Secret}}, s.Headers...))
}

// Target implements kinds.Telling.
func (s Settings) Target(t kinds.TargetOptions) notify.Target {
	o := s.Options
	o.Name, o.Timeout, o.Version = t.Name, t.Timeout, t.Version
	return New(o)
}

// Refused implements kinds.Bounded.
func (s Settings) Refused() error { return s.refuses(s.URL.Plain) }

// Unreachable implements kinds.Bounded.
func (s Settings) Unreachable(ctx context.Context) error {
	if address, _, err := s.URL.Resolve(ctx); err == nil { // else that is said of the secret
		return s.refuses(address)
	}
	return nil
}

func (s Settings) refuses(address string) error {
	if u, err := url.Parse(address); err == nil {
		return s.Reach.Host(u.Hostname())
	}
	return nil
}

type draft struct {
	url     keys.At[keys.TextDraft]
	ca      keys.At[string]
	format  keys.At[Format]
	headers keys.At[[]keys.Named[keys.TextDraft]]
	allow   keys.At[[]keys.At[netip.Prefix]]
}

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("url", "https://example.org/hale", "Where to: the address, or, where it is itself a secret, `{file: "+
			"PATH}` or `{env: NAME}`.",
			keys.TextOrSecret("a web address", "https://example.org/hale"),
			func(w *draft) *keys.At[keys.TextDraft] { return &w.url }),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's.", keys.Text("a path",
			"/etc/ssl/hook-ca.pem"),
			func(w *draft) *keys.At[string] { return &w.ca }),
		keys.Or("format", FormatHale, "`hale`: the message as hale says it. `cloudevents`: the same in a "+
			"CloudEvents 1.0 envelope. `text`: an object with one key, `text`, as chat programs take it.",
			keys.Choice(nil, FormatHale, FormatCloudEvents, FormatText),
			func(w *draft) *keys.At[Format] { return &w.format }),
		keys.May("headers", "Further headers, by name: a text, or `{file: PATH}` or `{env: NAME}` for what is secret.",
			keys.Mapping[keys.TextDraft]{Key: "HEADER", Each: keys.TextOrSecret("a header's value", "on-call"),
				Names: keys.HeaderNames},
			func(w *draft) *keys.At[[]keys.Named[keys.TextDraft]] { return &w.headers }),
		keys.May("allow_addresses", "What of hale's own surroundings it may reach: loopback (127.0.0.1, \"::1\"), "+
			"link-local addresses and those of a cloud's metadata are refused unless they are listed here, whatever "+
			"the address in url comes to when hale connects. All others may be reached anyway.",
			keys.List[netip.Prefix]{Noun: "one address or range", Each: keys.Network()},
			func(w *draft) *keys.At[[]keys.At[netip.Prefix]] { return &w.allow }).Said("none of them"),
	}}
}

func compileKeys(f *keys.Finder, v keys.At[draft]) kinds.Telling {
	d := v.Value
	o := Options{CA: keys.Path(d.ca), Format: d.format.Value, URL: f.Text(d.url.Value),
		Reach: keys.Values(d.allow)}
	if plain := d.url.Value.Plain; plain.Known() && plain.Value != "" {
		if bad := keys.WebAddressFlaw(plain.Value, "https://example.org/hale",
			"headers: {Authorization: {file: PATH}}, or url: {file: PATH}"); bad != nil {
			f.Add(plain.Spot, bad.Message, bad.Hint)
		}
	}
	for _, n := range d.headers.Value {
		h := f.Named(n)
		h.Name = http.CanonicalHeaderKey(n.Name)
		switch {
		case f.Spelt(n, keys.Hushed):
		case strings.ContainsAny(h.Plain, "\r\n"):
			f.Add(n.Spot, "has more than one line", "write it on one")
		case slices.Contains([]string{"Content-Type", "Content-Length", "Host", "Idempotency-Key"}, h.Name):
			f.Add(n.Spot, "is set by hale", "take it out")
		}
		o.Headers = append(o.Headers, h)
	}
	slices.SortFunc(o.Headers, func(a, b secret.Named) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(o.Headers); i++ {
		if o.Headers[i].Name == o.Headers[i-1].Name {
			f.Add(d.headers.Spot, o.Headers[i].Name+" is there twice", "keep one of the two")
		}
	}
	return Settings{o}
}
