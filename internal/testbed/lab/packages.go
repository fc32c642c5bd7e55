package lab

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// kernelMetas are the packages that lead to the newest kernel image, best first: the small cloud
// kernel of Debian, Ubuntu's for virtual machines, then the general ones.
var kernelMetas = []string{"linux-image-cloud-amd64", "linux-image-virtual", "linux-image-generic", "linux-image-amd64"}

// unpackPackages downloads the guest's packages and unpacks them below dir.
// Nothing is installed on the host.
func unpackPackages(ctx context.Context, dir string) error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("the lab's guest exists for amd64 only, this is %s", runtime.GOARCH)
	}
	names, err := guestPackages(ctx)
	if err != nil {
		return err
	}
	if _, err := run(ctx, dir, "apt-get", append([]string{"-q", "download"}, names...)...); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range debs {
		if _, err := run(ctx, dir, "dpkg", "-x", deb, dir); err != nil {
			return err
		}
		if err := os.Remove(deb); err != nil {
			return err
		}
	}
	return nil
}

// guestPackages returns the kernel image, its modules where they are a package of their own, and busybox.
// Package lists that are missing are fetched once.
func guestPackages(ctx context.Context) ([]string, error) {
	image, err := kernelPackage(ctx)
	if err != nil {
		if _, err := run(ctx, "", "apt-get", "-q", "update"); err != nil {
			return nil, err
		}
		if image, err = kernelPackage(ctx); err != nil {
			return nil, err
		}
	}
	needs, err := aptDepends(ctx, image)
	if err != nil {
		return nil, err
	}
	names := []string{image, "busybox-static"}
	for _, need := range needs {
		if strings.HasPrefix(need, "linux-modules-") {
			names = append(names, need)
		}
	}
	return names, nil
}

func kernelPackage(ctx context.Context) (string, error) {
	for _, meta := range kernelMetas {
		needs, err := aptDepends(ctx, meta)
		if err != nil {
			continue // this distribution has no such package
		}
		for _, need := range needs {
			if strings.HasPrefix(need, "linux-image-") {
				return need, nil
			}
		}
	}
	return "", fmt.Errorf("apt knows none of %s", strings.Join(kernelMetas, ", "))
}

// aptDepends returns the direct dependencies of a package.
func aptDepends(ctx context.Context, name string) ([]string, error) {
	out, err := run(ctx, "", "apt-cache", "depends", name)
	if err != nil {
		return nil, err
	}
	var needs []string
	lines := bufio.NewScanner(strings.NewReader(out))
	for lines.Scan() {
		line := strings.TrimLeft(lines.Text(), " |")
		if need, ok := strings.CutPrefix(line, "Depends: "); ok {
			needs = append(needs, need)
		}
	}
	return needs, lines.Err()
}

// run executes a program in dir and returns its standard output; an error carries what it complained about.
func run(ctx context.Context, dir, name string, arg ...string) (string, error) {
	var out, msg bytes.Buffer
	cmd := exec.CommandContext(ctx, name, arg...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &msg
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(arg, " "), err,
			bytes.TrimSpace(msg.Bytes()))
	}
	return out.String(), nil
}
