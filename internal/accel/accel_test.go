package accel

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDetectSaysKVMOnlyWhereBothProcessorAndKernelAgree(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		cpuinfo string
		create  bool
		want    Accel
		reason  string
	}{
		"intel with kvm": {"processor\t: 0\nflags\t\t: fpu vmx sse\n", true, KVM, "both agree"},
		"amd with kvm":   {"flags\t\t: fpu svm\n", true, KVM, "both agree"},
		"device without cpu": {
			"flags\t\t: fpu sse\n",
			true,
			TCG,
			"a device node without the processor's feature is a trap",
		},
		"cpu without device": {"flags\t\t: fpu vmx\n", false, TCG, "no VM can be made"},
		"flag inside a word": {"flags\t\t: fpu vmxnet svm_lock\n", true, TCG, "flags are whole words"},
		"vmx flags line only": {
			"vmx flags\t: ept vmx\nflags\t\t: fpu\n", true, TCG, "another line is not the flags line",
		},
		"empty": {"", true, TCG, "nothing is known"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "cpuinfo")
			if err := os.WriteFile(path, []byte(c.cpuinfo), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := detect(path, func() bool { return c.create }); got != c.want {
				t.Errorf("detect = %s, want %s: %s", got, c.want, c.reason)
			}
		})
	}
}

func TestDetectWithoutProcIsTCG(t *testing.T) {
	t.Parallel()
	got := detect(filepath.Join(t.TempDir(), "absent"), func() bool { return true })
	if got != TCG {
		t.Errorf("detect = %s, want %s", got, TCG)
	}
}

func TestDomainType(t *testing.T) {
	t.Parallel()
	if KVM.DomainType() != "kvm" || TCG.DomainType() != "qemu" {
		t.Errorf("domain types %q and %q, want kvm and qemu", KVM.DomainType(), TCG.DomainType())
	}
}
