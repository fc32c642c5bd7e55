package tidy

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is the source tree as the rules see it: every file that is, or would be, committed.
type Tree struct {
	fset  *token.FileSet
	files []File // sorted by path
	known map[string]bool
}

// File is one file of the tree. Only Go files have syntax, and only those that parse.
type File struct {
	Path   string // slash-separated, relative to the root
	Text   string
	Mode   fs.FileMode
	syntax *ast.File
	broken error // why a Go file does not parse
}

// Finding is one breach of a rule.
type Finding struct {
	Where string // path, or path:line
	What  string
}

// Load reads the tree below root: what git tracks or would track, or every file where there is no git.
func Load(ctx context.Context, root string) (Tree, error) {
	paths, err := list(ctx, root)
	if err != nil {
		return Tree{}, err
	}
	var files []File
	for _, p := range paths {
		name := filepath.Join(root, filepath.FromSlash(p))
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue // deleted but not yet committed, or a symbolic link
		}
		if err != nil {
			return Tree{}, err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return Tree{}, err
		}
		files = append(files, File{Path: p, Text: string(text), Mode: info.Mode()})
	}
	return newTree(files), nil
}

func list(ctx context.Context, root string) ([]string, error) {
	git := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if out, err := git.Output(); err == nil {
		paths := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		slices.Sort(paths)
		return slices.Compact(paths), nil
	}
	var paths []string
	err := fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (p == ".git" || generated(p+"/")):
			return fs.SkipDir
		case d.Type().IsRegular():
			paths = append(paths, p)
		}
		return nil
	})
	return paths, err
}

// generated tells the folders that are made by a build or a run, and so are in no checkout.
func generated(p string) bool {
	for _, prefix := range []string{"bin/", ".demo/", "bench/out/"} {
		if strings.HasPrefix(p, prefix) {
			return true
		}
	}
	return false
}

func newTree(files []File) Tree {
	t := Tree{fset: token.NewFileSet(), known: map[string]bool{}}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range files {
		if f.isGo() {
			f.syntax, f.broken = parser.ParseFile(t.fset, f.Path, f.Text, parser.ParseComments)
		}
		if f.broken != nil {
			f.syntax = nil
		}
		t.files = append(t.files, f)
		for p := f.Path; p != "." && !t.known[p]; p = path.Dir(p) {
			t.known[p] = true
		}
	}
	return t
}

// isGo tells the Go files of the product; what lies in testdata is data.
func (f File) isGo() bool {
	return strings.HasSuffix(f.Path, ".go") && !strings.Contains("/"+f.Path, "/testdata/")
}

func (f File) isTest() bool     { return strings.HasSuffix(f.Path, "_test.go") }
func (f File) isMarkdown() bool { return strings.HasSuffix(f.Path, ".md") }

// supports tells files that only tests are built with: support packages and the ports' exams.
func (f File) supports() bool {
	r, _ := roomOf(f.dir())
	return r.support || r.floor == 1 && strings.HasSuffix(r.path, "test")
}

// dir is the folder of the file, which is the import path without the module's name; "" at the root.
func (f File) dir() string {
	if d := path.Dir(f.Path); d != "." {
		return d
	}
	return ""
}

// goFiles are the Go files that parse.
func (t Tree) goFiles() []File {
	return slices.DeleteFunc(slices.Clone(t.files), func(f File) bool { return f.syntax == nil })
}

// product are the Go files that are neither tests nor support for tests.
func (t Tree) product() []File {
	return slices.DeleteFunc(t.goFiles(), func(f File) bool {
		return f.isTest() || f.supports()
	})
}

func (t Tree) markdown() []File {
	return slices.DeleteFunc(slices.Clone(t.files), func(f File) bool { return !f.isMarkdown() })
}

// at renders the place of a node.
func (t Tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return place(p.Filename, p.Line)
}

func (t Tree) lines(n ast.Node) int {
	return t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1
}
