package command

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// process tells one process from every other that had or will have its pid.
type process struct {
	PID int `json:"pid"`
	// Start is the boot of the machine and the tick at which the process was started; empty where the
	// system has no /proc, and then the pid alone must do.
	Start string `json:"start,omitempty"`
}

// processOf describes a process that lives.
func processOf(pid int) process {
	start, _ := startOf(pid)
	return process{PID: pid, Start: start}
}

// alive reports whether the process runs.
func (p process) alive() bool {
	if p.PID <= 0 {
		return false
	}
	if err := syscall.Kill(p.PID, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	if p.Start == "" {
		return true
	}
	start, runs := startOf(p.PID)
	return runs && start == p.Start
}

// startOf reads when a process was started; false when it is over or cannot be read.
func startOf(pid int) (string, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false
	}
	// The name of the program stands in parentheses and may hold anything; what follows it begins with
	// the state, field 3 of proc(5), and has the start time, field 22, at 19.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const stateField, startField = 0, 19
	if len(fields) <= startField || fields[stateField] == "Z" || fields[stateField] == "X" {
		return "", false
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[startField], true
}
