// Package programtest writes the programs that tests run.
//
// It promises that what was written can be executed at once. A process that another test forks in that moment holds the
// file open for writing until it executes its own program. Meanwhile the kernel says "text file busy".
package programtest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Write writes an executable file, over one that is there.
func Write(path, text string) error {
	syscall.ForkLock.RLock() // no process starts meanwhile
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o700) //nolint:gosec // a program is executable
}

// Script writes a program of the shell into a folder of the test's own, and returns its path.
func Script(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := Write(path, "#!/bin/sh\n"+text); err != nil {
		t.Fatal(err)
	}
	return path
}
