package hooks

import (
	"time"

	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Approve is what the file says of how a person is asked before a step of the ladder.
type Approve struct {
	within    keys.At[time.Duration]
	otherwise keys.At[policy.Unapproved]
}

// ApproveShape is what is written of that.
func ApproveShape() keys.Object[Approve] {
	return keys.Object[Approve]{Fields: []keys.Field[Approve]{
		keys.Must("within", "15m", "How long the step waits for a word. The time begins anew when hale is started.",
			keys.Duration(time.Second, 7*24*time.Hour), func(a *Approve) *keys.At[time.Duration] { return &a.within }),
		keys.Or("otherwise", policy.UnapprovedHold, "What follows without one. `hold`: the machine is left to a "+
			"person. `go-on`: the step is done.", keys.Choice(nil, policy.UnapprovedHold, policy.UnapprovedGoOn),
			func(a *Approve) *keys.At[policy.Unapproved] { return &a.otherwise }),
	}}
}

// Approval returns how a person is asked; the zero value: not at all.
func Approval(d keys.At[Approve]) policy.Approval {
	if !d.Given() {
		return policy.Approval{}
	}
	return policy.Approval{Within: d.Value.within.Value, Otherwise: d.Value.otherwise.Value}
}
