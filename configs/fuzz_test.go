package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/limits"
)

// readers is how often a text of YAML is walked through: by the parser of documents, by the one that knows
// lines, and by the one that finds faults.
const readers = 8

func FuzzParse(f *testing.F) {
	addExamples(f)
	f.Add([]byte("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"))
	f.Add([]byte("? {[a]: b}\n: - - - -\n---\n%YAML 1.1\n"))
	f.Add([]byte(strings.Repeat("- ", 5000)))
	f.Add([]byte(strings.Repeat(`{"a":[`, 9000) + strings.Repeat(`]}`, 9000)))
	f.Add([]byte(`{"kind":"List","items":[{"a":1},{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		limits.Hold(t, readers*len(text), func() { _, _ = Parse("f.yaml", text) })
	})
}

func FuzzLoad(f *testing.F) {
	addExamples(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		limits.Hold(t, 2*readers*len(text), func() {
			_, _ = LoadHub("hub.yaml", text)
			_, _ = LoadAgent("agent.yaml", text)
		})
	})
}

func addExamples(f *testing.F) {
	files, err := filepath.Glob("*.yaml")
	require.NoError(f, err)
	examples, err := filepath.Glob("examples/*.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, append(files, examples...))
	for _, file := range append(files, examples...) {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
}
