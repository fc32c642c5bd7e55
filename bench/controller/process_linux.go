package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"hale/bench/rig"
)

// program is hale, with its log.
type program struct {
	*rig.Program
	log *os.File
}

// begin starts hale with the configuration and the state in the folder.
func begin(hale, dir string, args ...string) (*program, error) {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), hale, append([]string{"run", filepath.Join(dir, "hale.yaml"),
		"--data-dir", filepath.Join(dir, "data")}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := rig.Start(cmd)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &program{Program: p, log: log}, nil
}

func (p *program) end() {
	_ = p.Stop() // how it ended is in its log
	_ = p.log.Close()
}

// folder is the size of a folder in MiB.
func folder(path string) float64 {
	total := 0.0
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a file that has gone meanwhile
		}
		if info, err := d.Info(); err == nil {
			if s, is := info.Sys().(*syscall.Stat_t); is && info.Mode().IsRegular() {
				total += float64(s.Blocks) * 512
			}
		}
		return nil
	})
	return total / (1 << 20)
}

// silence lets these addresses, and no others, answer nothing any more.
func silence(ctx context.Context, dir string, addresses []string) error {
	var b strings.Builder
	b.WriteString("table ip field\ndelete table ip field\ntable ip field {\n  set silent { type ipv4_addr;\n")
	if len(addresses) > 0 {
		b.WriteString("    elements = { " + strings.Join(addresses, ", ") + " }\n")
	}
	b.WriteString("  }\n  chain in { type filter hook input priority 0; ip daddr @silent icmp type echo-request " +
		"drop; }\n}\n")
	file := filepath.Join(dir, "silent.nft")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "nft", "-f", file).CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out[:min(len(out), 300)])
	}
	return nil
}
