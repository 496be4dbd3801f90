package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

// updatesCases decodes every line of a recorded file of updates, from CONFORMANCE_DIR or testdata.
func updatesCases[T any](t *testing.T, name string) []T {
	t.Helper()
	folder := os.Getenv("CONFORMANCE_DIR")
	if folder == "" {
		folder = "testdata"
	}
	packed, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err, "the recorded cases are part of the test: copy %s into %s", name, folder)
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	lines := bufio.NewScanner(reader)
	lines.Buffer(make([]byte, 1<<20), 64<<20)
	var cases []T
	for lines.Scan() {
		var one T
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one), "%s line %d", name, len(cases)+1)
		cases = append(cases, one)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, cases, "%s holds no case", name)
	return cases
}
