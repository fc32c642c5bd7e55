// Package accel answers one question: how will QEMU run a guest's instructions on this machine?
//
// It promises to say KVM only where a virtual machine can really be made: the processor
// announces vmx or svm, /dev/kvm opens, and the kernel creates a VM. A device node alone
// proves nothing: on hosts that are virtual machines themselves it can exist, open and even
// be advertised by libvirt without the processor behind it. It does not start QEMU, and it
// speaks for amd64 only; elsewhere it says TCG.
package accel

import (
	"bytes"
	"io"
	"os"
	"strings"
)

// Accel is a way to run guest instructions.
type Accel string

// The ways.
const (
	KVM Accel = "kvm" // in hardware
	TCG Accel = "tcg" // translated by QEMU
)

// DomainType returns the type attribute of a libvirt domain for a.
func (a Accel) DomainType() string {
	if a == KVM {
		return "kvm"
	}
	return "qemu"
}

// Detect looks at this machine. It never fails: what cannot be shown to work is TCG.
func Detect() Accel {
	return detect("/proc/cpuinfo", canCreateVM)
}

func detect(cpuinfo string, create func() bool) Accel {
	f, err := os.Open(cpuinfo)
	if err != nil {
		return TCG
	}
	defer f.Close()
	if hasVirtFlag(f) && create() {
		return KVM
	}
	return TCG
}

// hasVirtFlag reports whether the first processor's flags contain vmx or svm.
func hasVirtFlag(r io.Reader) bool {
	data, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(data) {
		key, flags, _ := strings.Cut(string(line), ":")
		if strings.TrimSpace(key) != "flags" {
			continue
		}
		for flag := range strings.FieldsSeq(flags) {
			if flag == "vmx" || flag == "svm" {
				return true
			}
		}
		return false
	}
	return false
}
