package process

import "syscall"

// groupOfItsOwn puts a child into its own process group and has the kernel kill it if the stack dies without stopping it.
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
