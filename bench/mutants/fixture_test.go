package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// gate is a package with at least one place for each kind of change.
const gate = `package gate

import "time"

type Reason string

const (
	Full  Reason = "full"
	Patience     = 2 * time.Second
)

type Gate struct {
	Size, Inside int
	Open, Alarm  bool
	Last         string
}

func (g *Gate) Refuses(by int, wait time.Duration) Reason {
	if !g.Open && by > 0 {
		return Full
	}
	switch {
	case g.Inside+by > max(g.Size, 1):
		g.note("full")
		return Full
	case wait == 0, wait > Patience:
		g.Alarm, g.Last = true, "late"
	}
	return ""
}

func (g *Gate) note(s string) { g.Last = s }

func Sum(list []int, skip string) int {
	total := 0
	for _, n := range list {
		switch skip {
		case "odd", "all":
			continue
		}
		total += n
	}
	return total
}
`

const gateTest = `package gate

import (
	"os"
	"testing"
	"time"
)

func TestAFullGateRefuses(t *testing.T) {
	g := Gate{Size: 2, Inside: 2, Open: true}
	if g.Refuses(1, time.Second) != Full {
		os.WriteFile("seen.fail", nil, 0o600)
		t.Error("one too many")
	}
}

func TestAnEmptyGateLetsIn(t *testing.T) {
	if _, err := os.Stat("../../go.mod"); err != nil {
		t.Error("what lies beside the package is not there: ", err)
	}
	if _, err := os.Stat("seen.fail"); err == nil {
		t.Error("what another run wrote is there")
	}
	g := Gate{Size: 2, Open: true}
	if g.Refuses(1, time.Second) != "" {
		t.Error("refused")
	}
}
`

// byHand are mutants of gate: one that the tests catch, two that never end, one that survives.
const byHand = `
- name: full gate opens
  why: too many are inside
  edits:
    - file: internal/gate/gate.go
      old: 'case g.Inside+by > max(g.Size, 1):'
      new: 'case g.Inside < 0:'
- name: gate goes round and round
  edits:
    - file: internal/gate/gate.go
      old: "if !g.Open && by > 0 {"
      new: "for !g.Alarm {\n\t}\n\tif !g.Open && by > 0 {"
- name: gate never answers
  edits:
    - file: internal/gate/gate.go
      old: "if !g.Open && by > 0 {"
      new: "for !g.Alarm {\n\t\t<-time.After(time.Hour)\n\t}\n\tif !g.Open && by > 0 {"
- name: note is lost
  edits:
    - file: internal/gate/gate.go
      old: '{ g.Last = s }'
      new: '{}'
`

// fixture writes a module with the package gate, with other files put in its place or beside it, and returns its root.
func fixture(t *testing.T, other map[string]string) string {
	t.Helper()
	files := map[string]string{
		"go.mod": "module fixture\n\ngo 1.26\n", "internal/gate/gate.go": gate, "internal/gate/gate_test.go": gateTest,
		"hand.yaml": byHand, "explained.txt": "",
	}
	for name, text := range other {
		files[name] = text
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// contents lists a folder's files with their text.
func contents(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		all[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// loadGate loads the fixture's package.
func loadGate(t *testing.T, root string) (tree, *source) {
	t.Helper()
	tr, err := loadTree(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	sources, err := tr.load(t.Context(), []string{"./internal/gate"})
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) != 1 {
		t.Fatalf("loaded %d packages, want the one", len(sources))
	}
	return tr, sources[0]
}

func find(t *testing.T, mutants []mutant, id string) mutant {
	t.Helper()
	i := slices.IndexFunc(mutants, func(m mutant) bool { return m.ID == id })
	if i < 0 {
		t.Fatalf("no mutant %s", id)
	}
	return mutants[i]
}
