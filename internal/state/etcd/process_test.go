package etcd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// These variables make the test binary run one test as a process of its own.
const (
	childVar  = "HALE_TEST_CHILD"  // the name of the test
	folderVar = "HALE_TEST_FOLDER" // the folder to work in, if the parent keeps it
)

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		os.Exit(m.Run()) // what fails on purpose there leaves goroutines behind
	}
	goleak.VerifyTestMain(m)
}

// child returns the command that runs this test as a process of its own.
func child(t *testing.T, folder string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), childVar+"="+t.Name(), folderVar+"="+folder)
	return cmd
}

// inOwnProcess tells whether this is the process of the test. If it is not, it has run the
// test in one, and reported.
func inOwnProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(childVar) == t.Name() {
		return true
	}
	out, err := child(t, "").CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("in its own process: %v", err)
	}
	return false
}

func TestNoSocketIsOpened(t *testing.T) {
	t.Parallel()
	if !inOwnProcess(t) {
		return
	}
	OpenForTest(t, Options{})
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		target, err := os.Readlink("/proc/self/fd/" + file.Name())
		if err == nil && strings.HasPrefix(target, "socket:") {
			t.Errorf("file %s is a %s", file.Name(), target)
		}
	}
	if len(files) < 5 {
		t.Errorf("only %d open files: this test looked in the wrong place", len(files))
	}
}

// writtenTo is a folder into which etcd may still write when the test is over: it makes its next log's file beside the
// start that failed.
func writtenTo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { // before the folder itself is removed, which is tried but once
		for range 100 {
			if os.RemoveAll(dir) == nil {
				return
			}
		}
	})
	return dir
}

func TestADamagedFolderIsAnErrorAndNotACrash(t *testing.T) {
	t.Parallel()
	if !inOwnProcess(t) {
		return
	}
	const log, database = "etcd/member/wal/0*.wal", "etcd/member/snap/db"
	for name, c := range map[string]struct {
		file   string
		damage func(t *testing.T, file string)
		want   string
	}{
		"the log":                 {log, scribble, "the store is damaged"},
		"the log's end":           {log, cutTo(3000), "its log ends before its database does"},
		"the log is empty":        {log, cutTo(0), "the store is damaged"},
		"the log is missing":      {log, remove, "its log is missing"},
		"the database":            {database, scribble, "the store is damaged"},
		"a page of the database":  {database, scribbleAt(2 * 4096), "its database cannot be read"},
		"the end of the database": {database, cutTo(8192), "its database cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Dir: writtenTo(t), Logger: slog.New(slog.DiscardHandler)}
			s, err := Open(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 400 {
				if err := s.put(t.Context(), "a", i); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(opts.Dir, c.file))
			if err != nil || len(files) == 0 {
				t.Fatalf("no files %s, %v", c.file, err)
			}
			for _, f := range files {
				c.damage(t, f)
			}
			_, err = Open(t.Context(), opts)
			if !fault.Is(err, fault.Permanent) || !strings.Contains(err.Error(), opts.Dir) ||
				!strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "hale restore BACKUP --force") {
				t.Errorf("open = %v, want %s naming the folder, %q and the way out", err, fault.Permanent, c.want)
			}
		})
	}
}

// A start that was killed before anything was stored leaves an empty database, or one without a log: no damage.
func TestAStartThatWasKilledIsNoDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := filepath.Join(dir, "etcd", "member", "snap", "db")
	if err := os.MkdirAll(filepath.Dir(database), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(database, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	OpenForTest(t, Options{Dir: dir})
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// cutTo leaves so many bytes of the file.
func cutTo(bytes int64) func(*testing.T, string) {
	return func(t *testing.T, file string) {
		t.Helper()
		if err := os.Truncate(file, bytes); err != nil {
			t.Fatal(err)
		}
	}
}

// scribble overwrites the beginning of the file, but for its first few bytes.
func scribble(t *testing.T, file string) {
	t.Helper()
	scribbleAt(64)(t, file)
}

// scribbleAt overwrites some pages of the file.
func scribbleAt(at int64) func(*testing.T, string) {
	return func(t *testing.T, file string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt(bytes.Repeat([]byte("damage"), 1500), at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKill9 lets a process commit numbers and say which were acknowledged, kills it at a
// random moment, and looks for them, several times on one folder.
func TestKill9(t *testing.T) {
	t.Parallel()
	if os.Getenv(childVar) == t.Name() {
		commitForEver(t, os.Getenv(folderVar))
		return
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	folder := t.TempDir()
	last := 0
	for range 5 {
		acknowledged := runAndKill(t, folder, 1+random.IntN(300))
		if acknowledged <= last {
			t.Fatalf("nothing was acknowledged after %d", last)
		}
		last = checkAfterKill(t, folder, acknowledged)
	}
}

// commitForEver is the process to be killed. It owns the folder's work by a lease of an hour.
func commitForEver(t *testing.T, folder string) {
	s := OpenForTest(t, Options{Dir: folder})
	ctx := t.Context()
	lease, err := s.Grant(ctx, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := s.Commit(ctx, state.Txn{
		If:   []state.Compare{state.Absent("owner")},
		Then: []state.Write{state.PutLeased("owner", nil, lease.ID())},
	})
	if err != nil {
		t.Fatalf("the predecessor still owns: %v", err)
	}
	entries, _, err := s.List(ctx, "n/")
	if err != nil {
		t.Fatal(err)
	}
	for i := len(entries) + 1; ; i++ {
		_, err := s.Commit(ctx, state.Txn{
			If: []state.Compare{state.Held("owner", owner, lease.ID())},
			Then: []state.Write{
				state.Put(number(i), nil),
				state.Put("latest", []byte(strconv.Itoa(i))),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(os.Stdout, "acknowledged", i); err != nil {
			t.Fatal(err)
		}
	}
}

func number(i int) string { return fmt.Sprintf("n/%08d", i) }

// runAndKill runs the process until it has acknowledged n commits, kills it and returns the
// last number that it acknowledged.
func runAndKill(t *testing.T, folder string, n int) (last int) {
	t.Helper()
	cmd := child(t, folder)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); { // to the end: all this was acknowledged
		said = append(said, lines.Text())
		i, isNumber := strings.CutPrefix(lines.Text(), "acknowledged ")
		if !isNumber {
			continue
		}
		if last, err = strconv.Atoi(i); err != nil {
			continue // the line was cut off by the kill
		}
		if n--; n == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if n > 0 {
		t.Fatalf("the process ended by itself:\n%s", strings.Join(said, "\n"))
	}
	return last
}

// checkAfterKill opens the folder, looks for all that was acknowledged, and returns how many
// numbers there are.
func checkAfterKill(t *testing.T, folder string, acknowledged int) int {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: folder, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := s.List(t.Context(), "n/")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(entries); n < acknowledged || n > acknowledged+1 {
		t.Errorf("%d numbers are there, want %d or, of unknown outcome, one more", n, acknowledged)
	}
	for i, e := range entries {
		if e.Key != number(i+1) {
			t.Fatalf("entry %d is %s, want %s", i, e.Key, number(i+1))
		}
	}
	latest, err := s.Get(t.Context(), "latest")
	if err != nil || string(latest.Value) != strconv.Itoa(len(entries)) {
		t.Errorf("latest is %s, %v, but %d numbers are there: half a transaction", latest.Value, err, len(entries))
	}
	if _, err := s.Get(t.Context(), "owner"); !fault.Is(err, fault.NotFound) {
		t.Errorf("the lease of the killed process lives on: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
