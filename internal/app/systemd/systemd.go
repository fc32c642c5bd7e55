// Package systemd tells systemd that hale is up, that it lives, and that it ends.
package systemd

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"hale/internal/core/fleet"
	"hale/internal/defect"
)

// reported is how long an owner may be at one turn before the watchdog is not fed any more, as a share of the
// watchdog's time: what is left is enough for systemd to notice.
const reported = 2

// Supervised tells systemd what sd_notify(3) describes: that hale is up, that it lives, and that it ends. Without
// systemd it does nothing.
type Supervised struct {
	// tell sends a state.
	tell func(state string) error
	// watchdog is how long systemd waits for a sign of life; 0: it does not wait for any.
	watchdog time.Duration
	// Ends reports, once the work has ended, whether hale ends with it; nil: it does. A server that is not the active
	// one any more goes on.
	Ends func() bool
	// stuck names a fleet in which nothing is decided for longer than that.
	stuck func(longerThan time.Duration) (fleet.Name, bool)
	log   *slog.Logger
}

// By is how systemd, if any, wants to be told. Stuck names a fleet in which nothing is decided for longer than a time.
func By(stuck func(time.Duration) (fleet.Name, bool), log *slog.Logger) Supervised {
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is not fed", "err", err)
	}
	tell := func(state string) error {
		_, err := daemon.SdNotify(false, state)
		return err
	}
	return Supervised{tell: tell, watchdog: watchdog, stuck: stuck, log: log}
}

// Lives says that a server that stands by is up, and lives, until ctx ends. It returns at once.
func Lives(ctx context.Context, log *slog.Logger) {
	s := By(func(time.Duration) (fleet.Name, bool) { return "", false }, log)
	s.say(daemon.SdNotifyReady)
	if s.watchdog > 0 {
		go func() { // ends with ctx
			_ = defect.Try(func() error { s.feed(ctx); return nil }) // if it panics, systemd starts hale again
		}()
	}
}

// Run says that hale is up, and that it lives until ctx ends; then, that it ends.
func (s Supervised) Run(ctx context.Context) {
	s.say(daemon.SdNotifyReady)
	defer func() {
		if s.Ends == nil || s.Ends() {
			s.say(daemon.SdNotifyStopping)
		}
	}()
	if s.watchdog <= 0 {
		<-ctx.Done()
		return
	}
	s.feed(ctx)
}

// feed feeds the watchdog until ctx ends.
func (s Supervised) feed(ctx context.Context) {
	beat := time.NewTicker(s.watchdog / 4)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		if name, stuck := s.stuck(s.watchdog / reported); stuck {
			s.log.Error("a fleet is not looked after: systemd is not told that hale lives, and will start it again",
				"fleet", name)
			continue
		}
		s.say(daemon.SdNotifyWatchdog)
	}
}

func (s Supervised) say(state string) {
	if err := s.tell(state); err != nil {
		s.log.Warn("systemd was not told", "state", state, "err", err)
	}
}
