package otlp

import (
	"hale/internal/core/fleet"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/outlet"
	"hale/internal/outlet/post"
	"hale/internal/secret"
)

const way = "Any collector of OpenTelemetry's protocol (OTLP) will do. The environment's OTEL_ variables are not heeded."

// Kind is the outlet of the journal in the configuration.
func Kind() kinds.Outlet {
	return kinds.WayOf("otlp", "endpoint: …", "Send the records as logs to a collector. "+way, shape(),
		func(f *keys.Finder, v keys.At[draft]) kinds.Streaming { return compileKeys(f, v) })
}

// TracesKind is the way of traces in the configuration.
func TracesKind() kinds.Tracing {
	return kinds.WayOf("otlp", "endpoint: …", "The collector that the traces go to. "+way, shape(),
		func(f *keys.Finder, v keys.At[draft]) kinds.Weaving { return compileKeys(f, v) })
}

// Settings are what the keys come to.
type Settings struct {
	Endpoint string
	GRPC     bool
	CA       string
	Headers  []secret.Named
}

// Secrets implements kinds.Streaming and kinds.Weaving.
func (s Settings) Secrets() []secret.Secret { return secret.In(s.Headers) }

// Outlet implements kinds.Streaming.
func (s Settings) Outlet(o kinds.OutletOptions) outlet.Outlet {
	return NewLogs(s.options(o), o.Refused)
}

// Traces implements kinds.Weaving.
func (s Settings) Traces(installation fleet.Installation, o kinds.OutletOptions) kinds.Sink {
	return NewTraces(s.options(o), installation, o.Refused)
}

func (s Settings) options(o kinds.OutletOptions) Options {
	return Options{Endpoint: s.Endpoint, GRPC: s.GRPC, CA: s.CA, Headers: s.Headers,
		Identity: post.Identity{Name: o.Name, Timeout: o.Timeout, Version: o.Version, Server: o.Server}}
}

// protocol is what is spoken to a collector.
type protocol string

const (
	protocolHTTP protocol = "http"
	protocolGRPC protocol = "grpc"
)

type draft struct {
	endpoint keys.At[string]
	protocol keys.At[protocol]
	ca       keys.At[string]
	headers  keys.At[[]keys.Named[keys.TextDraft]]
}

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("endpoint", "https://collector.example.org:4318", "The collector's address: with https, TLS is spoken. "+
			"Over HTTP, `/v1/traces` or `/v1/logs` is added to it.",
			keys.Text("a web address", "https://collector.example.org:4318"),
			func(d *draft) *keys.At[string] { return &d.endpoint }),
		keys.Or("protocol", protocolHTTP, "`http`: binary protobuf over HTTP, as a rule at port 4318. `grpc`: as a rule "+
			"at port 4317.", keys.Choice(nil, protocolHTTP, protocolGRPC),
			func(d *draft) *keys.At[protocol] { return &d.protocol }),
		keys.May("ca", post.CADoc, keys.Text("a path", "/etc/ssl/collector-ca.pem"),
			func(d *draft) *keys.At[string] { return &d.ca }),
		keys.May("headers", post.HeadersDoc, post.HeadersShape(),
			func(d *draft) *keys.At[[]keys.Named[keys.TextDraft]] { return &d.headers }),
	}}
}

func compileKeys(f *keys.Finder, v keys.At[draft]) Settings {
	d := v.Value
	post.Address(f, d.endpoint)
	return Settings{Endpoint: d.endpoint.Value, GRPC: d.protocol.Value == protocolGRPC, CA: keys.Path(d.ca),
		Headers: post.HeadersOf(f, d.headers, "Content-Type")}
}
