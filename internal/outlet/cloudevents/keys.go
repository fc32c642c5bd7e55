package cloudevents

import (
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/outlet"
	"hale/internal/outlet/post"
	"hale/internal/secret"
)

// Kind is the outlet in the configuration.
func Kind() kinds.Outlet {
	return kinds.WayOf("cloudevents", "url: …",
		"POST the records as CloudEvents 1.0. Any 2xx answer is a success; redirects are not followed; Retry-After is "+
			"heeded.", shape(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct {
	URL     secret.Value
	CA      string
	Headers []secret.Named
	Mode    Mode
}

// Secrets implements kinds.Streaming.
func (s Settings) Secrets() []secret.Secret {
	return secret.In(append([]secret.Named{{Secret: s.URL.Secret}}, s.Headers...))
}

// Outlet implements kinds.Streaming.
func (s Settings) Outlet(o kinds.OutletOptions) outlet.Outlet {
	return New(post.New(post.Options{Op: "cloudevents.send", URL: s.URL, CA: s.CA, Headers: s.Headers,
		Identity: post.Identity{Name: o.Name, Timeout: o.Timeout, Version: o.Version, Server: o.Server}}), s.Mode, o.Refused)
}

type draft struct {
	url     keys.At[keys.TextDraft]
	mode    keys.At[Mode]
	ca      keys.At[string]
	headers keys.At[[]keys.Named[keys.TextDraft]]
}

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("url", "https://events.example.org/hale", "Where to: the address, or, where it is itself a secret, "+
			"`{file: PATH}` or `{env: NAME}`.", keys.TextOrSecret("a web address", "https://events.example.org/hale"),
			func(d *draft) *keys.At[keys.TextDraft] { return &d.url }),
		keys.Or("mode", ModeBatched, "`batched`: many events in one request. `structured`: each event in a request of "+
			"its own.", keys.Choice(nil, ModeBatched, ModeStructured), func(d *draft) *keys.At[Mode] { return &d.mode }),
		keys.May("ca", post.CADoc, keys.Text("a path", "/etc/ssl/events-ca.pem"),
			func(d *draft) *keys.At[string] { return &d.ca }),
		keys.May("headers", post.HeadersDoc, post.HeadersShape(),
			func(d *draft) *keys.At[[]keys.Named[keys.TextDraft]] { return &d.headers }),
	}}
}

func compileKeys(f *keys.Finder, v keys.At[draft]) kinds.Streaming {
	d := v.Value
	post.Address(f, d.url.Value.Plain)
	return Settings{URL: f.Text(d.url.Value), CA: keys.Path(d.ca), Mode: d.mode.Value,
		Headers: post.HeadersOf(f, d.headers, "Content-Type")}
}
