package otlp

import (
	"context"
	"errors"
	"net"
	"net/url"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/outlet/post"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// overGRPC sends over one connection, which is made anew when whom to trust changes.
type overGRPC struct {
	o      Options
	mu     sync.Mutex
	conn   *grpc.ClientConn
	trusts string
}

func (c *overGRPC) traces(ctx context.Context, q *coltrace.ExportTraceServiceRequest) (
	out *coltrace.ExportTraceServiceResponse, err error) {
	err = c.call(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		out, err = coltrace.NewTraceServiceClient(conn).Export(ctx, q)
		return err
	})
	return out, err
}

func (c *overGRPC) logs(ctx context.Context, q *collogs.ExportLogsServiceRequest) (
	out *collogs.ExportLogsServiceResponse, err error) {
	err = c.call(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		out, err = collogs.NewLogsServiceClient(conn).Export(ctx, q)
		return err
	})
	return out, err
}

func (c *overGRPC) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_ = c.conn.Close() // an error says that it is closed
	}
}

func (c *overGRPC) call(ctx context.Context, do func(context.Context, *grpc.ClientConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	values, secrets, err := post.Headers(ctx, c.o.Headers)
	if err != nil {
		return err
	}
	conn, err := c.connection()
	if err != nil {
		return err
	}
	err = do(metadata.NewOutgoingContext(ctx, metadata.New(values)), conn)
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	failed := fault.New(kindOf(s.Code()), op, c.o.Name,
		errors.New(notify.Clean(s.Code().String()+": "+s.Message(), secrets...)))
	for _, d := range s.Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok {
			return &notify.LaterError{After: min(retry.GetRetryDelay().AsDuration(), post.LongestRest), Err: failed}
		}
	}
	return failed
}

// kindOf classifies what the collector, or the way to it, answered.
func kindOf(c codes.Code) fault.Kind {
	switch c {
	case codes.InvalidArgument:
		return fault.Invalid
	case codes.Unauthenticated, codes.PermissionDenied:
		return fault.Unauthorised
	case codes.Unimplemented, codes.NotFound:
		return fault.NotFound
	case codes.ResourceExhausted:
		return fault.Throttled
	case codes.DeadlineExceeded, codes.Canceled:
		return fault.UnknownOutcome
	case codes.FailedPrecondition, codes.AlreadyExists, codes.Internal, codes.Unknown:
		return fault.Permanent
	default:
		return fault.Transient
	}
}

// again is how a collector that is away is tried to be reached: soon after it is back.
var again = grpc.ConnectParams{MinConnectTimeout: 5 * time.Second,
	Backoff: backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 10 * time.Second}}

func (c *overGRPC) connection() (*grpc.ClientConn, error) {
	trusts, err := post.Trusted(c.o.CA)
	if err != nil {
		return nil, fault.New(fault.Permanent, op, c.o.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil && c.trusts == trusts {
		return c.conn, nil
	}
	u, err := url.Parse(c.o.Endpoint)
	if err != nil {
		return nil, fault.New(fault.Permanent, op, c.o.Name, errors.New("its endpoint is no web address"))
	}
	if c.conn != nil {
		_ = c.conn.Close() // nothing is under way on it
	}
	secure := insecure.NewCredentials()
	if u.Scheme == "https" {
		secure = credentials.NewTLS(post.TLS(trusts))
	}
	dialer := post.Reach(u.Hostname()).Dialer()
	c.conn, err = grpc.NewClient("dns:///"+hostPort(u), grpc.WithTransportCredentials(secure),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		}), grpc.WithDisableServiceConfig(), grpc.WithConnectParams(again), grpc.WithUserAgent("hale/"+c.o.Version))
	if err != nil {
		c.conn = nil
		return nil, fault.New(fault.Permanent, op, c.o.Name, err)
	}
	c.trusts = trusts
	return c.conn, nil
}

// hostPort is the address to connect to.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
