package flaky

import (
	"os"
	"path/filepath"
	"testing"
)

// TestEveryOther fails the first time in a folder, and passes from then on.
func TestEveryOther(t *testing.T) {
	t.Run("case", func(t *testing.T) {
		path := filepath.Join(os.Getenv("PLANTED"), "ran")
		if _, err := os.Stat(path); err == nil {
			return
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Error("this is the first time")
	})
}

func TestBeside(t *testing.T) { t.Log("beside it") }
