package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// recipe changes when the Go part of the guest's construction changes in what it yields.
const recipe = "1"

//go:embed guest
var guestFiles embed.FS

// Guest is a tiny virtual machine image: files in one folder, ready to boot.
type Guest struct {
	Dir     string `json:"dir"`     // absolute
	Kernel  string `json:"kernel"`  // ELF vmlinux, or bzImage where that could not be extracted
	Initrd  string `json:"initrd"`  // uncompressed cpio
	Disk    string `json:"disk"`    // empty qcow2 to put overlays on; the guest counts its boots there
	Release string `json:"release"` // kernel release, as "6.1.0-56-cloud-amd64"
}

// CacheDir returns the folder that outlives labs: $HALE_LAB_CACHE, or hale below the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv("HALE_LAB_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = "/var/cache" // a service without a home
	}
	return filepath.Join(dir, "hale"), nil
}

// BuildGuest returns the guest image of this distribution and builds it if dir does not hold it
// yet (about 5 s, needs apt's servers). An empty dir means CacheDir. The image is kept in
// dir/guest-HASH, where the hash covers the embedded scripts, the recipe and the distribution's
// release; a newer kernel package alone does not rebuild it. Processes that ask at the same time
// build it once.
func BuildGuest(ctx context.Context, dir string) (Guest, error) {
	if dir == "" {
		var err error
		if dir, err = CacheDir(); err != nil {
			return Guest{}, err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Guest{}, err
	}
	key, err := guestKey()
	if err != nil {
		return Guest{}, err
	}
	final := filepath.Join(dir, "guest-"+key)
	if g, err := loadGuest(final); err == nil {
		return g, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Guest{}, err
	}
	unlock, err := lockFile(filepath.Join(dir, "guest.lock"))
	if err != nil {
		return Guest{}, err
	}
	defer unlock()
	if g, err := loadGuest(final); err == nil {
		return g, nil // another process built it meanwhile
	}
	if err := buildInto(ctx, dir, final); err != nil {
		return Guest{}, fmt.Errorf("build the lab's guest: %w", err)
	}
	return loadGuest(final)
}

// guestKey hashes everything that decides what the image is.
func guestKey() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, recipe, moduleSets)
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", fmt.Errorf("which distribution is this: %w", err)
	}
	h.Write(release)
	err = fs.WalkDir(guestFiles, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := guestFiles.ReadFile(path)
		fmt.Fprintln(h, path, len(data))
		h.Write(data)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:12], err
}

// loadGuest reads the description that buildInto writes last.
func loadGuest(dir string) (Guest, error) {
	data, err := os.ReadFile(filepath.Join(dir, "guest.json"))
	if err != nil {
		return Guest{}, err
	}
	var g Guest
	if err := json.Unmarshal(data, &g); err != nil {
		return Guest{}, err
	}
	for _, p := range []*string{&g.Kernel, &g.Initrd, &g.Disk} {
		*p = filepath.Join(dir, filepath.Base(*p))
	}
	g.Dir = dir
	return g, nil
}

// lockFile takes an exclusive lock, waiting for it, and returns how to give it back.
func lockFile(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// buildInto makes the image in a folder aside and moves it to final as a whole.
func buildInto(ctx context.Context, parent, final string) error {
	work, err := os.MkdirTemp(parent, ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	pkg, out := filepath.Join(work, "packages"), filepath.Join(work, "guest")
	for _, dir := range []string{pkg, out} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unpackPackages(ctx, pkg); err != nil {
		return err
	}
	g := Guest{Kernel: "vmlinux", Initrd: "initrd.cpio", Disk: "base.qcow2"}
	if g.Release, err = writeKernel(ctx, pkg, filepath.Join(out, g.Kernel)); err != nil {
		return err
	}
	if err := writeInitrd(ctx, pkg, filepath.Join(out, g.Initrd)); err != nil {
		return err
	}
	if _, err := run(ctx, out, "qemu-img", "create", "-q", "-f", "qcow2", g.Disk, "1M"); err != nil {
		return err
	}
	description, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "guest.json"), append(description, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	return os.Rename(out, final)
}

// writeKernel extracts the ELF kernel. It keeps a kernel of unknown compression as it is, which boots 0.2 s slower.
func writeKernel(ctx context.Context, pkg, path string) (release string, err error) {
	images, err := filepath.Glob(filepath.Join(pkg, "boot", "vmlinuz-*"))
	if err != nil {
		return "", err
	}
	if len(images) != 1 {
		return "", fmt.Errorf("%d kernels in the package, want 1", len(images))
	}
	kernel, err := os.ReadFile(images[0])
	if err != nil {
		return "", err
	}
	if elf, err := extractVmlinux(ctx, kernel); err == nil {
		kernel = elf
	}
	release = strings.TrimPrefix(filepath.Base(images[0]), "vmlinuz-")
	return release, os.WriteFile(path, kernel, 0o644)
}

// guestTree maps paths in the guest to embedded files.
var guestTree = []struct{ path, file string }{
	{"init", "guest/init.sh"},
	{"udhcpc.sh", "guest/udhcpc.sh"},
	{"bin/fault", "guest/fault.sh"},
	{"bin/agent", "guest/agent.sh"},
	{"ctl/cgi-bin/fault", "guest/control.sh"},
}

func writeInitrd(ctx context.Context, pkg, path string) error {
	var buf bytes.Buffer
	c := &cpioWriter{w: &buf}
	for _, dir := range []string{"bin", "mod", "proc", "sys", "dev", "ctl", "ctl/cgi-bin"} {
		c.entry(dir, modeDir|0o755, nil)
	}
	c.node("dev/console", modeChar|0o600, 5, 1, nil)
	busybox, err := findBusybox(pkg)
	if err != nil {
		return err
	}
	c.entry("bin/busybox", modeRegular|0o755, busybox)
	c.entry("bin/sh", modeSymlink|0o777, []byte("busybox"))
	for _, f := range guestTree {
		data, err := guestFiles.ReadFile(f.file)
		if err != nil {
			return err
		}
		c.entry(f.path, modeRegular|0o755, data)
	}
	if err := writeModules(ctx, c, pkg); err != nil {
		return err
	}
	if err := c.close(); err != nil {
		return err
	}
	return os.WriteFile(path, buf.Bytes(), 0o644)
}

func findBusybox(pkg string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(pkg, "bin", "busybox"))
	if errors.Is(err, fs.ErrNotExist) {
		return os.ReadFile(filepath.Join(pkg, "usr", "bin", "busybox"))
	}
	return data, err
}

// writeModules adds each module once and a list per set in load order.
func writeModules(ctx context.Context, c *cpioWriter, pkg string) error {
	tree, err := indexModules(pkg)
	if err != nil {
		return err
	}
	written := map[string]bool{}
	for _, set := range moduleSets {
		modules, err := tree.order(ctx, set.modules)
		if err != nil {
			return err
		}
		var list strings.Builder
		for _, m := range modules {
			file := m.name + ".ko"
			fmt.Fprintln(&list, file)
			if !written[file] {
				written[file] = true
				c.entry("mod/"+file, modeRegular|0o644, m.data)
			}
		}
		c.entry("mod/"+set.name+".list", modeRegular|0o644, []byte(list.String()))
	}
	return nil
}

// WipeCache removes what BuildGuest and Start keep in dir; other files there stay.
func WipeCache(dir string) error {
	kept, err := filepath.Glob(filepath.Join(dir, "guest-*"))
	if err != nil {
		return err
	}
	for _, path := range append(kept, filepath.Join(dir, "libvirt"), filepath.Join(dir, "guest.lock")) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}
