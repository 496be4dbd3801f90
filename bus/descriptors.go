package bus

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// Descriptors is how many files and connections this process may have open at once. At its start Go has raised that as far as the
// system lets it.
func Descriptors() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("looking how many files this process may open: %w", err)
	}
	return int(min(limit.Cur, math.MaxInt32)), nil
}
