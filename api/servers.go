package api

import (
	"context"
	"time"
)

// Servers are those that share the state.
type Servers struct {
	Active     SharingServer   `json:"active" doc:"The one that looks after the fleets."`
	Standby    []SharingServer `json:"standby" doc:"Those that wait to follow it."`
	Satellites []Eye           `json:"satellites" doc:"Probes in other networks."`
}

// SharingServer is one of them.
type SharingServer struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Since   time.Time `json:"since" doc:"Since when it is the active one, or stands by."`
	Unfit   string    `json:"unfit,omitempty" doc:"Why it does not follow by itself."`
	Eye     *Eye      `json:"eye,omitempty" doc:"It as a vantage beside the active one; missing: it is none."`
}

// Eye is a vantage beside the active server.
type Eye struct {
	Name    string    `json:"name"`
	Since   time.Time `json:"since,omitzero" doc:"Since when it reports; missing: it never did."`
	Heard   time.Time `json:"heard" doc:"When it reported last, or was first waited for."`
	Targets int       `json:"targets" doc:"How many it looks at: checks of machines."`
	Silent  bool      `json:"silent,omitempty" doc:"It has been silent for so long that it has no vote."`
	Unfit   string    `json:"unfit,omitempty" doc:"Why it has no vote, whatever it says."`
}

// Servers returns them.
func (c *Client) Servers(ctx context.Context) (Servers, error) {
	return get[Servers](ctx, c, "/v1/servers")
}
