package accel

import "golang.org/x/sys/unix"

// kvmCreateVM is KVM_CREATE_VM of linux/kvm.h.
const kvmCreateVM = 0xAE01

// canCreateVM makes an empty VM and lets it go again.
func canCreateVM() bool {
	fd, err := unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	vm, err := unix.IoctlRetInt(fd, kvmCreateVM)
	if err != nil {
		return false
	}
	unix.Close(vm)
	return true
}
