package probetest

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"hale/internal/core/policy"
)

// orders is the service that the stories ask for.
const orders = "shop.v1.Orders"

// grpcServer serves one connection with what the function registers.
func grpcServer(register func(*grpc.Server)) func(net.Conn) {
	return func(conn net.Conn) {
		l := &single{conn: conn, closed: make(chan struct{})}
		server := grpc.NewServer()
		register(server)
		_ = server.Serve(l) // until the connection has ended
		server.Stop()
	}
}

// healthy tells of the server as a whole, and of orders.
func healthy(whole, ofOrders grpc_health_v1.HealthCheckResponse_ServingStatus) func(net.Conn) {
	return grpcServer(func(server *grpc.Server) {
		h := health.NewServer()
		h.SetServingStatus("", whole)
		h.SetServingStatus(orders, ofOrders)
		grpc_health_v1.RegisterHealthServer(server, h)
	})
}

// refusing ends each question with the status.
func refusing(code codes.Code, message string) func(net.Conn) {
	return grpcServer(func(server *grpc.Server) {
		grpc_health_v1.RegisterHealthServer(server, refuser{err: status.Error(code, message)})
	})
}

type refuser struct {
	grpc_health_v1.UnimplementedHealthServer
	err error
}

// Check implements grpc_health_v1.HealthServer.
func (r refuser) Check(context.Context,
	*grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return nil, r.err
}

// single is a listener at which one connection arrives, and which ends with it.
type single struct {
	conn   net.Conn
	once   sync.Once
	came   bool
	closed chan struct{}
}

// Accept implements net.Listener.
func (l *single) Accept() (net.Conn, error) {
	if !l.came {
		l.came = true
		return ending{l.conn, l}, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l *single) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

// ending is a connection with which its listener ends.
type ending struct {
	net.Conn
	of *single
}

// Close implements net.Conn.
func (e ending) Close() error {
	_ = e.of.Close()
	return e.Conn.Close()
}

func grpcAnswers() map[string]service {
	const serving, not = grpc_health_v1.HealthCheckResponse_SERVING, grpc_health_v1.HealthCheckResponse_NOT_SERVING
	whole := policy.Check{Kind: policy.CheckGRPC, Port: 50051}
	one := policy.Check{Kind: policy.CheckGRPC, Port: 50051, GRPC: policy.GRPCCheck{Service: orders}}
	other := policy.Check{Kind: policy.CheckGRPC, Port: 50051, GRPC: policy.GRPCCheck{Service: "shop.v1.Stock"}}
	nothing := grpcServer(func(*grpc.Server) {})
	return map[string]service{
		"grpc: the server does not serve": {whole, Answer{Serve: healthy(not, serving)}, "down status"},
		"grpc: the service does":          {one, Answer{Serve: healthy(not, serving)}, "up ok"},
		"grpc: the service does not":      {one, Answer{Serve: healthy(serving, not)}, "down status"},
		"grpc: an unknown service":        {other, Answer{Serve: healthy(serving, serving)}, "down status"},
		"grpc: it cannot tell": {whole,
			Answer{Serve: healthy(grpc_health_v1.HealthCheckResponse_UNKNOWN, serving)}, "down status"},
		"grpc: nothing is told of health": {whole, Answer{Serve: nothing}, "down status"},
		"grpc: who asks is not known": {whole,
			Answer{Serve: refusing(codes.Unauthenticated, "who are you")}, "down status"},
		"grpc: the server itself gives up in time": {whole,
			Answer{Serve: refusing(codes.DeadlineExceeded, "too slow")}, "down status"},
		"grpc: another protocol": {whole, Answer{Serve: says("220 mail.example.org ESMTP\r\n")}, "down protocol"},
		"grpc: a page":           {whole, Status(404), "down protocol"},
		"grpc: closes at once":   {whole, Answer{}, "down protocol"},
	}
}
