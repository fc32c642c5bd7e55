package main

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strconv"
)

// overlay writes a mutant's files into a folder, with the description that makes the go command read them in place of
// the tree's own, and returns the description's path. The tree is not touched.
func overlay(t tree, m mutant, dir string) (string, error) {
	replace := map[string]string{}
	n := 0
	for file, text := range m.patch {
		n++
		changed := filepath.Join(dir, strconv.Itoa(n)+"-"+path.Base(file))
		if err := os.WriteFile(changed, text, 0o600); err != nil {
			return "", err
		}
		replace[t.abs(file)] = changed
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	description := filepath.Join(dir, "overlay.json")
	return description, os.WriteFile(description, data, 0o600)
}
