package kubefleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// example is what stands in a case.txt. It opens with prose, then a line that says after what everything in it is named:
//
//	names: lantern
//
// Then come commands, each followed by what comes of it, indented by a tab:
//
//	$ apply override.yaml
//	$ show ClusterResourcePlacement lantern
//	$ held ConfigMap lantern/settings /data/colour
//
// show is the status of an object, held is what members hold of one, a field or more of it. Last comes the mistake, and
// the first command that something else comes of then:
//
//	wrong once: in override.yaml, `zone: nord` for `zone: north`
//	at 3: $ held ConfigMap lantern/settings /data/colour
type example struct {
	prose, names string
	commands     []command
	mistake      mistake
	documents    map[string]string // by the name of their file
}

type command struct{ line, want string }

// mistake says what is written in a file in the place of something else, and which command, counted from 1, sees it.
type mistake struct {
	line, file, wrong, right string
	at                       int
	want                     string
}

func readCase(t *testing.T, path string) *example {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	c := &example{documents: map[string]string{}}
	head, rest, found := strings.Cut(string(text), "\nnames: ")
	require.True(t, found, "%s says nothing of names", path)
	c.prose = head
	c.names, rest, _ = strings.Cut(rest, "\n")
	rest, wrong, found := strings.Cut(rest, "\nwrong once: ")
	require.True(t, found, "%s is never wrong", path)
	for part := range strings.SplitSeq("\n"+rest, "\n$ ") {
		if part = strings.TrimSpace(part); part != "" {
			line, want, _ := strings.Cut(part, "\n")
			c.commands = append(c.commands, command{line, unindented(want)})
		}
	}
	c.mistake.read(t, wrong)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		document, err := os.ReadFile(file)
		require.NoError(t, err)
		c.documents[filepath.Base(file)] = string(document)
	}
	require.Contains(t, c.documents[c.mistake.file], c.mistake.right, "what the mistake takes the place of")
	return c
}

func (m *mistake) read(t *testing.T, text string) {
	t.Helper()
	m.line, text, _ = strings.Cut(text, "\n")
	words := strings.Split(m.line, "`")
	require.Len(t, words, 5, "in FILE, `wrong` for `right`: %s", m.line)
	m.file, m.wrong, m.right = strings.TrimSuffix(strings.TrimPrefix(words[0], "in "), ", "), words[1], words[3]
	if *update {
		return
	}
	line, want, _ := strings.Cut(text, "\n")
	_, err := fmt.Sscanf(line, "at %d: ", &m.at)
	require.NoError(t, err, line)
	m.want = unindented(want)
}

func unindented(text string) string {
	text = strings.ReplaceAll("\n"+strings.TrimRight(text, "\n"), "\n\t", "\n")
	return strings.TrimLeft(text, "\n")
}

func indented(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return ""
	}
	return "\t" + strings.ReplaceAll(text, "\n", "\n\t") + "\n"
}

// text is the case.txt of what came of the commands, and of the one that saw the mistake.
func (c *example) text(right []string, at int, wrong string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\nnames: %s\n", c.prose, c.names)
	for i := range c.commands {
		fmt.Fprintf(&out, "\n$ %s\n%s", c.commands[i].line, indented(right[i]))
	}
	fmt.Fprintf(&out, "\nwrong once: %s\nat %d: $ %s\n%s", c.mistake.line, at, c.commands[at-1].line, indented(wrong))
	return out.String()
}
