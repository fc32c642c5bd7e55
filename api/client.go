package api

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// NotRunning says that no controller listens on the socket.
type NotRunning struct {
	Socket string
	Err    error
}

// Error implements error. It says how to start a controller.
func (n NotRunning) Error() string {
	if errors.Is(n.Err, fs.ErrPermission) {
		return fmt.Sprintf("you may not use the socket %s (%v): %s", n.Socket, Cause(n.Err), mayUse(n.Socket))
	}
	return fmt.Sprintf("no hale controller listens on %s (%v); start one with 'hale run', or name its socket with "+
		"--socket or HALE_SOCKET",
		n.Socket, Cause(n.Err))
}

// mayUse says who may use the socket, and how.
func mayUse(socket string) string {
	who := "the user that hale runs as may"
	at, err := os.Stat(socket)
	if err != nil { // the folder is closed already
		at, err = os.Stat(filepath.Dir(socket))
	}
	if err == nil {
		who = allowed(at)
	}
	return who + "; run the command as that user, as in: sudo -u USER hale status"
}

// Unwrap returns the cause.
func (n NotRunning) Unwrap() error { return n.Err }

// Cause strips what net and net/http put around an error.
func Cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return err
}

// Unreachable says that no controller answers at the address.
type Unreachable struct {
	Server string
	Err    error
}

// Error implements error.
func (u Unreachable) Error() string {
	return fmt.Sprintf("hale cannot be reached at %s: %v", u.Server, Cause(u.Err))
}

// Unwrap returns the cause.
func (u Unreachable) Unwrap() error { return u.Err }

// Client asks a running controller. It is safe for concurrent use.
type Client struct {
	base  string // of all addresses
	token string
	alone bool
	http  *http.Client
	// away says that nothing answers.
	away func(error) error
}

// Dial makes a client for the controller on the socket. It connects with the first call. Each call returns NotRunning
// when no controller listens, and Problem when the controller refuses. The caller closes the client.
func Dial(socket string) *Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	return &Client{base: "http://hale", http: &http.Client{Transport: transport, CheckRedirect: noRedirect},
		away: func(err error) error { return NotRunning{Socket: socket, Err: err} }}
}

// Server is where a controller is reached over the network, and by what.
type Server struct {
	URL   string      // as https://hale.example.org:7117
	Token string      // empty: none; the certificate in TLS may do
	TLS   *tls.Config // nil: as the system has it
}

// connectWithin bounds how long a server may take until it listens.
const connectWithin = 10 * time.Second

// DialServer makes a client for the controller at the address. It connects with the first call. Each call returns
// Unreachable when nothing answers there, and Problem when the controller refuses. The caller closes the client. An
// error says what is wrong with the address.
func DialServer(s Server) (*Client, error) {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is no address: %w", s.URL, Cause(err))
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q is no address of a hale: write for example https://hale.example.org:7117", s.URL)
	case u.Scheme == "http" && s.Token != "" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("%s would carry the token in the clear: use https", s.URL)
	}
	dialer := net.Dialer{Timeout: connectWithin}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: s.TLS, TLSHandshakeTimeout: connectWithin,
		ForceAttemptHTTP2: true, Proxy: http.ProxyFromEnvironment,
	}
	base := u.Scheme + "://" + u.Host
	return &Client{base: base, token: s.Token, http: &http.Client{Transport: transport, CheckRedirect: noRedirect},
		away: func(err error) error { return Unreachable{Server: base, Err: err} }}, nil
}

// noRedirect keeps a token from being carried elsewhere.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Alone has the calls wait for no second person, which only who sits at the machine may say. Say it before the first.
func (c *Client) Alone() { c.alone = true }

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status returns the fleets as they stand.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/v1/status")
}

// Why returns a machine's state and how it came to be.
func (c *Client) Why(ctx context.Context, machine string) (Why, error) {
	return get[Why](ctx, c, "/v1/machines/"+url.PathEscape(machine)+"/why")
}

// WhyFleet returns how a fleet stands, and what holds it.
func (c *Client) WhyFleet(ctx context.Context, name string) (FleetWhy, error) {
	return get[FleetWhy](ctx, c, "/v1/fleets/"+url.PathEscape(name)+"/why")
}

// State returns what the controller believes.
func (c *Client) State(ctx context.Context) (State, error) { return get[State](ctx, c, "/v1/state") }

// Reload lets the controller read its configuration again.
func (c *Client) Reload(ctx context.Context) (Changes, error) {
	return ask[Changes](ctx, c, http.MethodPost, "/v1/reload", nil)
}

// Order gives an order, and waits for its owner to take it up.
func (c *Client) Order(ctx context.Context, q OrderRequest) (Orders, error) {
	return post[Orders](ctx, c, tried("/v1/orders", q.DryRun), q)
}

// Compare returns what the configuration in a file or folder, named by an absolute path, would change.
func (c *Client) Compare(ctx context.Context, path string) (Changes, error) {
	return get[Changes](ctx, c, "/v1/compare?path="+url.QueryEscape(path))
}

// tried is the path of a call that changes something, which may only be tried.
func tried(path string, dry bool) string {
	if dry {
		return path + "?dry_run=true"
	}
	return path
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	return ask[T](ctx, c, http.MethodGet, path, nil)
}

// post sends a value, and reads what is answered.
func post[T any](ctx context.Context, c *Client, path string, value any) (T, error) {
	data, err := json.Marshal(value)
	if err != nil {
		var none T
		return none, err
	}
	return ask[T](ctx, c, http.MethodPost, path, data)
}

func ask[T any](ctx context.Context, c *Client, method, path string, request []byte) (T, error) {
	var out T
	body, err := c.send(ctx, method, path, request)
	if err != nil {
		return out, err
	}
	defer body.Close()
	err = json.NewDecoder(body).Decode(&out)
	return out, err
}

// open asks and returns the body of a good answer.
func (c *Client) open(ctx context.Context, path string) (io.ReadCloser, error) {
	return c.send(ctx, http.MethodGet, path, nil)
}

// send sends a request and returns the body of a good answer.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	answer, _, err := c.exchange(ctx, method, path, body)
	return answer, err
}

// exchange is send, and returns the header of the answer, too.
func (c *Client) exchange(ctx context.Context, method, path string, body []byte) (io.ReadCloser, http.Header, error) {
	response, err := c.repeat(ctx, method, path, body)
	if err != nil {
		return nil, nil, err
	}
	if response.StatusCode/100 == 2 {
		return response.Body, response.Header, nil
	}
	defer response.Body.Close()
	var p Problem
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil || p.Detail == "" {
		return nil, nil, NewProblem(CodeBadRequest, "what answers there is no hale of this version: "+response.Status)
	}
	return nil, nil, p
}
