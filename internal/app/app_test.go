package app_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hale/api"
	"hale/internal/adapters"
	"hale/internal/app"
	"hale/internal/config"
	"hale/internal/core/fault"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// TestMain finds goroutines that outlive the controllers. For half a second after a server was closed, net/http may
// still keep a connection on which it refused the rest of a body.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

const quick = `
providers: {lab: {type: simulated, boot: 100ms, poll: 500ms}}
fleets:
  web:
    provider: lab
    size: 2
    checks: {page: {http: {}, every: 200ms, timeout: 100ms, down_after: 2, up_after: 1}}
`

// patience is the longest that a test waits for anything.
const patience = 60 * time.Second

// house is a data folder with its configuration.
type house struct {
	t      *testing.T
	config *config.Config
	dir    string
	socket string
}

func newHouse(t *testing.T, text string) *house {
	t.Helper()
	c, err := config.Parse("hale.yaml", []byte(text), adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &house{t: t, config: c, dir: filepath.Join(dir, "data"), socket: filepath.Join(dir, "s")}
}

func (h *house) options() app.Options {
	return app.Options{
		Version: "test", Config: h.config, DataDir: h.dir, Socket: h.socket, Logger: slog.New(slog.DiscardHandler),
	}
}

// run starts a controller; stop ends it and waits.
func (h *house) run() (stop func()) {
	h.t.Helper()
	return h.runs(h.options())
}

// runs is run with options of one's own.
func (h *house) runs(o app.Options) (stop func()) {
	h.t.Helper()
	a, err := app.New(o)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			h.t.Errorf("the controller did not end well: %v", err)
		}
	}
	h.t.Cleanup(stop)
	return stop
}

// client asks the controller on the socket.
func (h *house) client(socket string) *api.Client {
	h.t.Helper()
	c := api.Dial(socket)
	h.t.Cleanup(c.Close)
	return c
}

// await polls the status until the fleet, of several the last one, is as wanted.
func (h *house) await(what string, wanted func(api.Fleet) bool) api.Fleet {
	h.t.Helper()
	client := api.Dial(h.socket)
	defer client.Close()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := client.Status(ctx)
		if n := len(h.config.Fleets); err == nil && len(s.Fleets) == n && wanted(s.Fleets[n-1]) {
			return s.Fleets[n-1]
		}
		select {
		case <-ctx.Done():
			h.t.Fatalf("%s: never; last seen: %+v, %v", what, s, err)
		case <-tick.C:
		}
	}
}

func allWell(f api.Fleet) bool {
	certified := 0
	for _, m := range f.Machines {
		if m.Certified && m.Repair == nil {
			certified++
		}
	}
	return f.Healthy == f.Size && certified == f.Size
}

func instances(f api.Fleet) []string {
	var ids []string
	for _, m := range f.Machines {
		ids = append(ids, m.Instance)
	}
	return ids
}

func TestAFleetIsBuiltAndFoundAgainAfterARestart(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	stop := h.run()
	first := h.await("built", allWell)
	stop()
	if _, err := os.Stat(h.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a socket was left: %v", err)
	}
	h.run()
	again := h.await("found again", allWell)
	if diff := cmp.Diff(instances(first), instances(again)); diff != "" {
		t.Errorf("the machines are other ones after the restart: %s", diff)
	}
}

func TestASecondControllerIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	h.run()
	h.await("built", allWell)
	for name, o := range map[string]app.Options{
		"on the same data folder": func() app.Options { o := h.options(); o.Socket += "2"; return o }(),
		"on the same socket":      func() app.Options { o := h.options(); o.DataDir += "2"; return o }(),
	} {
		a, err := app.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Run(t.Context()); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	h.await("the first one goes on", allWell)
}

func TestWhatIsMissingIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	if _, err := app.New(app.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
}
