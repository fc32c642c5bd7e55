package doorway_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/doorway"
)

// A server goes where it is sent, stays where it is, tries again where it cannot, and at once when it is told to.
func TestAServerMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var went []string
		var failed int
		m := doorway.NewMoving[string]()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.Run(ctx, func(ctx context.Context, at string) error {
				went = append(went, at)
				if at == "taken" {
					return errors.New("address already in use")
				}
				<-ctx.Done()
				return nil
			}, func(error) { failed++ })
		}()
		to := func(place string, then time.Duration) {
			m.To(place)
			time.Sleep(then)
			synctest.Wait()
		}
		to("a", 0)
		to("a", time.Minute)
		to("taken", 5*time.Second) // tried at 0, 2 and 4 s
		to("taken", 0)
		to("b", time.Minute)
		end()
		<-ended
		want := []string{"a", "taken", "taken", "taken", "taken", "b"}
		if went[0] == "" {
			went = went[1:] // it began before it was sent anywhere
		}
		if !slices.Equal(went, want) || failed != 4 {
			t.Errorf("it went to %q, and failed %d times", went, failed)
		}
	})
}
