package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/limits"
)

// FuzzGolden reads anything as every record and message, as readers of an older or newer build may.
func FuzzGolden(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*.json")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		limits.Hold(t, len(goldenKinds)*len(raw), func() {
			for _, sample := range goldenKinds {
				_ = json.Unmarshal(raw, sample())
			}
		})
	})
}
