package standby

import (
	"context"
	"time"

	"hale/internal/defect"
	"hale/internal/state/active"
)

// gaze is this server's looking at machines for the active one. It may fail, which costs a vote.
type gaze struct {
	*one
	of    gazed
	stop  context.CancelFunc // nil: it looks for none
	ended chan error
}

// gazed is which server it looks for, and where that takes reports.
type gazed struct {
	process string
	at      active.Hearing
}

// endsLooking is how long this server waits for its probes to end before it becomes the active one regardless.
const endsLooking = time.Second

// listedWithin is the pause before the first report: the active server refuses it until it knows that this one stands
// by.
const listedWithin = 500 * time.Millisecond

// follow has it look for this server, which is the active one.
func (g *gaze) follow(ctx context.Context, is active.Server) {
	next := gazed{is.Process, is.Hears}
	if g.stop != nil && g.of == next {
		select {
		case err := <-g.ended:
			g.Logger.Warn("this server does not look at machines while it stands by, and tries again", "err", err)
			g.ended <- nil
		default:
			return
		}
	}
	g.end()
	if g.Look == nil || next.at == (active.Hearing{}) {
		return
	}
	looking, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	g.of, g.stop, g.ended = next, stop, ended
	go func() { // ends with looking
		ended <- defect.Try(func() error {
			select {
			case <-looking.Done():
				return nil
			case <-time.After(listedWithin):
			}
			return g.Look(looking, next.at, g.token)
		})
	}()
}

// end stops the looking, and waits for it for a second.
func (g *gaze) end() {
	if g.stop == nil {
		return
	}
	g.stop()
	select {
	case err := <-g.ended:
		if err != nil {
			g.Logger.Warn("this server did not look at machines while it stood by", "err", err)
		}
	case <-time.After(endsLooking):
		g.Logger.Warn("this server's probes take long to end; it does not wait for them")
	}
	g.stop = nil
}
