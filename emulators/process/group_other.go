//go:build !linux

package process

import "syscall"

// groupOfItsOwn puts a child into its own process group. Only Linux can tie its life to the stack's.
func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
