package eyes

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"

	"hale/internal/app/outpost"
	"hale/internal/core/fault"
	"hale/internal/state/active"
)

// Looker is this server as a vantage of the active one, while it stands by.
type Looker struct {
	Name    string
	Version string
	Logger  *slog.Logger
	// Ours is how TLS is spoken with servers of hale's own cluster; nil: this server is in none.
	Ours func() *tls.Config
}

// Look looks for the active server, which takes reports there, until ctx ends. An error says that it cannot.
func (l Looker) Look(ctx context.Context, at active.Hearing, token active.Token) error {
	var secure *tls.Config
	switch {
	case at.Certificate != "":
		secure = Pinned(at.Certificate)
	case l.Ours != nil:
		secure = l.Ours()
	default:
		return fault.New(fault.Invalid, "eyes.look", at.At, errors.New("nothing says how it is known"))
	}
	return outpost.Probe(ctx, outpost.Report{To: []string{"https://" + at.At}, Name: l.Name, Version: l.Version,
		Token: func(context.Context) (string, error) { return string(token), nil }, TLS: secure, Logger: l.Logger})
}
