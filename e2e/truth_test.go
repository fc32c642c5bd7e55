package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/api"
	"hale/internal/testbed/lab"
)

// sampleEvery is how often the watchman looks.
const sampleEvery = 50 * time.Millisecond

// watchman looks at the process table all the time: no machine may have two processes (law L1).
type watchman struct {
	mu      sync.Mutex
	breach  []string
	samples int
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

func watch(labs ...*lab.Lab) *watchman {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watchman{cancel: cancel}
	w.wg.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			w.look(ctx, labs)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return w
}

func (w *watchman) end() {
	w.cancel()
	w.wg.Wait()
}

func (w *watchman) look(ctx context.Context, labs []*lab.Lab) {
	var processes []lab.Process
	var err error
	for _, l := range labs {
		here, failed := l.Processes(ctx)
		processes, err = append(processes, here...), errors.Join(err, failed)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		w.breach = append(w.breach, "the process table cannot be read: "+err.Error())
		return
	}
	w.samples++
	seen := map[string]lab.Process{}
	for _, p := range processes {
		if other, twice := seen[p.Domain]; twice {
			w.breach = append(w.breach,
				fmt.Sprintf("%s: %s runs twice: %+v and %+v", time.Now().Format("15:04:05.000"), p.Domain, other, p))
		}
		seen[p.Domain] = p
	}
}

// lawful reports what the watchman has seen.
func (s stage) lawful() {
	s.Helper()
	w := s.watchman
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.breach[:min(len(w.breach), 5)] {
		s.Errorf("L1: %s", b)
	}
	if w.samples == 0 {
		s.Error("the watchman has not looked")
	}
	w.breach = nil
}

// allWell checks with the lab that what hale says of a fleet at rest is true.
func (s stage) allWell() {
	s.Helper()
	f, err := s.fleet()
	s.must(err)
	ctx := s.within(patience)
	domains, err := s.lab.Domains(ctx)
	s.must(err)
	var names []string
	for _, d := range domains {
		names = append(names, d.Name)
		if d.State != "running" || d.Processes != 1 {
			s.Errorf("domain %s is %s with %d processes", d.Name, d.State, d.Processes)
		}
	}
	processes, err := s.lab.Processes(ctx)
	s.must(err)
	var wanted, files []string
	for _, m := range f.Machines {
		wanted = append(wanted, m.Name)
		files = append(files, filepath.Base(s.seedOf(m)),
			strings.TrimSuffix(filepath.Base(s.seedOf(m)), ".iso")+".console.log")
		if !slices.ContainsFunc(processes, func(p lab.Process) bool {
			return p.Domain == m.Name && p.UUID == m.Instance
		}) {
			s.Errorf("hale says that %s is instance %s; there are %+v", m.Name, m.Instance, processes)
		}
		page, err := s.lab.AwaitPage(ctx, m.Name)
		if err != nil || page.Name != m.Name || page.SeedHostname != m.Name || page.SeedInstance != m.Instance {
			s.Errorf("%s, instance %s, serves %+v: %v", m.Name, m.Instance, page, err)
		}
		if found, err := s.lab.Addresses(ctx, m.Name); err != nil || found[0].String() != m.Address {
			s.Errorf("hale looks for %s at %s, and it is at %v: %v", m.Name, m.Address, found, err)
		}
	}
	slices.Sort(wanted)
	slices.Sort(names)
	if !slices.Equal(names, wanted) {
		s.Errorf("there are the domains %v, and should be %v", names, wanted)
	}
	s.noneLeft(files)
}

// seedOf is the file that an instance has beside its console.
func (s stage) seedOf(m api.Machine) string {
	return filepath.Join(s.lab.Info().Images, fmt.Sprintf("%s-g%d-%s.iso", m.Name, m.Generation, m.Instance))
}

// noneLeft checks that the folder of disks and seeds has nothing but these files, the base image and the note of each
// of hale's starts.
func (s stage) noneLeft(files []string) {
	s.Helper()
	entries, err := os.ReadDir(s.lab.Info().Images)
	s.must(err)
	for _, e := range entries {
		note := strings.HasPrefix(e.Name(), "hale-") && strings.Contains(e.Name(), ".start-")
		if e.Name() != "base.qcow2" && !note && !slices.Contains(files, e.Name()) {
			s.Errorf("file %s is left; there should be %s", e.Name(), strings.Join(files, ", "))
		}
	}
}
