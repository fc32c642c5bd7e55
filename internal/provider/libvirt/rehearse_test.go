package libvirt_test

import (
	"strings"
	"testing"
)

// What a build would lack is said beforehand, all of it at once, and the host is as it was.
func rehearsalFindsWhatIsLacking(t *testing.T, b *bench) {
	p := b.handle(t)
	shown := func() string {
		var all []string
		for _, what := range [][]string{{"list", "--all", "--uuid"}, {"pool-list", "--all"}, {"net-list", "--all"}} {
			text, err := b.Virsh(background(t), what...)
			must(t, err)
			all = append(all, text)
		}
		return strings.Join(all, "\n")
	}
	before := shown()

	good := b.order("rehearsed")
	must(t, p.Rehearse(t.Context(), good))

	bad := b.order("rehearsed")
	bad.Template.Image, bad.Template.Network = "no-such.qcow2", "no-such-network"
	err := p.Rehearse(t.Context(), bad)
	for _, want := range []string{"there is no image", "no-such.qcow2", "there is no network no-such-network"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the rehearsal ended with %v, which does not say %q", err, want)
		}
	}
	if after := shown(); after != before {
		t.Errorf("the host was changed:\n%s\nwas\n%s", after, before)
	}
}
