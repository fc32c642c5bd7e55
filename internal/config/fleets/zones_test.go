package fleets

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// A system without a database of time zones cannot be had in a test; that the binary has one of its own can be seen.
func TestTheZonesAreInTheBinary(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if zone := strings.Join([]string{"Pacific", "Kiritimati"}, "/"); !bytes.Contains(binary, []byte(zone)) {
		t.Errorf("nothing in it speaks of %s", zone)
	}
}
