package bustest

import (
	"testing"
	"time"
)

const (
	eventually = 30 * time.Second
	pollEvery  = 5 * time.Millisecond
)

// Eventually polls cond until it returns nil, at most for 30 s; then it fails with the last error,
// which should therefore say what the state is.
func Eventually(t testing.TB, cond func() error) {
	t.Helper()
	EventuallyIn(t, eventually, cond)
}

// EventuallyIn is Eventually with its own limit.
func EventuallyIn(t testing.TB, within time.Duration, cond func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := cond()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s; last: %v", within, err)
		}
		<-tick.C
	}
}
