package api

import (
	"context"
	"net/url"
	"time"
)

// Rollout is how another template goes through a fleet, and which machines differ from the one in force.
type Rollout struct {
	Fleet string    `json:"fleet"`
	Now   time.Time `json:"now"`
	// State says how it stands.
	State string `json:"state" enum:"none,proving,goes-on,paused,stopped,undoing,mending"`
	// By is who had it begin, and Order the order.
	By    string `json:"by,omitempty"`
	Order string `json:"order,omitempty"`
	// Machines are those that stay in the fleet: Done of them are as it wants them, Under are being changed, and Left
	// are not begun. Healthy of those that are done are.
	Machines int `json:"machines"`
	Done     int `json:"done"`
	Under    int `json:"under"`
	Left     int `json:"left"`
	Healthy  int `json:"healthy"`
	// Why no further machine begins now, or none at all; Until is when that is over, where it is a matter of time.
	Why   Reason    `json:"why,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Metric is the one that it goes by: its newest value, where there is one, and its bound.
	Metric string   `json:"metric,omitempty"`
	Value  *float64 `json:"value,omitempty"`
	Bound  *float64 `json:"bound,omitempty"`
	// Drifts are the machines that differ from the template in force.
	Drifts []Drift `json:"drifts"`
	// Said is how it stands, in sentences, and Person what a person can do.
	Said   []string `json:"said"`
	Person []string `json:"person"`
}

// Where a rollout stands (Rollout.State).
const (
	RolloutNone    = "none"
	RolloutProving = "proving" // the first machines of it are tried
	RolloutGoesOn  = "goes-on"
	RolloutPaused  = "paused" // by a person
	RolloutStopped = "stopped"
	RolloutUndoing = "undoing" // what was changed goes back
	RolloutMending = "mending" // what differs from the template in force is built anew
)

// Drift is a machine that differs from the template in force.
type Drift struct {
	Machine  string `json:"machine"`
	Instance string `json:"instance"`
	// Template says that it was built from another one.
	Template bool `json:"template,omitempty"`
	// Facts are what the provider shows to be otherwise.
	Facts []Fact `json:"facts,omitempty"`
	Text  string `json:"text"`
}

// Fact is one thing that is otherwise than the template says.
type Fact struct {
	Key    string `json:"key"`
	Is     string `json:"is"`
	Wanted string `json:"wanted"`
}

// FleetRollout returns how another template goes through a fleet.
func (c *Client) FleetRollout(ctx context.Context, name string) (Rollout, error) {
	return get[Rollout](ctx, c, "/v1/fleets/"+url.PathEscape(name)+"/rollout")
}
