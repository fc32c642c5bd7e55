package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// layers writes fleets in so many layers of two: each comes after both of the layer before. What is added stands in the
// first one.
func layers(n int, added string) string {
	var b strings.Builder
	b.WriteString("providers: {lab: {type: libvirt, uri: qemu:///system}}\nfleets:\n")
	for layer := range n {
		after := added
		if layer > 0 {
			after = fmt.Sprintf("    after: [l%d-a, l%d-b]\n", layer-1, layer-1)
		}
		for _, side := range []string{"a", "b"} {
			fmt.Fprintf(&b, "  l%d-%s:\n    provider: lab\n    size: 1\n%s", layer, side, after)
			b.WriteString("    template: {image: web.qcow2, disks: {root: ephemeral}}\n")
		}
	}
	return b.String()
}

// Many ways lead from the last layer of fleets to the first one, and the file is read at once all the same: whether a
// fleet would wait for itself is asked once of each that it waits for.
func TestManyFleetsThatComeAfterEachOtherAreReadAtOnce(t *testing.T) {
	t.Parallel()
	const deep = 60
	began := time.Now()
	c := sound(t, layers(deep, ""))
	if n := len(c.Fleets[len(c.Fleets)-1].After); len(c.Fleets) != 2*deep || n != 2 {
		t.Errorf("%d fleets, and the last one comes after %d", len(c.Fleets), n)
	}
	_, err := parsed("hale.yaml", []byte(layers(deep, fmt.Sprintf("    after: [l%d-a]\n", deep-1))))
	if err == nil || !strings.Contains(err.Error(), "fleet l0-a would wait for itself: l0-a after l59-a after l58-a") {
		t.Errorf("fleets that wait for each other are taken: %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}
