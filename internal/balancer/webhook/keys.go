package webhook

import (
	"hale/internal/balancer"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/outlet/post"
	"hale/internal/secret"
)

// Kind is the balancer webhook.
func Kind() kinds.Balancer {
	return kinds.WayOf("webhook", "url: …",
		"POST as JSON what is wanted. `{\"action\": \"list\"}` is answered with the members, as the program of command "+
			"prints them; `{\"action\": \"set\", \"member\": \"web-1\", \"state\": \"serving\", \"address\": "+
			"\"10.0.0.5\", \"port\": 80}` with any 2xx. 404: there is no such pool or no room. 429 or 503: later. "+
			"Redirects are not followed.", shape(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct {
	URL     secret.Value
	CA      string
	Headers []secret.Named
}

// Secrets implements kinds.Balancing.
func (s Settings) Secrets() []secret.Secret {
	return secret.In(append([]secret.Named{{Secret: s.URL.Secret}}, s.Headers...))
}

// Pool implements kinds.Balancing.
func (s Settings) Pool(o kinds.BalancerOptions) balancer.Pool {
	return New(post.New(post.Options{Op: "webhook.send", URL: s.URL, CA: s.CA, Headers: s.Headers,
		Identity: post.Identity{Name: o.Name, Timeout: o.Timeout, Version: o.Version}}))
}

type draft struct {
	url     keys.At[keys.TextDraft]
	ca      keys.At[string]
	headers keys.At[[]keys.Named[keys.TextDraft]]
}

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("url", "https://lb.example.org/hale", "Where to: the address, or, where it is itself a secret, "+
			"`{file: PATH}` or `{env: NAME}`.", keys.TextOrSecret("a web address", "https://lb.example.org/hale"),
			func(d *draft) *keys.At[keys.TextDraft] { return &d.url }),
		keys.May("ca", post.CADoc, keys.Text("a path", "/etc/ssl/lb-ca.pem"),
			func(d *draft) *keys.At[string] { return &d.ca }),
		keys.May("headers", post.HeadersDoc, post.HeadersShape(),
			func(d *draft) *keys.At[[]keys.Named[keys.TextDraft]] { return &d.headers }),
	}}
}

func compileKeys(f *keys.Finder, v keys.At[draft]) kinds.Balancing {
	d := v.Value
	post.Address(f, d.url.Value.Plain)
	return Settings{URL: f.Text(d.url.Value), CA: keys.Path(d.ca),
		Headers: post.HeadersOf(f, d.headers, "Content-Type")}
}
