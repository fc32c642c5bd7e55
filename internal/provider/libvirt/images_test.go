package libvirt_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/provider/libvirt"
)

// missingImageIsBrought: two hales build from an image that the host lacks, which another one had begun to copy when it
// was killed. It is there once, whole, and nothing of it is left when it is not what was wanted.
func missingImageIsBrought(t *testing.T, b *bench) {
	base, err := os.ReadFile(filepath.Join(b.state, "base.qcow2"))
	must(t, err)
	file := filepath.Join(t.TempDir(), "other.qcow2")
	must(t, os.WriteFile(file, base, 0o600))
	sum := sha256.Sum256(base)
	open := func(i libvirt.Images) *libvirt.Provider {
		p, err := libvirt.New(libvirt.Options{
			Hosts: []libvirt.HostOptions{{URI: b.URI()}}, StateDir: b.state, Images: i,
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})
		must(t, err)
		t.Cleanup(func() { must(t, p.Close()) })
		return p
	}
	from := func(sum string) libvirt.Images {
		return libvirt.Images{Files: map[string]libvirt.ImageFile{"other.qcow2": {Path: file, SHA256: sum}}}
	}
	front := func() string {
		of := sha256.Sum256([]byte(filepath.Join(b.state, "other.qcow2")))
		return "hale-image." + hex.EncodeToString(of[:6])
	}()
	brought := func() (names []string) {
		for _, name := range b.files(t) {
			if strings.HasPrefix(name, front) {
				names = append(names, name)
			}
		}
		return names
	}
	first, second := b.order("brought-1"), b.order("brought-2")
	second.Mark.Machine = "web-2"
	for _, o := range []*provider.Blueprint{&first, &second} {
		o.Template.Image = "other.qcow2"
	}
	err = open(libvirt.Images{}).Create(t.Context(), first)
	if wantKind(t, "a build without an image", err, fault.Invalid); !strings.Contains(fmt.Sprint(err), "images") {
		t.Errorf("it does not say what to do: %v", err)
	}
	wrong := open(from(strings.Repeat("0", 64)))
	wantKind(t, "a build from another file", wrong.Create(t.Context(), first), fault.Invalid)
	if left := brought(); len(left) > 0 {
		t.Errorf("of another file there is %v", left)
	}
	must(t, os.WriteFile(filepath.Join(b.state, front+".killed.image"), base[:1000], 0o600))

	built := make(chan error, 2)
	for i, o := range []provider.Blueprint{first, second} {
		p := open(from(hex.EncodeToString(sum[:])))
		if i == 0 {
			must(t, p.Rehearse(t.Context(), o))
		}
		go func() {
			err := p.Create(t.Context(), o)
			for deadline := time.Now().Add(2 * patience); fault.Is(err, fault.Transient) &&
				time.Now().Before(deadline); {
				err = p.Create(t.Context(), o)
			}
			built <- err
		}()
	}
	must(t, <-built)
	must(t, <-built)
	p := b.handle(t)
	awaitSeen(t, p, first.Ref, "an address", hasAddress)
	awaitSeen(t, p, second.Ref, "power", func(i fleet.Instance) bool { return i.Power == fleet.PowerRunning })
	copies := map[string]int{}
	for _, name := range brought() {
		copies[name[strings.LastIndex(name, ".image"):]]++
	}
	if copies[".image"] != copies[".image.json"] || copies[".image"] < 1 || copies[".image"] > 2 {
		t.Errorf("there is %v", brought())
	}
	for _, name := range brought() {
		if got, err := os.ReadFile(filepath.Join(b.state, name)); strings.HasSuffix(name, ".image") &&
			(err != nil || sha256.Sum256(got) != sum) {
			t.Errorf("%s is another one, %v", name, err)
		}
	}
	otherImageIsBrought(t, b, file, open, brought)
	awaitSeen(t, p, first.Ref, "power", func(i fleet.Instance) bool { return i.Power == fleet.PowerRunning })
	destroyed(t, p, first.Ref)
	destroyed(t, p, second.Ref)
}

// otherImageIsBrought: the file is another one, and the configuration says so by its SHA-256. It is brought beside the
// older copy, from which machines run on.
func otherImageIsBrought(t *testing.T, b *bench, file string, open func(libvirt.Images) *libvirt.Provider,
	brought func() []string) {
	t.Helper()
	image, err := os.ReadFile(file)
	must(t, err)
	image = append(image, make([]byte, 4096)...)
	must(t, os.WriteFile(file, image, 0o600))
	sum := sha256.Sum256(image)
	before := brought()
	o := b.order("brought-3")
	o.Mark.Machine, o.Template.Image = "web-3", "other.qcow2"
	p := open(libvirt.Images{Files: map[string]libvirt.ImageFile{
		"other.qcow2": {Path: file, SHA256: strings.ToUpper(hex.EncodeToString(sum[:]))},
	}})
	for deadline := time.Now().Add(2 * patience); ; {
		err := p.Create(t.Context(), o)
		if !fault.Is(err, fault.Transient) || time.Now().After(deadline) {
			must(t, err)
			break
		}
	}
	var fresh []string
	for _, name := range brought() {
		if !slices.Contains(before, name) {
			fresh = append(fresh, name)
		}
	}
	if len(fresh) != 2 || len(brought()) != len(before)+2 {
		t.Fatalf("there was %v, and there is %v", before, brought())
	}
	for _, name := range fresh {
		if got, err := os.ReadFile(filepath.Join(b.state, name)); strings.HasSuffix(name, ".image") &&
			(err != nil || sha256.Sum256(got) != sum) {
			t.Errorf("%s is not what the configuration wants, %v", name, err)
		}
	}
	awaitSeen(t, p, o.Ref, "power", func(i fleet.Instance) bool { return i.Power == fleet.PowerRunning })
	destroyed(t, p, o.Ref)
}
