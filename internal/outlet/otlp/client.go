// Package otlp sends traces, and the journal as logs, to a collector by the OpenTelemetry protocol, over HTTP or gRPC.
//
// It promises that every request ends within its time, that what the collector rejects is told, that headers which are
// secret go to the configured address only, and are in no error, and that nothing but the configuration says where to:
// no variable of the environment does. It builds the protocol's messages itself, since spans here come out of the
// journal, with ids and times of their own, and a position moves on only by the collector's own word.
package otlp

import (
	"context"
	"net/http"

	"hale/internal/core/fault"
	"hale/internal/outlet/post"
	"hale/internal/secret"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Options are where the collector is, and how it is spoken to.
type Options struct {
	Endpoint string // http:// or https://; TLS is spoken to the latter
	GRPC     bool
	CA       string // a PEM file; empty: the system's authorities
	Headers  []secret.Named
	post.Identity
}

// client sends the protocol's requests.
type client interface {
	traces(ctx context.Context, q *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error)
	logs(ctx context.Context, q *collogs.ExportLogsServiceRequest) (*collogs.ExportLogsServiceResponse, error)
	close()
}

func (o Options) client() client {
	if o.GRPC {
		return &overGRPC{o: o}
	}
	return overHTTP{post.New(post.Options{Op: op, URL: secret.Value{Plain: o.Endpoint}, CA: o.CA, Headers: o.Headers,
		Identity: o.Identity})}
}

const op = "otlp.send"

// overHTTP sends binary protobuf.
type overHTTP struct{ post *post.Post }

func (c overHTTP) traces(ctx context.Context, q *coltrace.ExportTraceServiceRequest) (
	*coltrace.ExportTraceServiceResponse, error) {
	out := &coltrace.ExportTraceServiceResponse{}
	return out, c.send(ctx, "v1/traces", q, out)
}

func (c overHTTP) logs(ctx context.Context, q *collogs.ExportLogsServiceRequest) (*collogs.ExportLogsServiceResponse,
	error) {
	out := &collogs.ExportLogsServiceResponse{}
	return out, c.send(ctx, "v1/logs", q, out)
}

func (c overHTTP) close() { c.post.Close() }

func (c overHTTP) send(ctx context.Context, path string, q, out proto.Message) error {
	body, err := proto.Marshal(q)
	if err != nil {
		return fault.New(fault.Invalid, op, "", err)
	}
	said, err := c.post.Send(ctx, path, http.Header{"Content-Type": {"application/x-protobuf"}}, body)
	if err != nil {
		return err
	}
	// An answer of another form is a yes all the same, as its status says: it only cannot say what it rejected.
	if proto.Unmarshal(said.Body, out) != nil {
		proto.Reset(out)
	}
	return nil
}
