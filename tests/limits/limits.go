// Package limits holds what reading one input may cost. Whoever reads what others wrote is fuzzed within
// these bounds (`make fuzz`), and every input that was ever found beyond them is read again by each test run.
package limits

import (
	"flag"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"
)

// What 64 KiB of input may cost; more of it costs more in proportion.
const (
	unit  = 64 << 10
	spent = 10 * time.Millisecond // of processor time
	taken = 64 << 20              // bytes allocated, kept or not
	// perByte is what is allocated for each byte of an input, beyond taken.
	perByte = 64
)

const (
	tries = 5
	// counted is by how much slower the counters of coverage make what is fuzzed: three times for a reader of YAML.
	counted = 5
	// leisure is by how much slower the race detector and the collector of garbage may make a test that is not
	// fuzzing: what is looked for there are the inputs that took minutes.
	leisure = 50
)

// Hold fails the test when read, given an input of size bytes after unpacking, costs more than it may. What
// is measured is the least of some tries, in time of the processor, so that other work of the machine does
// not count.
func Hold(t testing.TB, size int, read func()) {
	t.Helper()
	slower := time.Duration(leisure)
	if fuzzing() {
		slower = counted
	}
	hold(t, size, slower, read)
}

func hold(t testing.TB, size int, slower time.Duration, read func()) {
	t.Helper()
	mostTime, mostBytes := slower*spent*time.Duration(max(unit, size))/unit, uint64(taken+perByte*size)
	var took time.Duration
	var allocated uint64
	for range tries {
		took, allocated = cost(read)
		if took <= mostTime && allocated <= mostBytes {
			return
		}
	}
	t.Fatalf("reading %d bytes took %s and %d MiB, at most %s and %d MiB", size, took, allocated>>20, mostTime, mostBytes>>20)
}

// fuzzing says that this process tries inputs of `go test -fuzz`.
func fuzzing() bool {
	worker := flag.Lookup("test.fuzzworker")
	return worker != nil && worker.Value.String() == "true"
}

func cost(read func()) (time.Duration, uint64) {
	before, allocated := processor(), allocations()
	read()
	return processor() - before, allocations() - allocated
}

// processor is the time that this process took of processors.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the system call knows no error but wrong arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// allocations is how many bytes this process has allocated since it began.
func allocations() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
