package api

import (
	"context"
	"time"
)

// Fences are the hosts that have a fence.
type Fences struct {
	Hosts []FencedHost `json:"hosts"`
}

// FencedHost is a host with its methods, in the order in which they are tried.
type FencedHost struct {
	Provider string `json:"provider"`
	Host     string `json:"host"`
	// Up says whether the provider's host answers; Machines are those that lie on it.
	Up       bool          `json:"up"`
	Machines []string      `json:"machines"`
	Methods  []FenceMethod `json:"methods"`
}

// FenceMethod is one way to cut a host's power.
type FenceMethod struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`  // redfish, ipmi, agent, command, cut
	Proof    string   `json:"proof"` // what its off proves
	Attempts int      `json:"attempts"`
	Timeout  Duration `json:"timeout"` // of one attempt
	// Unverified: the server's identity is not checked before it gets the password.
	Unverified bool       `json:"unverified,omitempty"`
	Test       *FenceTest `json:"test,omitempty"` // the last one
}

// FenceTest is how a controller answered the question how its host stands.
type FenceTest struct {
	At     time.Time `json:"at"`
	OK     bool      `json:"ok"`
	Power  string    `json:"power"` // on, off, unknown
	Code   string    `json:"code,omitempty"`
	Detail string    `json:"detail,omitempty"` // what is wrong
	Took   Duration  `json:"took"`
}

// HostWord begins a subject that is a host: host:h1, or host:lab/h1 where several providers have one of that name.
const HostWord = "host:"

// FenceRequest names hosts, or machines that lie on them. None: every host that has methods.
type FenceRequest struct {
	Subjects []string `json:"subjects,omitempty"`
	// DryRun has the answer name the hosts only, with their last tests.
	DryRun bool `json:"-"`
}

// FenceProblem is what is wrong with the way in which a host's power would be cut.
type FenceProblem struct {
	Host   string `json:"host"`
	Method string `json:"method"`
	// Untested says that it was not tried yet. Unverified says that the server's identity is not checked before it gets
	// the password. Else Detail says how the last test failed.
	Untested   bool   `json:"untested,omitempty"`
	Unverified bool   `json:"unverified,omitempty"`
	Detail     string `json:"detail,omitempty"`
}

// Fences returns the hosts that have a fence.
func (c *Client) Fences(ctx context.Context) (Fences, error) {
	return get[Fences](ctx, c, "/v1/fences")
}

// TestFences asks the controllers how their hosts stand.
func (c *Client) TestFences(ctx context.Context, q FenceRequest) (Fences, error) {
	return post[Fences](ctx, c, tried("/v1/fences/test", q.DryRun), q)
}
