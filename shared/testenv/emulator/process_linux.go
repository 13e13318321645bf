package emulator

import "syscall"

// diesWithParent says whether the system ends an emulator when the process that started it is killed outright.
const diesWithParent = true

// ownGroup puts a child into its own process group and has the kernel kill it when the thread that started it ends: a test
// binary that panics, times out or is killed leaves no Java behind. See process.run for the thread.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
