package api

import "context"

// FenceOffRequest asks for a host to be turned off.
type FenceOffRequest struct {
	// Subject is a host, or a machine that lies on it, as in FenceRequest.
	Subject string `json:"subject"`
	// Force turns the host off although a machine on it is not known to fail.
	Force  bool   `json:"force,omitempty"`
	Reason string `json:"reason,omitempty"`
	As     string `json:"as,omitempty"`
	// DryRun has the answer only say what would be.
	DryRun bool `json:"-"`
}

// FenceOff is what turning a host off means, and, unless that is all that was asked, how it ended.
type FenceOff struct {
	Provider string `json:"provider"`
	Host     string `json:"host"`
	// Up says whether the host answers its provider.
	Up       bool           `json:"up"`
	Methods  []FenceMethod  `json:"methods"` // in the order in which they are tried
	Machines []FenceMachine `json:"machines"`
	// Unseen are the fleets of the provider that another server looks after: their machines on the host are not known
	// here.
	Unseen  []string      `json:"unseen"`
	Follows []FenceFollow `json:"follows"`
	// Needs says that a machine on the host is not known to fail, or not known at all: only force turns the host off.
	Needs bool `json:"needs_force"`

	// Done says that the controllers were asked, and Tries how they answered. Off: one of them proved the host off;
	// Method and Proof are that one's.
	Done   bool       `json:"done"`
	Tries  []FenceTry `json:"tries,omitempty"`
	Off    bool       `json:"off"`
	Method string     `json:"method,omitempty"`
	Proof  string     `json:"proof,omitempty"`
	Took   Duration   `json:"took,omitempty"` // of all tries
}

// FenceMachine is a machine on the host.
type FenceMachine struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	// Fails says that it is known to fail.
	Fails bool `json:"fails"`
}

// What a fleet makes of it that the host is off.
const (
	// FollowsElsewhere: what fails there is built anew on another host, once hale proved for itself that it is off.
	FollowsElsewhere = "elsewhere"
	FollowsWord      = "word"    // nothing, until a person gives their word
	FollowsNothing   = "nothing" // nothing is built in the place of what is there
)

// FenceFollow is what would follow in a fleet that has machines on the host.
type FenceFollow struct {
	Fleet   string `json:"fleet"`
	Follows string `json:"follows"` // one of the constants Follows…
}

// FenceTry is one try to turn a host off, as it ended.
type FenceTry struct {
	Method  string   `json:"method"`
	Number  int      `json:"number"` // of the method's attempts, from 1
	OK      bool     `json:"ok"`     // the host is proven off
	Already bool     `json:"already,omitempty"`
	Orders  int      `json:"orders"`
	Proof   string   `json:"proof,omitempty"`
	Took    Duration `json:"took"`
	Detail  string   `json:"detail,omitempty"` // what is wrong
}

// Against says what speaks against turning the host off.
func (o *FenceOff) Against() []string {
	var out []string
	for _, m := range o.Machines {
		if !m.Fails {
			out = append(out, m.Name+" on it is not known to fail")
		}
	}
	for _, f := range o.Unseen {
		out = append(out, "another server looks after fleet "+f+", which may have machines on it")
	}
	return out
}

// FenceOff asks for a host to be turned off, or what that would mean. It takes as long as the controllers do.
func (c *Client) FenceOff(ctx context.Context, q FenceOffRequest) (FenceOff, error) {
	return post[FenceOff](ctx, c, tried("/v1/fences/off", q.DryRun), q)
}
