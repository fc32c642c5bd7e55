package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
)

// TestAMovedDataFolderIsToldAndEndsHale moves the data folder away under a running hale: it pages, ends soon with one
// line that names the folder and what to do, and goes on where it was once the folder is back.
func TestAMovedDataFolderIsToldAndEndsHale(t *testing.T) {
	t.Parallel()
	e := &ending{T: t, fleets: 1}
	e.begin(e.listen())
	e.tells("pager")
	e.feel("well")
	e.start()
	e.await("all are healthy", func(s api.Status) bool { return e.healthy(s) == 3 })

	e.must(os.Rename(e.path("data"), e.path("aside")))
	select {
	case <-e.ended:
	case <-time.After(15 * time.Second):
		t.Fatal("hale goes on without its data folder")
	}
	if e.hale.ProcessState.Success() {
		t.Error("hale ended as if all were well")
	}
	log, err := os.ReadFile(e.path("log"))
	e.must(err)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	last := lines[len(lines)-1]
	if want := "hale: the data folder " + e.path("data") + " is lost: "; !strings.HasPrefix(last, want) ||
		!strings.Contains(last, "put the folder back and start hale") {
		t.Errorf("its last line is %q, want %q and what to do", last, want)
	}
	if said := string(log); strings.Contains(said, "state engine: it cannot go on") {
		t.Errorf("a raw line of the store:\n%s", said)
	}
	if !slices.Contains(e.told(), "page store-lost") {
		t.Errorf("the target was told %q, want a page", e.told())
	}

	e.must(os.Rename(e.path("aside"), e.path("data")))
	e.start()
	e.await("hale goes on", func(s api.Status) bool { return e.healthy(s) == 3 })
	e.wantEachOnce()
	e.end(lenient)
}
