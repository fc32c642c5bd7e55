//go:build !linux

package accel

// canCreateVM says no: KVM is Linux's.
func canCreateVM() bool { return false }
