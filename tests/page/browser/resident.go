package browser

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Resident is the memory of all pages of the browser, in bytes: the proportional share of the processes that draw them.
func (b *Browser) Resident(t testing.TB) (total int) {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range commands {
		command, err := os.ReadFile(path)
		process := filepath.Dir(path)
		if err != nil || !bytes.Contains(command, []byte("--type=renderer")) || !ours(process) {
			continue
		}
		total += share(process)
	}
	require.Positive(t, total, "no process of a page was found")
	return total
}

// ours says that a process descends from this one.
func ours(process string) bool {
	parent := fmt.Sprintf("/proc/%d", os.Getpid())
	for process != parent {
		stat, err := os.ReadFile(process + "/stat")
		if err != nil {
			return false
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // of which the second is the parent
		if process = "/proc/" + fields[1]; process == "/proc/0" || process == "/proc/1" {
			return false
		}
	}
	return true
}

// share is the proportional share of a process, 0 of one that has ended.
func share(process string) int {
	text, err := os.ReadFile(process + "/smaps_rollup")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "\nPss:")
	kilobytes, _ := strconv.Atoi(strings.Fields(after + " 0")[0])
	return kilobytes << 10
}
