package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"kesoku.dev/emulators/stack"
)

// ourselves is the name under which this process's own processor time is told: driver, stand-ins, bridge and meter.
const ourselves = "bench"

// userHz is the unit of processor times in /proc, on every Linux that Go runs on.
const userHz = 100

// memoryOf returns the most memory that each function's process ever had resident, in bytes; none where there is no /proc.
func memoryOf(s *stack.Stack) map[string]int64 {
	out := map[string]int64{}
	for name, f := range s.Functions {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.PID()))
		if err != nil {
			continue // no Linux
		}
		if kb, ok := peakOf(status); ok {
			out[name] = kb << 10
		}
	}
	return out
}

// peakOf finds VmHWM in a process's status, in kibibytes.
func peakOf(status []byte) (int64, bool) {
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, false
	}
	kb, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kb, err == nil
}

// cpuOf returns the processor time that each function's process has used, and this one's own.
func cpuOf(s *stack.Stack) map[string]time.Duration {
	out := map[string]time.Duration{}
	for name, f := range s.Functions {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.PID()))
		if err != nil {
			continue // no Linux
		}
		if used, ok := cpuIn(stat); ok {
			out[name] = used
		}
	}
	var own syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &own) == nil {
		out[ourselves] = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	}
	return out
}

// cpuIn reads user and system time off a process's stat: fields 14 and 15, counted behind the name, which may hold blanks.
func cpuIn(stat []byte) (time.Duration, bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, false
	}
	u, errU := strconv.ParseInt(string(fields[user]), 10, 64)
	s, errS := strconv.ParseInt(string(fields[system]), 10, 64)
	return time.Duration(u+s) * (time.Second / userHz), errU == nil && errS == nil
}

// perMessage is the time used between two looks, in milliseconds for each message.
func perMessage(now, before map[string]time.Duration, messages int) map[string]float64 {
	out := map[string]float64{}
	for name, used := range now {
		out[name] = round2(milliseconds(used-before[name]) / float64(max(messages, 1)))
	}
	return out
}
