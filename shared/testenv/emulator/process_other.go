//go:build !linux

package emulator

import "syscall"

// diesWithParent says whether the system ends an emulator when the process that started it is killed outright.
const diesWithParent = false

// ownGroup puts a child into its own process group. Without Linux's parent-death signal only Stop ends it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
