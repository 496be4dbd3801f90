package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"syscall"
)

// Figures are what one process, or several together, has used since it began, and what it holds now.
type Figures struct {
	// CPU is processor time in seconds, that of the system for it included, and GC the part of it that went into
	// collecting garbage.
	CPU float64 `json:"cpuSeconds"`
	GC  float64 `json:"gcSeconds"`
	// Target is the part of CPU that members in memory took, as far as a profile was asked for.
	Target float64 `json:"targetSeconds,omitempty"`
	// Allocated is in bytes, Allocations in objects.
	Allocated   float64 `json:"allocatedBytes"`
	Allocations float64 `json:"allocations"`
	// Live and RSS are bytes now: reachable at the last collection, and resident.
	Live       float64 `json:"liveBytes"`
	RSS        float64 `json:"rssBytes"`
	Goroutines float64 `json:"goroutines"`
}

// figuresNow are those of this process.
func figuresNow() (Figures, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return Figures{}, fmt.Errorf("asking for the processor time: %w", err)
	}
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/allocs:objects"},
		{Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	return Figures{
		CPU:       float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9,
		GC:        samples[0].Value.Float64(),
		Allocated: float64(samples[1].Value.Uint64()), Allocations: float64(samples[2].Value.Uint64()),
		Live: float64(samples[3].Value.Uint64()), RSS: resident(),
		Goroutines: float64(runtime.NumGoroutine()),
	}, nil
}

// resident is in bytes, 0 where the system does not tell as Linux does.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages float64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize())
}

// since is what was used after before; what is held is that of now.
func (f Figures) since(before Figures) Figures {
	f.CPU -= before.CPU
	f.GC -= before.GC
	f.Target -= before.Target
	f.Allocated -= before.Allocated
	f.Allocations -= before.Allocations
	return f
}

// and adds the figures of another process.
func (f Figures) and(other Figures) Figures {
	f.CPU += other.CPU
	f.GC += other.GC
	f.Target += other.Target
	f.Allocated += other.Allocated
	f.Allocations += other.Allocations
	f.Live += other.Live
	f.RSS += other.RSS
	f.Goroutines += other.Goroutines
	return f
}
