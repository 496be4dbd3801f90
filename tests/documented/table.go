package documented

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Table are the rows of the first table below a heading of a document, each with its cells.
func Table(t *testing.T, path, heading string) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	_, below, found := strings.Cut(string(text), "\n"+heading+"\n")
	require.True(t, found, "%s has no %s", path, heading)
	var rows [][]string
	for line := range strings.Lines(below) {
		switch {
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		case len(rows) > 0:
			return rows[2:]
		}
	}
	require.Greater(t, len(rows), 2, "%s has no table below %s", path, heading)
	return rows[2:]
}
