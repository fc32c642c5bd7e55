package netprobe

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// What is read of a gRPC server, in bytes: the protocol's own answers have some ten.
const (
	maxHealthAnswer = 4 << 10
	maxHealthHead   = 16 << 10
)

// errUsed answers a library that would connect again: what a probe has to say is said over one connection.
var errUsed = errors.New("the probe's connection has ended")

// health asks the server by the gRPC Health Checking Protocol, over a fresh connection.
func (k asker) health(ctx context.Context, t probe.Target) error {
	return k.talk(ctx, t, "tcp", func(conn net.Conn) error {
		c := &t.Spec.GRPC
		line := &call{conn: &witness{Conn: conn}, authority: c.Host, service: c.Service, tls: c.Secure}
		if line.authority == "" {
			line.authority = authority(t, "", t.Spec.Port)
		}
		if c.Secure {
			secure, err := k.secure(ctx, conn, session{
				name:      serverName(hostPart(c.Host), t),
				demand:    &c.TLS,
				protocols: []string{"h2"},
			})
			if err != nil {
				return err
			}
			if secure.ConnectionState().NegotiatedProtocol != "h2" {
				return failure{fleet.ResultTLS, "the server does not offer HTTP/2 (h2, ALPN)"}
			}
			line.conn.Conn = secure
		}
		return line.check(ctx)
	})
}

// call is one question to a server, over a connection that is there already.
type call struct {
	conn      *witness
	authority string // the name that the server is called by
	service   string
	tls       bool // the connection is secured
	answered  answered
}

// check asks and weighs the answer. Nothing of it lives on after its return.
func (l *call) check(ctx context.Context) error {
	var once sync.Once
	client, err := grpc.NewClient("passthrough:///machine",
		grpc.WithContextDialer(func(context.Context, string) (conn net.Conn, err error) {
			err = errUsed
			once.Do(func() { conn, err = l.conn, nil })
			return conn, err
		}),
		grpc.WithTransportCredentials(handed{tls: l.tls}), grpc.WithAuthority(l.authority),
		grpc.WithUserAgent(userAgent), grpc.WithNoProxy(),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithIdleTimeout(0),
		grpc.WithStatsHandler(&l.answered),
		grpc.WithMaxHeaderListSize(maxHealthHead),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxHealthAnswer)))
	if err != nil {
		return probe.LocalError{Err: err}
	}
	// The connection goes first: the client would wait for its good-bye to be written, and a server that hangs does not
	// read it.
	defer func() {
		_ = l.conn.Close()
		_ = client.Close()
	}()
	answer, err := grpc_health_v1.NewHealthClient(client).Check(ctx, &grpc_health_v1.HealthCheckRequest{
		Service: l.service,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return l.refusal(err)
	case answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
		return failure{fleet.ResultStatus, answer.GetStatus().String()}
	}
	return nil
}

// refusal is what an error of the library means: the server's own word, an error of the network, or an answer that is
// none.
func (l *call) refusal(err error) error {
	said := status.Convert(err)
	if l.answered.ended() {
		return failure{fleet.ResultStatus, refused(said)}
	}
	if said.Code() == codes.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	switch end := l.conn.end(); {
	case end != nil && ofNetwork(end):
		return end
	case end != nil && (errors.Is(end, io.EOF) || errors.Is(end, io.ErrUnexpectedEOF)):
		return failure{fleet.ResultProtocol, "the connection was closed before an answer"}
	}
	return failure{fleet.ResultProtocol, firstLine("no answer in gRPC: " + said.Message())}
}

// refused are the words for a status that the server ended the call with.
func refused(said *status.Status) string {
	name := codeNames[said.Code()]
	switch said.Code() {
	case codes.NotFound:
		return name + ": the server does not know the service"
	case codes.Unimplemented:
		return name + ": the server does not tell its health"
	}
	return strings.TrimSuffix(firstLine(name+": "+said.Message()), ": ")
}

// codeNames are the names in gRPC's own documents.
var codeNames = map[codes.Code]string{
	codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE",
	codes.Unimplemented: "UNIMPLEMENTED", codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE",
	codes.DataLoss: "DATA_LOSS", codes.Unauthenticated: "UNAUTHENTICATED",
}

// witness is a connection that remembers how it ended, which gRPC tells as a text only.
type witness struct {
	net.Conn
	mu  sync.Mutex
	err error // the first of a read or a write
}

// Read implements net.Conn.
func (w *witness) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.note(err)
	return n, err
}

// Write implements net.Conn.
func (w *witness) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	w.note(err)
	return n, err
}

func (w *witness) note(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *witness) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// answered knows whether the server ended the call with a status: the library words its own errors in the same way. One
// that it makes of an answer that it could read to its end, but not understand, counts as the server's.
type answered struct {
	mu   sync.Mutex
	said bool
}

func (a *answered) ended() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.said
}

// HandleRPC implements stats.Handler.
func (a *answered) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, trailer := s.(*stats.InTrailer); trailer {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.said = true
	}
}

// TagRPC implements stats.Handler.
func (a *answered) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn implements stats.Handler.
func (a *answered) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (a *answered) HandleConn(context.Context, stats.ConnStats) {}

// handed are the credentials of a connection that is as secure as it is to be before the library gets it.
type handed struct{ tls bool }

// ClientHandshake implements credentials.TransportCredentials.
func (h handed) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, handedInfo{}, nil
}

// ServerHandshake implements credentials.TransportCredentials.
func (h handed) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, handedInfo{}, nil
}

// Info implements credentials.TransportCredentials. The scheme of the request follows from it.
func (h handed) Info() credentials.ProtocolInfo {
	if h.tls {
		return credentials.ProtocolInfo{SecurityProtocol: "tls"}
	}
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

// Clone implements credentials.TransportCredentials.
func (h handed) Clone() credentials.TransportCredentials { return h }

// OverrideServerName implements credentials.TransportCredentials, where it is deprecated: the name is that of the
// handshake before.
func (h handed) OverrideServerName(string) error { return nil }

type handedInfo struct{ credentials.CommonAuthInfo }

// AuthType implements credentials.AuthInfo.
func (handedInfo) AuthType() string { return "handed" }
