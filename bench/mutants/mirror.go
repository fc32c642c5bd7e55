package main

import (
	"os"
	"path/filepath"
	"strings"
)

// mirror makes a folder that looks like the tree from within one package. Links lead to what a test reads by a relative
// path. What a test writes beside itself, such as an input that made it fail, stays in the mirror, where no later run
// finds it. It returns the package's folder in the mirror.
func mirror(root, pkg, to string) (string, error) {
	rel, err := filepath.Rel(root, pkg)
	if err != nil {
		return "", err
	}
	from := root
	for step := range strings.SplitSeq(filepath.Clean(rel), string(filepath.Separator)) {
		if step == "." {
			break
		}
		if err := linkAll(from, to, step); err != nil {
			return "", err
		}
		from, to = filepath.Join(from, step), filepath.Join(to, step)
	}
	return to, copyFolders(from, to)
}

// linkAll makes the folder to with a link to each thing in from, but one.
func linkAll(from, to, but string) error {
	if err := os.MkdirAll(to, 0o750); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == but {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyFolders makes the folder to with folders where from has folders, and links to all else. Hidden folders are
// linked.
func copyFolders(from, to string) error {
	if err := os.MkdirAll(to, 0o750); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		was, is := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			err = copyFolders(was, is)
		} else {
			err = os.Symlink(was, is)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
