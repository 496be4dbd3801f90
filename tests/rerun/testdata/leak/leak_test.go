package leak

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLeaks leaves a goroutine running the first time in a folder.
func TestLeaks(t *testing.T) {
	path := filepath.Join(os.Getenv("PLANTED"), "ran")
	if _, err := os.Stat(path); err == nil {
		return
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { select {} }()
}
