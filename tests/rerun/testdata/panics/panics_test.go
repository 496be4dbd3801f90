package panics

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPanics panics the first time in a folder.
func TestPanics(t *testing.T) {
	path := filepath.Join(os.Getenv("PLANTED"), "ran")
	if _, err := os.Stat(path); err == nil {
		return
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	panic("planted")
}
