package api

import (
	"context"
	"time"
)

// Servers are those that share the state.
type Servers struct {
	Active  SharingServer   `json:"active" doc:"The one that looks after the fleets."`
	Standby []SharingServer `json:"standby" doc:"Those that wait to follow it."`
}

// SharingServer is one of them.
type SharingServer struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Since   time.Time `json:"since" doc:"Since when it is the active one, or stands by."`
	Unfit   string    `json:"unfit,omitempty" doc:"Why it does not follow by itself."`
}

// Servers returns them.
func (c *Client) Servers(ctx context.Context) (Servers, error) {
	return get[Servers](ctx, c, "/v1/servers")
}
