// Package memory has a process keep to what it may use, so that the garbage collector works harder before the system kills
// it.
package memory

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/rs/zerolog"

	"flotilla/configs"
	"flotilla/core/api"
)

// part is what of the limit of its cgroup a process keeps to: the rest is for what is not the heap's.
const part = 0.9

// Keep has the process keep to an amount that configs.ParseSize reads, which was checked: none with "0", and when it is
// empty to GOMEMLIMIT or else nine tenths of what its cgroup allows, if that allows no more than some.
func Keep(wanted string, log zerolog.Logger) {
	limit, from := choose(wanted, os.Getenv("GOMEMLIMIT") != "", memlimit.FromCgroup)
	if limit == 0 {
		return
	}
	debug.SetMemoryLimit(limit)
	log.Info().Str("limit", api.Size(limit)).Str("from", from).Msg("keeping to an amount of memory")
}

// Kept is what the process keeps to, in bytes; more than any machine has where it keeps to nothing.
func Kept() int64 { return debug.SetMemoryLimit(-1) }

// choose is the limit, in bytes, and where it is from; 0 leaves the process as it was started.
func choose(wanted string, inEnvironment bool, cgroup func() (uint64, error)) (limit int64, from string) {
	switch bytes, _ := configs.ParseSize(wanted); {
	case bytes > 0:
		return bytes, "memoryLimit"
	case bytes < 0 || inEnvironment:
		return 0, ""
	}
	allowed, err := cgroup()
	if err != nil || allowed == 0 || allowed > 1<<60 {
		return 0, ""
	}
	return int64(part * float64(allowed)), "the cgroup of the process"
}
