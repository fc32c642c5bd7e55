package fencing

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/fence/command"
	"hale/internal/kinds"
	"hale/internal/program/programtest"
)

// ports is a program that cuts hosts, and knows which ones it cut as files.
type ports struct{ folder string }

func newPorts(t *testing.T) ports {
	t.Helper()
	p := ports{t.TempDir()}
	p.write(t, "ports", `#!/bin/sh
cd "$(dirname "$0")" || exit 9
[ -e broken ] && exit 9
case $HALE_ACTION in
status) [ -e "cut-$HALE_HOST" ] && exit 4; exit 0;;
cut) touch "cut-$HALE_HOST";;
uncut) rm -f "cut-$HALE_HOST";;
*) exit 2;;
esac
`)
	return p
}

func (p ports) write(t *testing.T, name, text string) {
	t.Helper()
	if err := programtest.Write(filepath.Join(p.folder, name), text); err != nil {
		t.Fatal(err)
	}
}

func (p ports) cut(t *testing.T, host string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(p.folder, "cut-"+host))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// fencing is that of two hosts that the program can cut. One also has a power controller that does not answer.
func (p ports) fencing() fencer {
	c := &config.Config{
		Providers: []config.Provider{
			{Name: "lab", Hosts: []kinds.Host{
				{Name: "h1", Fence: []string{"power", "ports"}},
				{Name: "h2", Fence: []string{"ports"}},
			}},
		},
		Fences: []config.Fence{
			{Name: "ports", Attempts: 2, Timeout: 10 * time.Second, Settle: 10 * time.Millisecond, Test: time.Hour,
				Settings: command.CutSettings{Of: kinds.AccessBoth, Settings: command.Settings{
					Options: command.Options{Command: []string{filepath.Join(p.folder, "ports")}, Cut: true},
				}}},
			{Name: "power", Attempts: 1, Timeout: 10 * time.Second, Settle: 10 * time.Millisecond, Test: time.Hour,
				Settings: command.Settings{Options: command.Options{Command: []string{"/nonexistent"}}}},
		},
	}
	return fencer{New(c, slog.New(slog.DiscardHandler), defect.NewRegister(slog.New(slog.DiscardHandler))),
		"lab"}
}

// The tries that only cut access come after those that cut power, say what they prove, and are heard of at once.
func TestAHostIsCutAfterItsPowerCouldNotBe(t *testing.T) {
	t.Parallel()
	p := newPorts(t)
	f := p.fencing()
	if m := f.Means("h1", nil); m.Tries != 1 || m.Cuts != 2 || m.Limit != 10*time.Second {
		t.Fatalf("%+v", m)
	}
	if a, _ := f.Access("h1"); a != fleet.AccessUnknown {
		t.Errorf("before anybody was asked it is %q", a)
	}
	if _, err := f.Fence(t.Context(), "h1", 1); err == nil || p.cut(t, "h1") {
		t.Errorf("the power controller does not exist, and it is cut: %t, %v", p.cut(t, "h1"), err)
	}
	began := time.Now()
	done, err := f.Fence(t.Context(), "h1", 2)
	if err != nil || done.Proof != fleet.ProofAccessCut || done.Already || !p.cut(t, "h1") || p.cut(t, "h2") {
		t.Errorf("%+v, %v", done, err)
	}
	if a, at := f.Access("h1"); a != fleet.AccessCut || at.Before(began) {
		t.Errorf("it is %q at %s", a, at)
	}
	if done, err := f.Fence(t.Context(), "h1", 3); err != nil || !done.Already {
		t.Errorf("once more: %+v, %v", done, err)
	}
	if _, err := f.Fence(t.Context(), "h1", 4); err == nil {
		t.Error("there is no fourth try")
	}
	if tries := f.Off(t.Context(), "lab", "h2"); len(tries) != 0 || p.cut(t, "h2") {
		t.Errorf("turning off is no cutting: %+v", tries)
	}
}

// As long as something rests on it, the host is asked for often; what does not answer is unknown, and neither cut nor
// open.
func TestL1ACutIsWatched(t *testing.T) {
	t.Parallel()
	p := newPorts(t)
	f := p.fencing()
	if _, err := f.Fence(t.Context(), "h2", 1); err != nil {
		t.Fatal(err)
	}
	e := f.host("h2")
	wait := func() time.Duration { return f.due(e, e.methods[0]) }
	if d := wait(); d <= watchEvery || d > cutEvery {
		t.Errorf("it is cut, and asked for again after %s", d)
	}
	f.Watch([]fleet.HostName{"h2"})
	if d := wait(); d > watchEvery {
		t.Errorf("something rests on it, and it is asked for again after %s", d)
	}
	select {
	case <-f.changed:
	default:
		t.Error("Watch does not wake the tests")
	}
	(fencer{f.Fencing, "other"}).Watch(nil)
	if d := wait(); d > watchEvery {
		t.Errorf("another provider watches nothing, and it is asked for again after %s", d)
	}
	p.write(t, "broken", "")
	f.test(t.Context(), e, e.methods[0])
	if a, _ := f.Access("h2"); a != fleet.AccessUnknown {
		t.Errorf("no answer, and the access is %q; want unknown", a)
	}
	if err := os.Remove(filepath.Join(p.folder, "broken")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.folder, "cut-h2")); err != nil { // as a person does
		t.Fatal(err)
	}
	f.test(t.Context(), e, e.methods[0])
	if a, _ := f.Access("h2"); a != fleet.AccessOpen {
		t.Errorf("a person undid the cut, and the access is %q; want open", a)
	}
	f.Watch(nil)
	if d := wait(); d < time.Minute {
		t.Errorf("nothing rests on it, and it is asked for again after %s", d)
	}
}

// A cut is undone when nothing relies on it, and no fencing of the host gets in between.
func TestL1ACutIsUndoneWhenNothingRestsOnIt(t *testing.T) {
	t.Parallel()
	p := newPorts(t)
	f := p.fencing()
	if _, err := f.Fence(t.Context(), "h2", 1); err != nil {
		t.Fatal(err)
	}
	against := []string{"an old instance of web-1 may run there"}
	if tries, got := f.Uncut(t.Context(), "lab", "h2", func() []string { return against }); len(tries) != 0 ||
		!slices.Equal(got, against) || !p.cut(t, "h2") {
		t.Errorf("something rests on it: %+v, %v", tries, got)
	}
	meanwhile := make(chan error, 1)
	tries, got := f.Uncut(t.Context(), "lab", "h2", func() []string {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := f.Fence(ctx, "h2", 1)
		meanwhile <- err
		return nil
	})
	if len(got) != 0 || len(tries) != 1 || !tries[0].OK || tries[0].Already || p.cut(t, "h2") {
		t.Errorf("%+v, %v", tries, got)
	}
	if err := <-meanwhile; err == nil {
		t.Error("it was fenced in the middle of it")
	}
	if a, _ := f.Access("h2"); a != fleet.AccessOpen {
		t.Errorf("it is %q", a)
	}
	if tries, _ := f.Uncut(t.Context(), "lab", "h2", func() []string { return nil }); len(tries) != 1 ||
		!tries[0].Already {
		t.Errorf("once more: %+v", tries)
	}
}

// The fleets seen on a host say how long it is left as it is. When they are unknown, it may be any fleet's.
func TestAHostOfWhatMattersMoreIsFencedLater(t *testing.T) {
	t.Parallel()
	e := fenced{later: map[fleet.Name]time.Duration{"db": 40 * time.Second, "queue": 10 * time.Second}}
	for name, c := range map[string]struct {
		seen []fleet.Name
		want time.Duration
	}{
		"the most important one": {[]fleet.Name{"web", "queue", "db"}, 40 * time.Second},
		"a lesser one":           {[]fleet.Name{"queue"}, 10 * time.Second},
		"one that is not named":  {[]fleet.Name{"web"}, 0},
		"no fleet is there":      {[]fleet.Name{}, 0},
		"it is unknown":          {nil, 40 * time.Second},
	} {
		if got := e.weighs(c.seen); got != c.want {
			t.Errorf("%s: %s, and not %s", name, got, c.want)
		}
	}
}

// Of two who fence one host at once, the second waits for the first, and finds it done; who does not get a turn in time
// did nothing.
func TestWhoFencesAHostTakesTurns(t *testing.T) {
	t.Parallel()
	p := newPorts(t)
	f := p.fencing()
	turn := f.host("h2").turn
	turn <- struct{}{} // another fencing has its turn
	hurried, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if done, err := f.Fence(hurried, "h2", 1); !fault.Is(err, fault.Transient) || p.cut(t, "h2") {
		t.Errorf("out of turn: %+v, %v, cut %t", done, err, p.cut(t, "h2"))
	}
	if tries := f.Off(hurried, "lab", "h2"); tries != nil {
		t.Errorf("out of turn: %+v", tries)
	}
	already := make(chan bool, 2)
	for range cap(already) {
		go func() {
			done, err := f.Fence(t.Context(), "h2", 1)
			if err != nil {
				t.Error(err)
			}
			already <- done.Already
		}()
	}
	<-turn
	if first, second := <-already, <-already; first || !second {
		t.Errorf("the first found it cut: %t, and the second: %t", first, second)
	}
}
