// Package lists writes files that tell other programs which machines there are.
//
// It promises that a reader sees the old list or the new one, never a part; that a file is written only when it
// differs; and that it stays as it is while this server does not look after the fleets in it.
package lists

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hale/api"
	"hale/internal/config"
	"hale/internal/discovery"
	"hale/internal/owner/published"
)

// Options are what all lists have.
type Options struct {
	Fleets func() []published.Fleet
	Log    *slog.Logger
}

// Lists are those of the configuration as it is now.
type Lists struct {
	o Options

	mu      sync.Mutex
	wanted  []config.List
	failing map[string]failure
}

// failure is why a list cannot be written.
type failure struct {
	since time.Time
	why   string
}

// New makes the lists of the configuration. They are written while Run runs.
func New(c *config.Config, o Options) *Lists {
	l := &Lists{o: o, failing: map[string]failure{}}
	l.Take(c)
	return l
}

// Take makes them those of another configuration. A file that is not named any more stays as it is.
func (l *Lists) Take(c *config.Config) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted, l.failing = c.Discovery, map[string]failure{}
}

// Troubles are the lists that cannot be written, in the order of their names. A nil Lists has none.
func (l *Lists) Troubles() []api.Trouble {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []api.Trouble
	for _, w := range l.wanted {
		if s, failing := l.failing[w.Name]; failing {
			out = append(out, api.Trouble{Part: api.TroubleDiscovery, Name: w.Name, Since: s.since.UTC(),
				Text: "list " + w.Name + " cannot be written: " + s.why,
				Advice: "let hale make files in the folder that discovery." + w.Name +
					" names; hale goes on by itself"})
		}
	}
	return out
}

// beat is how often is looked whether a list differs.
const beat = time.Second

// Run writes until ctx ends.
func (l *Lists) Run(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		l.mu.Lock()
		all := slices.Clone(l.wanted)
		l.mu.Unlock()
		if len(all) > 0 {
			fleets := l.o.Fleets()
			for _, w := range all {
				l.note(w.Name, Update(w, fleets, time.Now()))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// note keeps in mind whether a list could be written, and logs what is new.
func (l *Lists) note(name string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, failed := l.failing[name]
	switch {
	case err == nil && failed:
		delete(l.failing, name)
		l.o.Log.Info("a list of machines is written again", "list", name, "was", was.why)
	case err != nil && !failed:
		l.failing[name] = failure{time.Now(), err.Error()}
		l.o.Log.Warn("a list of machines cannot be written; it is tried again", "list", name, "err", err)
	case err != nil:
		l.failing[name] = failure{was.since, err.Error()}
	}
}

// Update has the list's file be as the fleets are.
func Update(w config.List, fleets []published.Fleet, now time.Time) error {
	all, known := discovery.List(fleets, discovery.Choice{Fleets: w.Fleets, Serving: w.Serving, Sure: true})
	if !known {
		return nil
	}
	is, mode, err := read(w.Path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	var wanted []byte
	switch w.Form {
	case config.ListPrometheus:
		wanted, err = discovery.JSON(discovery.Prometheus(all, w.Port))
	case config.ListJSON:
		wanted, err = discovery.JSON(map[string]any{"machines": all})
	case config.ListZone:
		wanted, err = discovery.Zone(w.Zone).Write(all, is, now), nil
	}
	if err != nil || !missing && mode == w.Mode && bytes.Equal(is, wanted) {
		return err
	}
	return replace(w.Path, wanted, w.Mode)
}

// errNoFile says that another thing has the name of a list. It is not hale's to take away; a pipe would hold up all
// lists; and those who read a link's target would see an old list for ever.
var errNoFile = errors.New("it is a link, or no ordinary file: name the file itself")

func read(path string) ([]byte, fs.FileMode, error) {
	is, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, 0, err
	case !is.Mode().IsRegular():
		return nil, 0, &fs.PathError{Op: "write", Path: path, Err: errNoFile}
	}
	said, err := os.ReadFile(path)
	return said, is.Mode().Perm(), err
}

// replace writes the file in one step.
func replace(path string, content []byte, mode fs.FileMode) (err error) {
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	var why *fs.PathError
	if errors.As(err, &why) { // it names a draft, another one each time
		return &fs.PathError{Op: "write", Path: path, Err: why.Err}
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(draft.Name()) // it is of no use
		}
	}()
	_, err = draft.Write(content)
	err = errors.Join(err, draft.Chmod(mode), draft.Sync(), draft.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(draft.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
