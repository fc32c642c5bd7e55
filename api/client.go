package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Codes of Problem.
const (
	CodeUnknownMachine  = "unknown_machine"
	CodeUnknownIncident = "unknown_incident"
	CodeUnknownFleet    = "unknown_fleet"
	CodeUnknownHost     = "unknown_host"
	CodeBadRequest      = "bad_request"
	CodeStore           = "store"
	CodeConfiguration   = "configuration" // the file is wrong; Lines say what
	CodeRefused         = "refused"
	CodeForbidden       = "forbidden" // the user may read only
)

// Failure is the body of an answer that is none, and the last line of a stream that broke off.
type Failure struct {
	Error Problem `json:"error"`
}

// Problem is why the server did not answer. It is an error.
type Problem struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Near    []string `json:"near,omitempty"`  // names that were perhaps meant
	Lines   []string `json:"lines,omitempty"` // all that is wrong, one by one
}

// Error implements error.
func (p Problem) Error() string {
	if len(p.Near) == 0 {
		return p.Message
	}
	return p.Message + "; did you mean " + strings.Join(p.Near, " or ") + "?"
}

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

// Client asks a running controller.
type Client struct {
	socket string
	http   *http.Client
}

// Dial makes a client for the controller on the socket. It connects with the first call. Each call returns NotRunning
// when no controller listens, and Problem when the controller refuses. The caller closes the client.
func Dial(socket string) *Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	return &Client{socket: socket, http: &http.Client{Transport: transport}}
}

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

// HeaderBegins is the header of the answer to who asks for older events than there are: from its time on nothing was
// removed for its age, or to make room.
const HeaderBegins = "Hale-Events-Begin"

// EventsQuery says which events are wanted.
type EventsQuery struct {
	Fleet   string    // empty: all
	Machine string    // empty: all, and what is about none
	Since   time.Time // zero: from the beginning
	Kinds   []string  // empty: all
	Last    int       // only so many of those that there are; 0: all
	Follow  bool      // and then those to come, until ctx ends
	// Begins is called, if it is not nil, before the first event when older ones were asked for and are gone: with the
	// time from which on the journals are whole at their beginnings.
	Begins func(time.Time)
}

// ErrStreamEnded is what Events yields when the controller ended the stream of a query that follows.
var ErrStreamEnded = errors.New("the controller has ended")

// Events yields the journal's events, oldest first. After an error it yields nothing more.
func (c *Client) Events(ctx context.Context, q EventsQuery) iter.Seq2[Event, error] {
	v := url.Values{}
	if q.Fleet != "" {
		v.Set("fleet", q.Fleet)
	}
	if q.Machine != "" {
		v.Set("machine", q.Machine)
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	for _, k := range q.Kinds {
		v.Add("kind", k)
	}
	if q.Last > 0 {
		v.Set("last", strconv.Itoa(q.Last))
	}
	if q.Follow {
		v.Set("follow", "true")
	}
	return func(yield func(Event, error) bool) {
		body, header, err := c.exchange(ctx, http.MethodGet, "/v1/events?"+v.Encode(), nil)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer body.Close()
		if begins, err := time.Parse(time.RFC3339Nano, header.Get(HeaderBegins)); err == nil && q.Begins != nil {
			q.Begins(begins)
		}
		err = readEvents(body, yield)
		switch {
		case ctx.Err() != nil || errors.Is(err, errEnough):
		case err != nil:
			yield(Event{}, err)
		case q.Follow:
			yield(Event{}, ErrStreamEnded)
		}
	}
}

var errEnough = errors.New("the reader has enough")

// readEvents yields line by line. It returns nil at the end of the stream.
func readEvents(body io.Reader, yield func(Event, error) bool) error {
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var either struct {
			Event
			Error *Problem `json:"error"`
		}
		if err := json.Unmarshal(line, &either); err != nil {
			return err
		}
		if either.Error != nil {
			return *either.Error
		}
		if !yield(either.Event, nil) {
			return errEnough
		}
	}
}

// Reload lets the controller read its configuration again.
func (c *Client) Reload(ctx context.Context) (Changes, error) {
	return ask[Changes](ctx, c, http.MethodPost, "/v1/reload", nil)
}

// Order gives an order, and waits for its owner to take it up.
func (c *Client) Order(ctx context.Context, q OrderRequest) (Orders, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return Orders{}, err
	}
	return ask[Orders](ctx, c, http.MethodPost, "/v1/orders", body)
}

// Readdress confirms the plan that connects a provider to its changed address.
func (c *Client) Readdress(ctx context.Context, plan string) error {
	_, err := ask[Changes](ctx, c, http.MethodPost, "/v1/readdress?plan="+url.QueryEscape(plan), nil)
	return err
}

// Compare returns what the configuration in a file or folder, named by an absolute path, would change.
func (c *Client) Compare(ctx context.Context, path string) (Changes, error) {
	return get[Changes](ctx, c, "/v1/compare?path="+url.QueryEscape(path))
}

// Pending returns what of the running configuration waits for a person's word.
func (c *Client) Pending(ctx context.Context) (Changes, error) {
	return get[Changes](ctx, c, "/v1/pending")
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
	request, err := http.NewRequestWithContext(ctx, method, "http://hale"+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, NotRunning{Socket: c.socket, Err: err}
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, response.Header, nil
	}
	defer response.Body.Close()
	var f Failure
	if err := json.NewDecoder(response.Body).Decode(&f); err != nil || f.Error.Message == "" {
		return nil, nil, Problem{Code: CodeBadRequest, Message: "the controller answered " + response.Status}
	}
	return nil, nil, f.Error
}
