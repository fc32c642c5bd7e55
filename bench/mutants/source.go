package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// tree is the module to be mutated.
type tree struct {
	root   string // absolute
	module string
}

// loadTree finds the module that the folder lies in.
func loadTree(ctx context.Context, dir string) (tree, error) {
	out, err := goOutput(ctx, dir, "list", "-m", "-json=Path,Dir")
	if err != nil {
		return tree{}, err
	}
	var m struct{ Path, Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return tree{}, fmt.Errorf("go list -m: %w", err)
	}
	return tree{root: m.Dir, module: m.Path}, nil
}

// goOutput runs the go command in a folder and returns what it wrote to standard output.
func goOutput(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var out, complaint bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &complaint
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, complaint.Bytes())
	}
	return out.Bytes(), nil
}

// rel is a file's path below the root, with slashes.
func (t tree) rel(abs string) string {
	if r, err := filepath.Rel(t.root, abs); err == nil {
		return filepath.ToSlash(r)
	}
	return abs
}

// abs is the way back; an absolute path stays.
func (t tree) abs(rel string) string {
	if filepath.IsAbs(rel) {
		return rel
	}
	return filepath.Join(t.root, filepath.FromSlash(rel))
}

// importPath is the import path of a folder below the root.
func (t tree) importPath(dir string) string { return path.Join(t.module, dir) }

// source is one package of the tree, parsed, with the means to type-check changed versions of it.
type source struct {
	dir      string // below the root
	fset     *token.FileSet
	files    []*sourceFile
	info     *types.Info
	importer types.Importer
}

type sourceFile struct {
	path   string // below the root
	text   []byte
	syntax *ast.File
}

// listed is what go list says about a package.
type listed struct {
	ImportPath, Dir, Name, Export, ForTest string
	GoFiles, Deps                          []string
	DepOnly                                bool
}

// list runs go list with the flags over the patterns.
func (t tree) list(ctx context.Context, args ...string) ([]listed, error) {
	out, err := goOutput(ctx, t.root, append([]string{"list"}, args...)...)
	if err != nil {
		return nil, err
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}

// load parses and type-checks the packages that the patterns name. What they import is built, and read as export data.
func (t tree) load(ctx context.Context, patterns []string) ([]*source, error) {
	all, err := t.list(ctx,
		append([]string{"-export", "-deps", "-json=ImportPath,Dir,Name,GoFiles,Export,DepOnly", "--"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(what string) (io.ReadCloser, error) {
		if exports[what] == "" {
			return nil, fmt.Errorf("no export data for %s", what)
		}
		return os.Open(exports[what])
	})
	var sources []*source
	for _, p := range all {
		if p.DepOnly || len(p.GoFiles) == 0 {
			continue
		}
		s, err := t.parse(p, fset, imports)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

func (t tree) parse(p listed, fset *token.FileSet, imports types.Importer) (*source, error) {
	s := &source{dir: t.rel(p.Dir), fset: fset, importer: imports, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
	}}
	var syntax []*ast.File
	for _, name := range p.GoFiles {
		abs := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(abs)
		if err != nil {
			return nil, err
		}
		parsed, err := parser.ParseFile(fset, abs, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, &sourceFile{path: t.rel(abs), text: text, syntax: parsed})
		syntax = append(syntax, parsed)
	}
	conf := types.Config{Importer: imports}
	if _, err := conf.Check(p.ImportPath, fset, syntax, s.info); err != nil {
		return nil, fmt.Errorf("%s does not compile as it is: %w", p.ImportPath, err)
	}
	return s, nil
}

// check says why the package would not compile with some of its files changed, or nothing.
func (s *source) check(patch map[string][]byte) error {
	var syntax []*ast.File
	for _, f := range s.files {
		text, changed := patch[f.path]
		if !changed {
			syntax = append(syntax, f.syntax)
			continue
		}
		// A file set of its own would be cleaner, but a package's files share one; what it grows by is little.
		parsed, err := parser.ParseFile(s.fset, f.path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		syntax = append(syntax, parsed)
	}
	conf := types.Config{Importer: s.importer}
	_, err := conf.Check(s.dir, s.fset, syntax, nil)
	return err
}
