package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/provider"
	"hale/internal/provider/simulated"
)

// deaf lists for a minute, whatever its context says.
type deaf struct {
	provider.Provider
	is *atomic.Bool
}

func (d deaf) List(ctx context.Context) (provider.Listing, error) {
	if d.is.Load() {
		<-time.After(time.Minute)
	}
	return d.Provider.List(ctx)
}

// A provider is named when its call does not return as hale ends: who started it may not wait for that.
func TestWhatDoesNotEndIsNamed(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		var log bytes.Buffer
		var is atomic.Bool
		s.log = slog.New(slog.NewTextHandler(&log, nil))
		s.adapter = func(p provider.Provider) provider.Provider { return deaf{p, &is} }
		s.grown()
		s.kill()
		if strings.Contains(log.String(), "does not end") {
			t.Errorf("what ended at once is complained of: %s", log.String())
		}
		s.start()
		s.await(time.Minute, "the fleet is looked after", s.allHealthy)
		is.Store(true)
		s.pass(10 * time.Second) // a listing is under way
		s.kill()
		if want := "part=provider of=" + string(s.spec.Provider); !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log: %s", want, log.String())
		}
	})
}
