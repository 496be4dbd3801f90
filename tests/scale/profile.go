package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
)

// targetPackage is what members in memory are made of: in production an API server has their work.
const targetPackage = "flotilla/agent/target/memory."

// profiler takes profiles of the processor time of this process, one at a time.
type profiler struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *profiler) handle(mux *http.ServeMux) {
	mux.HandleFunc("/profile/start", answer(func(context.Context, struct{}) (struct{}, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.text.Reset()
		return struct{}{}, pprof.StartCPUProfile(&p.text)
	}))
	mux.HandleFunc("/profile/stop", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		pprof.StopCPUProfile()
		_, _ = w.Write(p.text.Bytes()) // who asked went away
	})
}

// profile begins to take profiles of agents, and of the hub where they are kept; what it returns ends that, and says how much
// of so many seconds of agents were those of their members in memory.
func (f *fleet) profile(ctx context.Context, step string) (end func(seconds float64) (float64, error), err error) {
	processes := f.agents
	if f.profiles != "" {
		processes = append([]*child{f.hub}, f.agents...)
	}
	for _, process := range processes {
		if err := process.ask(ctx, "/profile/start", struct{}{}, &struct{}{}); err != nil {
			return nil, err
		}
	}
	return func(seconds float64) (float64, error) {
		var within, all float64
		for _, process := range processes {
			p, err := f.profiled(ctx, step, process)
			if err != nil {
				return 0, fmt.Errorf("the profile of %s: %w", process.name, err)
			}
			if process != f.hub {
				w, a := p.within(targetPackage)
				within, all = within+w, all+a
			}
		}
		if all == 0 {
			return 0, nil
		}
		return seconds * within / all, nil
	}, nil
}

// profiled ends the profile of a process, and keeps it where profiles are kept.
func (f *fleet) profiled(ctx context.Context, step string, process *child) (*profile, error) {
	var text []byte
	if err := process.ask(ctx, "/profile/stop", struct{}{}, &text); err != nil {
		return nil, err
	}
	if f.profiles != "" {
		file := strings.ReplaceAll(f.profiles+"-"+step+"-"+process.name, " ", "-") + ".pprof"
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return nil, err
		}
	}
	return parseProfile(text)
}

// profile is what is read of one: for each sample the last of its values, and where it was taken.
type profile struct {
	samples   []sample
	functions map[uint64]int64    // number of the name by that of the function
	locations map[uint64][]uint64 // functions
	texts     []string
}

type sample struct {
	locations []uint64
	value     float64
}

// within adds up the samples that have a function of a package on their stack, and all.
func (p *profile) within(prefix string) (within, all float64) {
	for _, s := range p.samples {
		all += s.value
		if p.passes(s.locations, prefix) {
			within += s.value
		}
	}
	return within, all
}

func (p *profile) passes(locations []uint64, prefix string) bool {
	for _, location := range locations {
		for _, function := range p.locations[location] {
			if name := p.functions[function]; name < int64(len(p.texts)) && strings.HasPrefix(p.texts[name], prefix) {
				return true
			}
		}
	}
	return false
}
