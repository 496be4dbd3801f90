package gate

import (
	"fmt"
	"math"
	"syscall"
)

// Descriptors is how many files and connections this process may have open at once. At its start Go has raised that as far as the
// system lets it.
func Descriptors() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("looking how many files this process may open: %w", err)
	}
	return int(min(limit.Cur, math.MaxInt32)), nil
}
