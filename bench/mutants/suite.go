package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is what the mutants are held against: test packages, each built once for a mutant and run until its first
// failure.
type suite struct {
	tree
	packages []testPackage
	build    []string // flags of the go command
	run      []string // flags of the test binaries
	jobs     int      // what one build may do side by side
	memory   uint64   // bytes of data that a run may have; 0: any
}

// testPackage is a package with tests.
type testPackage struct {
	path, dir string
	deps      map[string]bool // all that its test binary is made of, itself included
}

// binary is the name that the go command gives the package's test binary.
func (p testPackage) binary() string { return path.Base(p.path) + ".test" }

// buildFlags are the flags of go test that are about the build; the others are the test binary's.
var buildFlags = []string{
	"tags", "race", "p", "mod", "modfile", "gcflags", "asmflags", "ldflags", "trimpath", "buildvcs", "msan", "asan",
	"a",
}

// testFlags are those that a test binary knows by another name.
var testFlags = []string{
	"count", "cpu", "failfast", "list", "parallel", "run", "short", "shuffle", "skip", "timeout", "v",
	"bench", "benchtime", "benchmem", "fullpath", "fuzz", "fuzztime",
}

// parsedCommand is a go test command, taken apart.
type parsedCommand struct{ build, run, packages []string }

// parseCommand takes a go test command apart. Flags are written -name=value: what is a value and what a package is not
// guessed.
func parseCommand(command string) (parsedCommand, error) {
	words := strings.Fields(command)
	if len(words) < 2 || words[0] != "go" || words[1] != "test" {
		return parsedCommand{}, fmt.Errorf("the command must be a go test: %q", command)
	}
	var c parsedCommand
	for i, word := range words[2:] {
		if word == "-args" {
			c.run = append(c.run, words[2+i+1:]...)
			break
		}
		name, isFlag := strings.CutPrefix(word, "-")
		name = strings.TrimPrefix(name, "-")
		bare, _, _ := strings.Cut(name, "=")
		switch {
		case !isFlag:
			c.packages = append(c.packages, word)
		case bare == "vet" || bare == "c" || bare == "o" || bare == "json" || bare == "overlay" || bare == "exec":
			return parsedCommand{}, fmt.Errorf("-%s has no place in the command: mutants are built and run one by one",
				bare)
		case slices.Contains(buildFlags, bare):
			c.build = append(c.build, "-"+name)
		case slices.Contains(testFlags, bare):
			c.run = append(c.run, "-test."+name)
		default:
			c.run = append(c.run, "-"+name)
		}
	}
	if len(c.packages) == 0 {
		return parsedCommand{}, fmt.Errorf("the command names no package: %q", command)
	}
	return c, nil
}

// loadSuite finds out what the command tests.
func (t tree) loadSuite(ctx context.Context, command string) (*suite, error) {
	c, err := parseCommand(command)
	if err != nil {
		return nil, err
	}
	s := &suite{tree: t, build: c.build, run: c.run, jobs: runtime.NumCPU()}
	args := append([]string{"-test", "-json=ImportPath,Dir,Name,Deps"}, c.build...)
	all, err := t.list(ctx, append(append(args, "--"), c.packages...)...)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, p := range all {
		own, ok := strings.CutSuffix(p.ImportPath, ".test")
		if !ok || p.Name != "main" {
			continue
		}
		tp := testPackage{path: own, dir: p.Dir, deps: map[string]bool{}}
		for _, d := range p.Deps {
			d, _, _ = strings.Cut(d, " ") // "x [y.test]" is x, built again for y's tests
			tp.deps[d] = true
		}
		if other := names[tp.binary()]; other != "" {
			return nil, fmt.Errorf("%s and %s would have one test binary: give them to two runs", other, own)
		}
		names[tp.binary()] = own
		s.packages = append(s.packages, tp)
	}
	if len(s.packages) == 0 {
		return nil, fmt.Errorf("%q finds no tests", command)
	}
	return s, nil
}

// touchedBy are the test packages that a change of the folders can change.
func (s *suite) touchedBy(dirs []string) []testPackage {
	var touched []testPackage
	for _, p := range s.packages {
		if slices.ContainsFunc(dirs, func(d string) bool { return p.deps[s.importPath(d)] }) {
			touched = append(touched, p)
		}
	}
	return touched
}

// errCompile is a build that failed by the source's fault.
var errCompile = errors.New("does not compile")

// complaint recognises a compiler's message; a build that fails without one failed for another reason.
var complaint = regexp.MustCompile(`(?m)^.*\.go:\d+:\d+: .*$`)

// compile builds the packages' test binaries into a folder.
func (s *suite) compile(ctx context.Context, packages []testPackage, dir string, flags ...string) error {
	args := []string{
		"test", "-c", "-o", dir + string(filepath.Separator), "-ldflags=-w -s", "-p=" + strconv.Itoa(max(1, s.jobs)),
	}
	args = append(append(args, s.build...), flags...)
	for _, p := range packages {
		args = append(args, p.path)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.root
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if line := complaint.Find(out); line != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %s", errCompile, line)
	}
	return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
}

// trial is what became of one run of test binaries.
type trial struct {
	outcome outcome
	by      string // the test that failed
	tail    string // the last of what it wrote
	cost
}

// cost is how long a run takes, by the clock and by the processors' work. The work is the better measure on a machine
// that has other things to do.
type cost struct{ wall, cpu time.Duration }

// try runs test binaries that were built into a folder, until the first that fails or until a limit is reached.
func (s *suite) try(ctx context.Context, packages []testPackage, dir string, limit cost, p patience,
	flags ...string) (trial, error) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit.wall)
	defer cancel()
	var spent time.Duration
	for _, tested := range packages {
		name := filepath.Join(dir, tested.binary())
		if _, err := os.Stat(name); err != nil {
			continue // the package has no tests of its own
		}
		fresh, err := os.MkdirTemp(dir, tested.binary()+"-")
		if err != nil {
			return trial{}, err
		}
		place, err := mirror(s.root, tested.dir, fresh)
		if err != nil {
			return trial{}, err
		}
		x := execution{binary: name, dir: place, flags: slices.Concat(s.run, flags), memory: s.memory, patience: p}
		if limit.cpu > 0 {
			x.cpu = max(time.Second, (limit.cpu - spent).Round(time.Second))
		}
		t, err := x.run(ctx)
		spent += t.cpu
		t.cost = cost{time.Since(begin), spent}
		if err != nil || t.outcome != survived {
			return t, err
		}
	}
	return trial{outcome: survived, cost: cost{time.Since(begin), spent}}, nil
}
