package e2e

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/testbed/lab"
)

const (
	envSeed = "E2E_SEED" // reproduces a run's choices
	envHale = "E2E_HALE" // a built hale; set by the first pass through TestMain otherwise
	envOwn  = "E2E_OWN"  // the folder that the first pass built it in, to be removed at the end
)

// TestMain builds hale while the machine's network is still there, and runs the tests in a network of their own, which
// is a second pass of this program.
func TestMain(m *testing.M) {
	lab.RunIfChild()
	lab.Main(&suite{tests: m, broken: provideHale()})
}

// suite is the tests with a beginning and an end.
type suite struct {
	tests  interface{ Run() int }
	broken error
}

// Run runs the tests and sums up.
func (s *suite) Run() int {
	if s.broken != nil {
		fmt.Fprintln(os.Stderr, "e2e:", s.broken)
		return 1
	}
	if dir, ok := os.LookupEnv(envOwn); ok {
		defer os.RemoveAll(dir)
	}
	if err := run.plant(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	begin := time.Now()
	code := s.tests.Run()
	fmt.Fprintln(os.Stdout, run.summary(time.Since(begin)))
	return code
}

// rounds is how often something is done: as often as the environment says, or else what there is time for in a run of
// the suite.
func rounds(t *testing.T, env string, usual int) int {
	t.Helper()
	text := os.Getenv(env)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is no number of rounds", env, text)
	}
	return n
}

// provideHale builds hale, unless there is one.
func provideHale() error {
	if path := os.Getenv(envHale); path != "" {
		abs, err := filepath.Abs(path)
		return errors.Join(err, os.Setenv(envHale, abs))
	}
	dir, err := os.MkdirTemp("", "hale-e2e-")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	path := filepath.Join(dir, "hale")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", path,
		"hale/cmd/hale")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("build hale: %w\n%s", err, out), os.RemoveAll(dir))
	}
	return errors.Join(os.Setenv(envHale, path), os.Setenv(envOwn, dir))
}

// run is what this run of the suite chose and counted.
var run tally

type tally struct {
	seed uint64

	mu      sync.Mutex
	scenes  int
	retries []string
}

// plant sets the seed, and says it, so that it is known whatever happens.
func (r *tally) plant() error {
	r.seed = uint64(time.Now().UnixNano()) % 1_000_000
	if text := os.Getenv(envSeed); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", envSeed, err)
		}
		r.seed = seed
	}
	fmt.Fprintf(os.Stdout, "e2e: seed %d\n", r.seed)
	return nil
}

// dice returns a test's own source of choices.
func (r *tally) dice(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name)) // hash.Hash never fails to write
	return rand.New(rand.NewPCG(r.seed, h.Sum64()))
}

func (r *tally) scene() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scenes++
}

// again counts a scene that must be played again.
func (r *tally) again(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retries = append(r.retries, why)
}

func (r *tally) summary(took time.Duration) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("e2e: %d scenes, seed %d, %d retries, %.0f s", r.scenes, r.seed, len(r.retries), took.Seconds())
	if len(r.retries) > 0 {
		line += " (" + strings.Join(r.retries, "; ") + ")"
	}
	return line
}
