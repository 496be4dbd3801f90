package loop

import "sync"

// Works are what goes on until somebody ends it, and waits for it. The zero value has begun nothing.
type Works struct {
	mu    sync.Mutex
	ended bool
	all   sync.WaitGroup
}

// Go has work done beside; false where nothing begins any more.
func (w *Works) Go(work func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.all.Go(work)
	}
	return !w.ended
}

// End has nothing begin any more, and waits for what goes on: whoever calls it has told that to end.
func (w *Works) End() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.all.Wait()
}
