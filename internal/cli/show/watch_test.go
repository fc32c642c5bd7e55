package show

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
)

// answers gives one answer after the other, and the last one for ever.
type answers struct {
	list []func() (api.Status, error)
	n    int
}

func (a *answers) ask(context.Context) (api.Status, error) {
	i := min(a.n, len(a.list)-1)
	a.n++
	return a.list[i]()
}

func healthy(n int) func() (api.Status, error) {
	return func() (api.Status, error) {
		f := api.Fleet{
			Name: "web", Size: 2, Healthy: n, Acting: true,
			Provider: api.Provider{Name: "lab", Standing: "up", Since: time.Now()},
		}
		return api.Status{Now: time.Now(), Fleets: []api.Fleet{f}}, nil
	}
}

func absent() (api.Status, error) {
	return api.Status{}, api.NotRunning{Socket: "s", Err: errors.New("connection refused")}
}

// watchFor shows the answers for as long in a bubble, and returns what was written.
func watchFor(t *testing.T, d time.Duration, s paper.Screen, list ...func() (api.Status, error)) (string, error) {
	t.Helper()
	var out bytes.Buffer
	var err error
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		s.Out = &out
		if s.Size == nil {
			s.Size = func() (int, int) { return 0, 0 }
		}
		err = (&statusView{Screen: s, ask: (&answers{list: list}).ask}).watch(ctx)
	})
	return out.String(), err
}

// A controller that ends answers with what it saw last, which is not how things stand.
func TestWhatAStoppingControllerAnswersIsNoGoodNews(t *testing.T) {
	t.Parallel()
	for name, asJSON := range map[string]bool{"hale is stopping": false, `"stopping": true`: true} {
		var out bytes.Buffer
		v := &statusView{Screen: paper.Screen{Out: &out, Size: func() (int, int) { return 0, 0 }}, json: asJSON,
			ask: func(context.Context) (api.Status, error) {
				s, err := healthy(2)()
				s.Stopping = true
				return s, err
			}}
		err := v.once(t.Context())
		if code := command.ExitCode(err); code != command.ExitNotRunning {
			t.Errorf("hale status (JSON: %v) ends with %d, want %d", asJSON, code, command.ExitNotRunning)
		}
		if !strings.Contains(out.String(), name) {
			t.Errorf("%q is not in\n%s", name, out.String())
		}
	}
}

func TestWatchInAPipePrintsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	out, err := watchFor(t, 10500*time.Millisecond, paper.Screen{}, healthy(1), healthy(1), healthy(2), absent,
		absent, healthy(2))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, line := range strings.Split(out, "\n") {
		if !strings.HasPrefix(line, "---") && line != "" {
			told = append(told, line[:min(len(line), 16)])
		}
	}
	want := "web: 1 of 2 heal|web: 2 of 2 heal|hale: no hale co|web: 2 of 2 heal"
	if got := strings.Join(told, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("a pipe got the terminal's language: %q", out)
	}
}

func TestWatchOnATerminalRedrawsInPlace(t *testing.T) {
	t.Parallel()
	live := paper.Screen{Live: true, Size: func() (int, int) { return 40, 10 }}
	out, err := watchFor(t, 2500*time.Millisecond, live, healthy(1), healthy(1), absent)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out, paper.EnterLive) || !strings.HasSuffix(out, paper.LeaveLive) {
		t.Errorf("the terminal is not left as it was: %q", out)
	}
	if n := strings.Count(out, paper.BeginFrame); n != 3 {
		t.Errorf("%d frames in 2.5 s, want 3", n)
	}
	if strings.Contains(out, "\x1b[2J") {
		t.Error("the screen is wiped: it flickers")
	}
	if frames := strings.Split(
		out,
		paper.BeginFrame,
	); !strings.Contains(
		frames[3],
		"As of 1s ago: connection refused",
	) ||
		!strings.Contains(frames[3], "web: 1 of 2") {
		t.Errorf("without a controller the last picture is not kept: %q", frames[3])
	}
}

func TestAFrameIsNoLongerThanTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := paper.Screen{Out: &out, Live: true, Size: func() (int, int) { return 80, 4 }}
	s.Frame([]string{"a", "b", "c", "d", "e"})
	if n := strings.Count(out.String(), paper.EndOfLine); n != 3 {
		t.Errorf("%d lines on a terminal of 4: %q", n, out.String())
	}
}

func TestWatchWantsAControllerToBeginWith(t *testing.T) {
	t.Parallel()
	_, err := watchFor(t, time.Minute, paper.Screen{}, absent)
	if command.ExitCode(err) != command.ExitNotRunning {
		t.Errorf("got %v", err)
	}
}
