// Package scenario plays files that a person can read: prose, commands, and below each what it printed.
package scenario

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite what the commands of scenarios print; review the result as text")

// Command does what a line asks for and returns what is printed below it. A block below the line that is indented by
// two spaces is its last argument.
type Command func(t *testing.T, args []string) string

// Play runs every file that matches a pattern, each on a world of its own, and compares what its commands print, indented
// by a tab, with what they print now. A file opens with lines that begin with "# " and say what it proves.
func Play(t *testing.T, pattern string, world func() map[string]Command) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(text), "# "), "a scenario opens with sentences on what it proves")
			got := replay(t, string(text), world())
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			require.Equal(t, string(text), got)
		})
	}
}

func replay(t *testing.T, text string, commands map[string]Command) string {
	t.Helper()
	var out strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "\t") {
			continue
		}
		out.WriteString(lines[i])
		words := strings.Fields(lines[i])
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		begin := i + 1
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") {
			i++
		}
		if block := strings.Join(lines[begin:i+1], ""); block != "" {
			out.WriteString(block)
			words = append(words, block)
		}
		require.Contains(t, commands, words[0], "unknown command")
		for line := range strings.Lines(commands[words[0]](t, words[1:])) {
			out.WriteString("\t" + strings.TrimRight(line, " \n") + "\n")
		}
	}
	return out.String()
}
