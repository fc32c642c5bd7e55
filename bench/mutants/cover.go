package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// block is a stretch of source that is run as a whole.
type block struct {
	start, end position // the end is the first beyond it
	reached    bool
}

func (b block) holds(p position) bool { return !p.before(b.start) && p.before(b.end) }

func (p position) before(q position) bool {
	return p.line < q.line || p.line == q.line && p.col < q.col
}

// coverage is what the baseline runs of each file.
type coverage map[string][]block

// reaches reports whether the mutant's place is run. A place that belongs to no block, such as a constant, counts as
// reached.
func (c coverage) reaches(m mutant) bool {
	within := false
	for _, b := range c[m.File] {
		if b.holds(m.runs) {
			if b.reached {
				return true
			}
			within = true
		}
	}
	return !within
}

// cover runs the baseline once more and notes what it reaches of the packages.
func (s *suite) cover(ctx context.Context, sources []*source, dir string) (coverage, error) {
	var paths []string
	for _, src := range sources {
		paths = append(paths, s.importPath(src.dir))
	}
	if err := s.compile(ctx, s.packages, dir, "-cover", "-covermode=set",
		"-coverpkg="+strings.Join(paths, ",")); err != nil {
		return nil, err
	}
	c := coverage{}
	for _, p := range s.packages {
		profile := filepath.Join(dir, p.binary()+".cover")
		t, err := s.try(ctx, []testPackage{p}, dir, cost{wall: baselineLimit}, untilEnd, "-test.coverprofile="+profile)
		if err != nil {
			return nil, err
		}
		if t.outcome != survived {
			return nil, fmt.Errorf("%w when their coverage is taken: %s (%s)\n%s", errBaseline, t.outcome, t.by, t.tail)
		}
		text, err := os.ReadFile(profile)
		if os.IsNotExist(err) {
			continue // no tests of its own
		}
		if err != nil {
			return nil, err
		}
		if err := c.read(string(text), s.module+"/"); err != nil {
			return nil, err
		}
	}
	return c, nil
}

var profileLine = regexp.MustCompile(`^(\S+):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)$`)

// read adds a profile. Files of the module are known by their path below its root.
func (c coverage) read(profile, module string) error {
	for line := range strings.Lines(profile) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "mode:") {
			continue
		}
		m := profileLine.FindStringSubmatch(line)
		if m == nil {
			return fmt.Errorf("coverage profile: %q is not understood", line)
		}
		var n [5]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[i+2]) // digits, by the expression
		}
		file := strings.TrimPrefix(m[1], module)
		c[file] = append(c[file], block{position{n[0], n[1]}, position{n[2], n[3]}, n[4] > 0})
	}
	return nil
}
