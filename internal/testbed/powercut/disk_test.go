package powercut

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// made makes a file in the disk's own folder.
func made(t *testing.T, d *Disk, name string) number {
	t.Helper()
	n, err := d.enter(root, name, &item{content: newContent()})
	if err != 0 {
		t.Fatal(err)
	}
	return n
}

func synced(t *testing.T, d *Disk, n number) {
	t.Helper()
	if err := d.use(n, func(i *item) syscall.Errno { i.sync(); return 0 }); err != 0 {
		t.Fatal(err)
	}
}

// holds returns what a file holds.
func (d *Disk) holds(n number) []byte {
	all := make([]byte, d.items[n].size)
	d.items[n].read(all, 0)
	return all
}

// A file is written, resized and synced at random, and the power is cut. The twin is a copy of all bytes after each
// change: what is left is the copy of the last sync, or, where sectors get through, each of them is one of the copies'
// since.
func TestOnlyWhatWasSyncedIsSure(t *testing.T) {
	t.Parallel()
	for _, l := range []Loss{All, Torn, Scattered} {
		for seed := range uint64(300) {
			dice := rand.New(rand.NewPCG(seed, uint64(l)))
			d := New()
			n := made(t, d, "file")
			synced(t, d, root)
			since := [][]byte{{}} // the content at the last sync, and after each change since
			for range 1 + dice.IntN(20) {
				now := changed(d.items[n].content, bytes.Clone(since[len(since)-1]), dice)
				if since = append(since, now); dice.IntN(4) == 0 {
					synced(t, d, n)
					since = since[len(since)-1:]
				}
			}
			if got, want := d.holds(n), since[len(since)-1]; !bytes.Equal(got, want) {
				t.Fatalf("%s, seed %d: before the cut it reads otherwise than it was written", l, seed)
			}
			d.Cut(l, dice)
			d.restore()
			if complaint := oneOf(since, d.holds(n), l); complaint != "" {
				t.Fatalf("%s, seed %d: %s", l, seed, complaint)
			}
		}
	}
}

// changed changes a file, and its twin, at random.
func changed(c *content, twin []byte, dice *rand.Rand) []byte {
	at, n := dice.IntN(3*page), dice.IntN(2*page)
	if dice.IntN(5) == 0 {
		c.resize(int64(at))
		return append(twin, make([]byte, max(0, at-len(twin)))...)[:at]
	}
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(1 + dice.IntN(255))
	}
	c.write(data, int64(at))
	twin = append(twin, make([]byte, max(0, at+n-len(twin)))...)
	copy(twin[at:], data)
	return twin
}

// oneOf says what of the content cannot be: it must be the first of the copies, or made of them.
func oneOf(copies [][]byte, got []byte, l Loss) string {
	if l == All && !bytes.Equal(got, copies[0]) {
		return "it is not what was synced"
	}
	for at := 0; at < len(got); at++ {
		if b := got[at]; b != 0 && !anyHas(copies, at, b) {
			return fmt.Sprintf("byte %d was never %d since the sync", at, b)
		}
	}
	if len(copies) == 1 && !bytes.Equal(got, copies[0]) {
		return "all of it was synced, and it is another"
	}
	return ""
}

func anyHas(copies [][]byte, at int, b byte) bool {
	for _, c := range copies {
		if at < len(c) && c[at] == b {
			return true
		}
	}
	return false
}

// Torn writes end where a sector does, wherever they began.
func TestAWriteTearsBetweenSectors(t *testing.T) {
	t.Parallel()
	lengths := map[int64]bool{}
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 1))
		c := newContent()
		c.write(bytes.Repeat([]byte{1}, 100), 0)
		c.sync()
		c.write(bytes.Repeat([]byte{2}, 1400), 100)
		c.lose(Torn, dice)
		lengths[c.size] = true
	}
	for _, n := range []int64{100, 512, 1024, 1500} {
		if !lengths[n] {
			t.Errorf("the write never tore at %d", n)
		}
		delete(lengths, n)
	}
	if len(lengths) > 0 {
		t.Errorf("it tore within sectors: %v", lengths)
	}
}

// A name is sure once its folder was synced, whatever was synced of the file; a renaming is done or not, as a whole.
func TestNamesAreLostUntilTheirFolderIsSynced(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(100) {
		for _, l := range []Loss{All, Torn, Scattered} {
			dice := rand.New(rand.NewPCG(seed, uint64(l)))
			d := New()
			kept := made(t, d, "kept")
			synced(t, d, root)
			synced(t, d, made(t, d, "new"))
			if err := d.move(root, "kept", root, "renamed"); err != 0 {
				t.Fatal(err)
			}
			d.Cut(l, dice)
			d.restore()
			names := d.items[root].names
			if (names["kept"] == kept) == (names["renamed"] == kept) {
				t.Fatalf("%s, seed %d: the renaming is half done: %v", l, seed, names)
			}
			seen[fmt.Sprintf("%v %d %t", l, len(names), names["renamed"] != 0)]++
		}
	}
	if seen["all 1 false"] != 100 || len(seen) != 7 {
		t.Errorf("of 100 cuts each these came out: %v", seen)
	}
}

// shell runs commands in the mounted folder, as another process.
func shell(t *testing.T, m *Mounted, script string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-ec", `cd "$1" && eval "$2"`, "sh", m.Dir, script)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A program writes, syncs, and is still writing when the power is cut. When it is back the kernel reads from the disk
// what was synced, and the disk can be written again.
func TestAProgramLosesPower(t *testing.T) {
	t.Parallel()
	m, err := Mount(t)
	if errors.Is(err, ErrNot) {
		t.Logf("%v: what is below it was tried, and not the mount", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	shell(t, m, `mkdir a; printf one >a/synced; sync a/synced a .; printf two >>a/synced
			printf x >a/lost; sync a/lost`)
	if got := shell(t, m, `cat a/synced; ls a`); got != "onetwolost\nsynced" {
		t.Errorf("before the cut: %q", got)
	}
	m.Cut(All, rand.New(rand.NewPCG(1, 1)))
	late := exec.CommandContext(t.Context(), "sh", "-c", `printf late >>"$1/a/synced"`, "sh", m.Dir)
	if err := late.Start(); err != nil {
		t.Fatal(err)
	}
	if err := m.Restore(); err != nil {
		t.Fatal(err)
	}
	if err := late.Wait(); err != nil {
		t.Logf("what was written without power failed: %v", err)
	}
	if got := shell(t, m, `ls a; head -c 3 a/synced`); got != "synced\none" {
		t.Errorf("after the cut: %q", got)
	}
	m.Fill()
	shell(t, m, `! printf more >b 2>/dev/null`)
	m.Empty()
	shell(t, m, `printf more >b; mv b c; test "$(cat c)" = more`)
	if m.Syncs() == 0 {
		t.Error("nothing was synced")
	}
}
