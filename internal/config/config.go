package config

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Config is a whole, sound configuration.
type Config struct {
	Providers []Provider    // sorted by name
	Fleets    []policy.Spec // sorted by name
	Vantage   Vantage
	Targets   []Target // sorted by name
	Fences    []Fence  // sorted by name
	// Balancers are sorted by name; Pools say which fleets are in theirs, sorted by balancer and fleet.
	Balancers []Balancer `json:",omitempty"`
	Pools     []Pool     `json:",omitempty"`
	// Discovery are the files that say which machines there are, sorted by name.
	Discovery []List `json:",omitempty"`
	// Heartbeats is where machines report by themselves.
	Heartbeats Heartbeats `json:",omitzero"`
	API        API        `json:",omitzero"`
	Metrics    Metrics    `json:",omitzero"`
	// Telemetry is where traces and the journal go.
	Telemetry Telemetry `json:",omitzero"`
	// Satellites are probes in other networks.
	Satellites Satellites `json:",omitzero"`
	// Etcd is where the state is, if not in hale's own data folder.
	Etcd Etcd `json:",omitzero"`
	// Cluster is where this server is one of hale's own cluster, which has the state then.
	Cluster Cluster `json:",omitzero"`
	// Passed are files of the folder that look like a part of the configuration and are not read.
	Passed []string `json:"-"`
}

// Heartbeats is where hale listens for heartbeats. The zero value: nowhere.
type Heartbeats struct {
	Listen           string // host:port, where the host may be missing
	Address          string // host:port by which machines reach it; empty: where it listens
	Certificate, Key string // files in PEM form, by absolute paths; empty: no TLS is spoken
}

// Vantage says how hale's own sight is watched. The zero value: it is not.
type Vantage struct {
	// Canaries are pinged; each once, in the file's order.
	Canaries []netip.Addr
	// Gateway makes the default gateway a canary, too.
	Gateway bool
	Every   time.Duration
	Timeout time.Duration // shorter than Every
}

// Watched reports whether there is, or may be, a canary.
func (v Vantage) Watched() bool { return v.Gateway || len(v.Canaries) > 0 }

// Provider is one hypervisor, or set of hypervisor hosts, that fleets live on.
type Provider struct {
	Name fleet.ProviderName
	Type string // a word of kinds.All
	// Hosts are sorted by name; of a provider that knows its hosts itself, those with a place in the file. Under
	// libvirt there is at least one, and one given by a bare uri has an empty name; a simulated provider without any
	// has a single host with an empty name.
	Hosts []kinds.Host
	// Poll is the time from one listing of the instances to the next; events come in between.
	Poll time.Duration
	// FencePriority is how much longer a host is left as it is before it is fenced on which machines of the fleet were
	// seen last, whichever hale looks after them.
	FencePriority map[fleet.Name]time.Duration `json:",omitempty"`
	// ListWithin is how long one of them may take until the provider counts as down; 0: as long as is usual.
	ListWithin time.Duration
	// Settings are what the type's own keys come to.
	Settings kinds.Settings `json:"-"`
}

// Parse reads one file's content, which may use all the kinds. The name appears in problems, and its folder is where
// relative paths begin. An error is of type keys.Problems.
func Parse(name string, data []byte, all kinds.All) (*Config, error) {
	return parseAll([]keys.Source{{Name: name, Data: bare(data)}}, all)
}

// Load reads a file, or every *.yaml of a folder (not of its sub-folders) as if they were one. An error is of type
// keys.Problems, or says why the file or folder could not be read.
func Load(path string, all kinds.All) (*Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	names, passed := []string{path}, []string(nil)
	if info.IsDir() {
		if names, passed, err = yamlFiles(path); err != nil {
			return nil, err
		}
	}
	sources := make([]keys.Source, 0, len(names))
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		sources = append(sources, keys.Source{Name: name, Data: bare(data)})
	}
	c, err := parseAll(sources, all)
	if c != nil {
		c.Passed = passed
	}
	return c, err
}

// bare is the file without the mark of bytes that some editors put before the text.
func bare(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// yamlFiles lists the configuration files of a folder in order of their names, and those that look like one and are
// passed over, as b.yml and web.yaml.bak. Hidden files are left out: editors keep their copies there.
func yamlFiles(folder string) (names, passed []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	for _, e := range entries {
		lower := strings.ToLower(e.Name())
		switch {
		case e.IsDir() || strings.HasPrefix(e.Name(), "."):
		case filepath.Ext(e.Name()) == ".yaml":
			names = append(names, filepath.Join(folder, e.Name()))
		case strings.Contains(lower, ".yml"), strings.Contains(lower, ".yaml"):
			passed = append(passed, filepath.Join(folder, e.Name()))
		}
	}
	if len(names) == 0 && len(passed) > 0 {
		return nil, nil, fmt.Errorf(
			"read configuration: no *.yaml file in folder %s: rename %s so that it ends in .yaml", folder,
			filepath.Base(passed[0]))
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("read configuration: no *.yaml file in folder %s", folder)
	}
	return names, passed, nil
}

func parseAll(sources []keys.Source, all kinds.All) (*Config, error) {
	f := &keys.Finder{}
	shape := documentShape(all)
	r := keys.NewReader(f, shape.Schema())
	var doc document
	for _, s := range sources {
		n, ok := r.File(s)
		if !ok {
			continue
		}
		if part, ok := shape.Read(r, n); ok {
			doc.merge(part, f)
		}
	}
	c := compile(doc, all, f)
	if len(f.Found) > 0 {
		return nil, f.Problems()
	}
	return c, nil
}

// merge adds what another file says. A name that both use is a problem at the later place, naming the earlier one.
func (d *document) merge(other document, f *keys.Finder) {
	d.providers = mergeNamed(d.providers, other.providers, f)
	d.fleets = mergeNamed(d.fleets, other.fleets, f)
	d.notify = mergeNamed(d.notify, other.notify, f)
	d.fences = mergeNamed(d.fences, other.fences, f)
	d.balancers = mergeNamed(d.balancers, other.balancers, f)
	d.discovery = mergeNamed(d.discovery, other.discovery, f)
	switch {
	case !d.limits.Written():
		d.limits = other.limits
	case other.limits.Written():
		f.Add(other.limits.Spot, fmt.Sprintf("is there already, at %s", d.limits.Place), "keep one of the two")
	}
	d.heartbeats = mergeOne(d.heartbeats, other.heartbeats, f)
	d.satellites = mergeOne(d.satellites, other.satellites, f)
	d.api = mergeOne(d.api, other.api, f)
	d.metrics = mergeOne(d.metrics, other.metrics, f)
	d.telemetry = mergeOne(d.telemetry, other.telemetry, f)
	d.state = mergeOne(d.state, other.state, f)
	d.vantage = mergeOne(d.vantage, other.vantage, f)
}

// mergeOne is the one of the two that is there.
func mergeOne[V any](into, more keys.At[V], f *keys.Finder) keys.At[V] {
	if into.How == keys.Absent {
		return more
	}
	if more.How != keys.Absent {
		f.Add(more.Spot, fmt.Sprintf("is there already, at %s", into.Place), "keep one of the two")
	}
	return into
}

func mergeNamed[V any](into, more keys.At[[]keys.Named[V]], f *keys.Finder) keys.At[[]keys.Named[V]] {
	if into.How == keys.Absent {
		return more
	}
	for _, n := range more.Value {
		i := slices.IndexFunc(into.Value, func(m keys.Named[V]) bool { return m.Name == n.Name })
		if i < 0 {
			into.Value = append(into.Value, n)
			continue
		}
		f.Add(n.Spot, fmt.Sprintf("is there already, at %s", into.Value[i].Place), "keep one of the two")
	}
	return into
}
