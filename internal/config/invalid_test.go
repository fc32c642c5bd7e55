package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hale/internal/keys"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the generated documents and the expected problems anew")

// TestS57InvalidConfigurations reads each story in testdata/invalid: what is written, and exactly what is said about
// it.
func TestS57InvalidConfigurations(t *testing.T) {
	t.Parallel()
	stories, err := filepath.Glob("testdata/invalid/*.txtar")
	if err != nil || len(stories) < 30 {
		t.Fatalf("%d stories, %v", len(stories), err)
	}
	for _, story := range stories {
		t.Run(strings.TrimSuffix(filepath.Base(story), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(story)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			want := unpack(t, archive, folder)
			path := filepath.Join(folder, "hale.d")
			if _, err := os.Stat(path); err != nil {
				path = filepath.Join(folder, "hale.yaml")
			}
			c, err := loaded(path)
			var problems keys.Problems
			if !errors.As(err, &problems) || c != nil {
				t.Fatalf("no problem was found: %v, %v", c, err)
			}
			got := strings.ReplaceAll(problems.Error(), folder+string(filepath.Separator), "") + "\n"
			if *update {
				rewrite(t, story, archive, got)
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// unpack writes the archive's files into the folder and returns what is wanted.
func unpack(t *testing.T, archive *txtar.Archive, folder string) string {
	t.Helper()
	want := ""
	for _, f := range archive.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		path := filepath.Join(folder, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return want
}

func rewrite(t *testing.T, story string, archive *txtar.Archive, got string) {
	t.Helper()
	for i := range archive.Files {
		if archive.Files[i].Name == "want" {
			archive.Files[i].Data = []byte(got)
		}
	}
	if err := os.WriteFile(story, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}
