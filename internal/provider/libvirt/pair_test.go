package libvirt_test

import (
	"os"
	"path/filepath"
	"testing"

	"hale/internal/provider"
)

func TestTryMigrate(t *testing.T) {
	a, b := newBench(t), newBench(t)
	shared := t.TempDir()
	must(t, os.Chmod(shared, 0o755))
	a.state = shared
	img, err := os.ReadFile(filepath.Join(a.Info().Images, "base.qcow2"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(shared, "base.qcow2"), img, 0o644))
	p := a.handle(t)
	o := a.order("web-1")
	must(t, p.Create(t.Context(), o))
	awaitSeen(t, p, o.Ref, "address", hasAddress)
	out, err := a.Virsh(t.Context(), "migrate", "--live", "--persistent", "--unsafe", "--verbose", o.Name, b.URI(), "tcp://127.0.0.1:49777")
	t.Log(out, err)
	for _, x := range []*bench{a, b} {
		out, err := x.Virsh(t.Context(), "list", "--all", "--uuid", "--name")
		t.Log(out, err)
		out, err = x.Virsh(t.Context(), "domstate", "--reason", o.Name)
		t.Log(out, err)
		ps, _ := x.Processes(t.Context())
		t.Log(ps)
	}
	_ = provider.Ref{}
}
