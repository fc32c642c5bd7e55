package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hale/api"
)

// TestALostOrOlderStateIsNoDeadEnd puts an older state back, and then deletes it, while the instances live on: what
// status, why, recover and adopt say leads to a hale that has its instances again, each once.
func TestALostOrOlderStateIsNoDeadEnd(t *testing.T) {
	t.Parallel()
	e := &ending{T: t, fleets: 1}
	e.begin(e.listen())
	e.feel("well")
	healthy := func(s api.Status) bool { // and nothing is under way that the store could be copied in the middle of
		done := !slices.ContainsFunc(
			s.Fleets[0].Machines,
			func(m api.Machine) bool { return !m.Certified || m.Repair != nil },
		)
		return e.healthy(s) == 3 && done
	}
	wants := func(said string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("it lacks %q:\n%s", part, said)
			}
		}
	}
	e.start()
	e.await("all are healthy", healthy)
	e.end(lenient)
	e.must(os.CopyFS(e.path("older"), os.DirFS(e.path("data"))))
	e.start()
	for file, is := range e.truth() {
		if strings.Contains(is, `"machine":"f0-2"`) {
			e.must(os.Remove(file))
		}
	}
	e.await(
		"f0-2 is built anew",
		func(s api.Status) bool { return healthy(s) && s.Fleets[0].Machines[1].Generation == 2 },
	)
	e.end(lenient)

	e.must(os.RemoveAll(e.path("data")))
	e.must(os.Rename(e.path("older"), e.path("data")))
	e.must(os.Chmod(e.path("data"), 0o700))
	e.start()
	e.await(
		"the store is found to be older",
		func(s api.Status) bool { return s.Fleets[0].Older != nil && e.healthy(s) == 2 },
	)
	wants(e.says("status"), "the store is older than the world", "hale recover f0 --believe-the-world")
	wants(e.says("why", "f0-2"), "(generation 2) bears its mark now", "hale recover f0 --believe-the-world")
	wants(
		e.says("recover", "f0"),
		"f0-2 is unhealthy",
		"hale leaves it as it is: ",
		"hale recover f0 --believe-the-world",
	)
	plan := regexp.MustCompile(`--confirm (\S+)`).FindStringSubmatch(e.says("recover", "f0", "--believe-the-world"))
	if plan == nil {
		t.Fatal("no plan is named")
	}
	e.says("recover", "f0", "--believe-the-world", "--confirm", plan[1])
	e.await("hale has its instances", healthy)
	e.wantThree()
	e.end(lenient)

	e.must(os.RemoveAll(e.path("data")))
	e.start()
	var foreign string
	e.await("another installation is found", func(s api.Status) bool {
		for _, f := range s.Fleets[0].Foreign {
			foreign = f.Installation
		}
		return foreign != ""
	})
	wants(e.says("status"), "bears its mark, by installation "+foreign, "hale take-over "+foreign)
	wants(e.says("why", "f0-2"), "(generation 2) bears its mark, by installation "+foreign, "hale take-over "+foreign)
	wants(e.says("recover", "f0"), "f0-2 is missing; hale leaves it as it is: ", "hale take-over "+foreign)
	wants(e.says("adopt", e.path("hale.yaml"), "--name", "f0-*", "--fleet", "mine"),
		"hale built f0-1 itself", "hale take-over "+foreign, "hale recover f0 --believe-the-world")
	e.says("take-over", foreign, "--confirm")
	e.await("hale has its instances", healthy)
	e.wantThree()
	e.end(lenient)
}

// wantThree wants the three machines to have one instance each.
func (e *ending) wantThree() {
	e.Helper()
	if n := len(e.truth()); n != 3 {
		e.Errorf("there are %d instances", n)
	}
	e.wantEachOnce()
}
