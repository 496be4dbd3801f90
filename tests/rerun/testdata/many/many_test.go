package many

import (
	"os"
	"path/filepath"
	"testing"
)

func once(t *testing.T) {
	path := filepath.Join(os.Getenv("PLANTED"), t.Name())
	if _, err := os.Stat(path); err == nil {
		return
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Error("this is the first time")
}

func TestOne(t *testing.T)   { once(t) }
func TestTwo(t *testing.T)   { once(t) }
func TestThree(t *testing.T) { once(t) }
func TestFour(t *testing.T)  { once(t) }
func TestFive(t *testing.T)  { once(t) }
