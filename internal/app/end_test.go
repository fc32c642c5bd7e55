package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A part that does not end, for instance an adapter with a call that never returns, does not keep hale from ending.
func TestWhatDoesNotEndIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		never := make(chan struct{})
		defer close(never)
		began := time.Now()
		err := endsSoon(ctx, slog.New(slog.NewTextHandler(&log, nil)), func(context.Context) error {
			<-never
			return nil
		})
		if took := time.Since(began) - time.Hour; err != nil || took != endWithin {
			t.Errorf("it ended %v after it was told to, with %v; want %v", took, err, endWithin)
		}
		if !strings.Contains(log.String(), "as after a crash") {
			t.Errorf("the log does not say so: %s", log.String())
		}
	})
}

func TestWhatEndsInTimeIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		want := errors.New("the disk is full")
		err := endsSoon(ctx, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(endWithin - 1)
			return want
		})
		if !errors.Is(err, want) {
			t.Errorf("it ended with %v, want %v", err, want)
		}
	})
}
