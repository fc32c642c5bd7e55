package notification

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/secret"
	lying "hale/internal/testbed/rabbit"
)

// complaints are what a listener wrote into its log.
type complaints struct {
	mu   sync.Mutex
	text strings.Builder
}

func (c *complaints) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *complaints) have(what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(c.text.String(), what)
}

// Whatever a broker sends, hale goes on, says what was wrong with it, and comes back.
func TestALyingBrokerIsLeftAndToldOf(t *testing.T) {
	t.Parallel()
	const more, unasked, not = "more than the", "an unexpected method", "message is malformed"
	says := map[string]string{
		"a notification of more bytes than there are": more, "a frame of four thousand million bytes": more,
		"a greeting of two thousand million bytes": more, "tables in tables": more,
		"more notifications than were asked for":   "than hale asked for",
		"a value of less than no bytes":            not,
		"properties of two thousand million bytes": "notification are malformed",
		"a body without a notification":            "out of order",
		"answers to no request":                    unasked,
		"rubbish in place of a greeting":           "does not speak AMQP",
	}
	for _, lie := range lying.Lies() {
		t.Run(lie.Name, func(t *testing.T) {
			t.Parallel()
			liar, said := lying.StartLiar(t, lie), &complaints{}
			stop := attend(t, liar, said)
			deadline, look := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
			defer look.Stop()
			for want := says[lie.Name]; liar.Told() == 0 || want != "" && !said.have(want); {
				select {
				case <-look.C:
				case <-deadline:
					t.Fatalf("it is not said: %q but %s", want, said.text.String())
				}
			}
			stop()
		})
	}
}

// attend lets a listener listen to the liar. It must end soon after stop is called, whatever the liar does.
func attend(t *testing.T, liar *lying.Liar, said *complaints) (stop func()) {
	t.Helper()
	broker, err := ParseBroker(liar.Address)
	if err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, err := secret.File(password)
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Options{Name: "cloud", Brokers: []Broker{broker}, User: "hale", Password: kept,
		Heartbeat: time.Minute, Logger: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Listen(ctx, func(Notice) {}) }()
	return func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("it does not end")
		}
	}
}
