package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/secret"
)

// listener remembers the user data of what is built.
type listener struct {
	*simulated.Provider
	mu    sync.Mutex
	heard map[fleet.MachineName]string
}

func (l *listener) Create(ctx context.Context, o provider.Blueprint) error {
	l.mu.Lock()
	l.heard[o.Mark.Machine] = o.Template.UserData
	l.mu.Unlock()
	return l.Provider.Create(ctx, o)
}

// TestEachMachineIsGivenItsOwnToken: in its user data and nowhere else (L14); and nothing is built while the secret
// that they are derived from cannot be read.
func TestEachMachineIsGivenItsOwnToken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "beat")
	spec := web(3)
	spec.Template.UserData = "TOKEN={heartbeat.beat} {heartbeat.other}"
	spec.Checks = append(spec.Checks, policy.Check{
		Name: "beat", Kind: policy.CheckHeartbeat, Every: 30 * time.Second, Timeout: 10 * time.Second, DownAfter: 3,
		UpAfter:   1,
		Heartbeat: policy.HeartbeatCheck{Token: fleet.Secret{File: file}, PerMachine: true},
	})
	tell(t, simulated.Options{}, spec, func(s *story) {
		l := &listener{heard: map[fleet.MachineName]string{}}
		s.adapter = func(p provider.Provider) provider.Provider {
			l.Provider = p.(*simulated.Provider)
			return l
		}
		s.start()
		s.pass(10 * time.Minute)
		if len(l.heard) != 0 {
			t.Errorf("without the secret it is built: %q", l.heard)
		}
		if err := os.WriteFile(file, []byte("of-the-fleet\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.await(30*time.Minute, "the fleet stands", s.allHealthy)
		l.mu.Lock()
		defer l.mu.Unlock()
		for n := 1; n <= 3; n++ {
			machine := spec.Name.Machine(n)
			token := secret.Derived("of-the-fleet", "web/"+string(machine)+"/beat")
			if got, want := l.heard[machine], "TOKEN="+token+" {heartbeat.other}"; got != want {
				t.Errorf("%s is given %q, want %q", machine, got, want)
			}
			entries, _, err := s.store().List(s.t.Context(), "")
			if err != nil || len(entries) == 0 {
				t.Fatalf("the store cannot be read: %v", err)
			}
			for _, e := range entries {
				if strings.Contains(string(e.Value), token) {
					t.Errorf("the token of %s is in the store, at %s", machine, e.Key)
				}
			}
		}
	})
}
