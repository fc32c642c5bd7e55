package lab

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// moduleSets says which kernel modules the guest loads, and when: each set becomes a list that init
// loads in order. What the package does not contain is taken to be built into its kernel.
var moduleSets = []struct {
	name    string
	modules []string
}{
	// before anything else
	{"boot", []string{"virtio_pci", "virtio_net", "virtio_blk", "button", "evdev"}},
	// where a virtio-scsi controller is seen
	{"scsi", []string{"virtio_scsi", "sr_mod"}},
	// where a NoCloud seed is seen
	{"iso", []string{"isofs"}},
	// when the guest serves already
	{"late", []string{"pvpanic", "pvpanic-mmio", "pvpanic-pci", "virtio_console"}},
}

// module is one kernel object, uncompressed.
type module struct {
	name    string
	data    []byte
	depends []string
}

// moduleTree finds kernel modules below a folder by name.
type moduleTree struct {
	paths  map[string]string
	loaded map[string]*module
}

// indexModules walks root; '-' and '_' are the same in module names.
func indexModules(root string) (*moduleTree, error) {
	t := &moduleTree{paths: map[string]string{}, loaded: map[string]*module{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name, _, ok := strings.Cut(d.Name(), ".ko"); ok {
			t.paths[moduleKey(name)] = path
		}
		return nil
	})
	return t, err
}

func moduleKey(name string) string { return strings.ReplaceAll(name, "-", "_") }

// load reads and unpacks a module, or returns nil if the tree has none of that name.
func (t *moduleTree) load(ctx context.Context, name string) (*module, error) {
	key := moduleKey(name)
	if m := t.loaded[key]; m != nil {
		return m, nil
	}
	path := t.paths[key]
	if path == "" {
		return nil, nil
	}
	data, err := readModule(ctx, path)
	if err != nil {
		return nil, err
	}
	m := &module{name: key, data: data}
	if m.depends, err = moduleDepends(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.loaded[key] = m
	return m, nil
}

func readModule(ctx context.Context, path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	switch filepath.Ext(path) {
	case ".gz":
		return gunzip(data)
	case ".xz":
		return filter(ctx, data, "xz", "-dc")
	case ".zst":
		return filter(ctx, data, "zstd", "-dc")
	}
	return data, nil
}

// moduleDepends reads the depends= line of the .modinfo section.
func moduleDepends(ko []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(ko))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("no .modinfo section: %w", errCorrupt)
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for field := range bytes.SplitSeq(info, []byte{0}) {
		if list, ok := strings.CutPrefix(string(field), "depends="); ok && list != "" {
			return strings.Split(list, ","), nil
		}
	}
	return nil, nil
}

// order returns the named modules and what they need, each after its needs.
func (t *moduleTree) order(ctx context.Context, names []string) ([]*module, error) {
	var out []*module
	seen := map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		if seen[moduleKey(name)] {
			return nil
		}
		seen[moduleKey(name)] = true
		m, err := t.load(ctx, name)
		if m == nil || err != nil {
			return err
		}
		for _, need := range m.depends {
			if err := visit(need); err != nil {
				return err
			}
		}
		out = append(out, m)
		return nil
	}
	for _, name := range names {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}
