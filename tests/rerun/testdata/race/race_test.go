package race

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRaces has a data race the first time in a folder.
func TestRaces(t *testing.T) {
	path := filepath.Join(os.Getenv("PLANTED"), "ran")
	if _, err := os.Stat(path); err == nil {
		return
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n, done := 0, make(chan struct{})
	go func() {
		n++
		close(done)
	}()
	n++
	<-done
	t.Log(n)
}
