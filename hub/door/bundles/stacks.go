package bundles

import (
	"context"
	"errors"
	"sync"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/content"
)

const (
	// mostKnown is of how many bodies a hub remembers the places at least: more than one change concerns (H44).
	mostKnown = 400_000
	// readsAtOnce is how many works are read at a time.
	readsAtOnce = 4
)

// Stacks remember, of works that name others, which bodies those carry: it is read from the work once, and not where this hub
// laid it out. Its methods may be called from any goroutine.
type Stacks struct {
	content *streams.Content

	mu     sync.Mutex
	by     map[string][]pack // by the digest of the work
	before map[string][]pack // what was known longer: what is not asked for is forgotten
	known  int               // bodies of by
}

// pack is a bundle that another work names, and which of its bodies are known, of so many at least.
type pack struct {
	work   string
	bodies int
	known  []body
}

// body is the digest of a body, and which of its bundle it is.
type body struct {
	at     int
	digest string
}

// NewStacks returns stacks of works that are stored.
func NewStacks(stored *streams.Content) *Stacks {
	return &Stacks{content: stored, by: map[string][]pack{}}
}

// stackOf are the bundles that a work names, with what it knows of them. Where its own bundle carries much it is one of them: the works of
// earlier hubs did.
func stackOf(digest string, work *api.Work, carries int) (stack []pack) {
	carriers := content.Carriers(digest, work)
	if carries < apart {
		carriers = carriers[1:]
	}
	for _, carrier := range carriers {
		one := pack{work: carrier.Work, bodies: len(carrier.Manifests)}
		for i := range carrier.Manifests {
			if digest := carrier.Manifests[i].Digest; digest != "" {
				one.known = append(one.known, body{i, digest})
			}
		}
		stack = append(stack, one)
	}
	return stack
}

func earlierOf(stack []pack) (out []content.Earlier) {
	for _, one := range stack {
		carrier := content.Earlier{Work: one.work, Manifests: make([]api.Manifest, one.bodies)}
		for _, known := range one.known {
			carrier.Manifests[known.at].Digest = known.digest
		}
		out = append(out, carrier)
	}
	return out
}

// of are the bundles that carry what snapshots held: those without packs, and those that are known.
func (s *Stacks) of(kept []store.Entry[api.Snapshot]) (out [][]content.Earlier) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range kept {
		one := &kept[i].Value
		if len(one.Packs) == 0 {
			out = append(out, []content.Earlier{{Work: one.Work, Manifests: one.Manifests}})
		} else if stack, _ := s.find(one.Work); len(stack) > 0 {
			out = append(out, earlierOf(stack))
		}
	}
	return out
}

func (s *Stacks) knows(work string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.find(work)
	return known
}

// find finds what a work names, and remembers it for longer. The lock is held.
func (s *Stacks) find(work string) (stack []pack, known bool) {
	if stack, known = s.by[work]; known {
		return stack, true
	}
	if stack, known = s.before[work]; known {
		s.keep(work, stack)
	}
	return stack, known
}

// keep remembers what a work names. The lock is held.
func (s *Stacks) keep(work string, stack []pack) {
	if s.known > mostKnown {
		s.before, s.by, s.known = s.by, map[string][]pack{}, 0
	}
	s.by[work] = stack
	s.known++
	for i := range stack {
		s.known += 1 + len(stack[i].known)
	}
}

// note remembers what a work names. What is forgotten for it is read again when it is needed.
func (s *Stacks) note(work string, stack []pack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.find(work); !known {
		s.keep(work, stack)
	}
}

// read reads works, of which nothing is built upon those that are lost.
func (s *Stacks) read(ctx context.Context, works []string) error {
	faults, places := make([]error, len(works)), make(chan struct{}, readsAtOnce)
	var reading sync.WaitGroup
	for i, digest := range works {
		places <- struct{}{}
		reading.Go(func() {
			defer func() { <-places }()
			work, carries, err := s.content.Bundled(ctx, digest)
			switch {
			case err == nil:
				s.note(digest, stackOf(digest, &work, carries))
			case errors.Is(err, bus.ErrNotFound), errors.Is(err, bus.ErrCorrupt):
				s.note(digest, nil)
			default:
				faults[i] = err
			}
		})
	}
	reading.Wait()
	return errors.Join(faults...)
}
