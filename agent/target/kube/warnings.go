package kube

import (
	"context"
	"sync"
)

const (
	// warningCode is that of the warnings of an API server.
	warningCode = 299
	// mostWarnings bounds how many are known at once; then all are told anew.
	mostWarnings = 100
)

// warnings hear what the API server says with its answers, such as that a version of a kind is deprecated: each time,
// so each is told once.
type warnings struct {
	told func(text string)

	mu    sync.Mutex
	known map[string]bool
}

func newWarnings(told func(text string)) *warnings {
	if told == nil {
		told = func(string) {}
	}
	return &warnings{told: told, known: map[string]bool{}}
}

// HandleWarningHeaderWithContext is called with each warning of each answer.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	if code == warningCode && text != "" && w.first(text) {
		w.told(text)
	}
}

func (w *warnings) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known[text] {
		return false
	}
	if len(w.known) >= mostWarnings {
		clear(w.known)
	}
	w.known[text] = true
	return true
}
