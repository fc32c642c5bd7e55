// Package access says who calls hale's API and what that caller may do: roles over fleets, and nothing finer.
//
// It promises that a caller who cannot be told has no grant, and so may do nothing.
package access

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
)

// Role is how much a caller may do in a fleet. A greater one may do all that a lesser one may.
type Role int

// The roles.
const (
	None     Role = iota
	Viewer        // reads what monitoring shows, and nothing that guests wrote
	Holder        // places holds with names for a while, and ends its own: for tools that change what runs
	Operator      // gives orders: hold, heal, brake, and the like
	Admin         // everything: evidence, backups, fences, configuration, tokens
)

var roleNames = []string{None: "none", Viewer: "viewer", Holder: "holder", Operator: "operator", Admin: "admin"}

// String implements fmt.Stringer.
func (r Role) String() string {
	if r < None || r > Admin {
		return "none"
	}
	return roleNames[r]
}

// MarshalText implements encoding.TextMarshaler.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. There is no role but those that have a name.
func (r *Role) UnmarshalText(text []byte) error {
	var err error
	*r, err = ParseRole(string(text))
	return err
}

// LongestQuiet is how long a hold lasts at most that a Holder places. It may place it anew.
const LongestQuiet = 4 * time.Hour

// ParseRole reads viewer, holder, operator or admin.
func ParseRole(text string) (Role, error) {
	if i := slices.Index(roleNames, text); i > int(None) {
		return Role(i), nil
	}
	return None, fmt.Errorf("there is no role %q; the roles are viewer, holder, operator and admin", text)
}

// Grant is a role in some fleets.
type Grant struct {
	Role   Role
	Fleets []fleet.Name `json:",omitempty"` // empty: all, and what belongs to no fleet
}

// Kind is by what a caller is known.
type Kind string

// The kinds of caller.
const (
	BySocket      Kind = "socket"      // a user of this machine, as the kernel says
	ByToken       Kind = "token"       // who has one of hale's tokens
	ByOpenID      Kind = "openid"      // a person, as an OpenID provider says
	ByCertificate Kind = "certificate" // a machine, as its client certificate says
)

// Principal is a caller. The zero Principal may do nothing.
type Principal struct {
	Kind   Kind
	Name   string // as records and pages say it
	ID     string // what stays the same when the name changes: uid, token id, subject, SAN URI
	From   string // the address that it calls from; empty: this machine
	Grants []Grant
	// Persons are those who may be behind it: who it is by any of its names, and of a token also who made it. Of two
	// callers that are to be two people, none may be behind both.
	Persons []string
}

// May reports whether the principal has the role, or a greater one, in the fleet. An empty fleet stands for what
// belongs to none: only a grant over all fleets covers that.
func (p Principal) May(r Role, of fleet.Name) bool {
	return r > None && slices.ContainsFunc(p.Grants, func(g Grant) bool {
		return g.Role >= r && (len(g.Fleets) == 0 || of != "" && slices.Contains(g.Fleets, of))
	})
}

// MayAnywhere reports whether the principal has the role, or a greater one, in any fleet.
func (p Principal) MayAnywhere(r Role) bool {
	return r > None && slices.ContainsFunc(p.Grants, func(g Grant) bool { return g.Role >= r })
}

// Covers reports whether the principal has the role of the grant, or a greater one, wherever the grant has it: only
// that may it give to others.
func (p Principal) Covers(g Grant) bool {
	if len(g.Fleets) == 0 {
		return p.May(g.Role, "")
	}
	return !slices.ContainsFunc(g.Fleets, func(f fleet.Name) bool { return !p.May(g.Role, f) })
}

// Apart reports whether the two are surely two people. Upper and lower case make no two.
func (p Principal) Apart(q Principal) bool {
	if len(p.Persons) == 0 || len(q.Persons) == 0 {
		return false
	}
	return !slices.ContainsFunc(p.Persons, func(a string) bool {
		return slices.ContainsFunc(q.Persons, func(b string) bool { return strings.EqualFold(a, b) })
	})
}

// Risk is a kind of act that the configuration can have two people agree to.
type Risk string

// The kinds.
const (
	RiskFence    Risk = "fence"     // a host's power is cut
	RiskDelete   Risk = "delete"    // a machine is removed
	RiskConfirm  Risk = "confirm"   // a plan that destroys is carried out
	RiskBrakeOff Risk = "brake-off" // repairs may begin that the brake holds
)

// Risks returns all kinds.
func Risks() []Risk { return []Risk{RiskFence, RiskDelete, RiskConfirm, RiskBrakeOff} }

type principalKey struct{}

// With returns a context that carries the caller of a request.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// Of returns the caller of a request; the zero Principal where none is known.
func Of(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
