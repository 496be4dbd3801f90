package disruption

import (
	"fmt"
	"syscall"
	"testing"

	"flotilla/core/api"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// BenchmarkMixed measures passes over members whose nodes and pods differ: 500 shapes of pods, 30 % of which are
// spread or kept apart. Packed/Single is a whole fruitless pass over every node.
func BenchmarkMixed(b *testing.B) {
	for _, n := range []int{100, 500, 2000} {
		for _, fill := range []string{"slack", "packed"} {
			s := simulatetest.Mixed(n, 500, fill == "packed", 1).State()
			b.Run(fmt.Sprintf("Multi/%s/%d", fill, n), func(b *testing.B) {
				mixedPass(b, s, fill == "slack", func(d *deciding) []Command { return d.multi(api.ReasonUnderutilized) })
			})
			b.Run(fmt.Sprintf("Single/%s/%d", fill, n), func(b *testing.B) {
				mixedPass(b, s, fill == "slack", func(d *deciding) []Command { return d.single(api.ReasonUnderutilized) })
			})
		}
	}
}

// mixedPass repeats a pass that does or does not find something, and reports the processor time of one: other than
// the time by the clock it tells little of what else runs on the machine.
func mixedPass(b *testing.B, s *simulate.State, fruitful bool, pass func(*deciding) []Command) {
	b.ReportAllocs()
	evaluated, before := 0, processorTime(b)
	for b.Loop() {
		d := begin(s)
		if found := pass(d); (len(found) > 0) != fruitful {
			b.Fatalf("%d commands: %v", len(found), found)
		}
		evaluated = d.out.Evaluated
	}
	b.ReportMetric((processorTime(b)-before)/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(evaluated), "simulations/pass")
}

// processorTime is what the process has taken so far, in milliseconds.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}
