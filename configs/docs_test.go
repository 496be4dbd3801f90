package configs_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/configs"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

var update = flag.Bool("update", false, "write the refusals into docs/objects.md anew")

const objects = "../docs/objects.md"

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(objects)
	require.NoError(t, err)
	return string(text)
}

// TestRefusalsAreWhatTheDocumentSays decodes each refused example and compares the text below it.
func TestRefusalsAreWhatTheDocumentSays(t *testing.T) {
	text := document(t)
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```\n\n```text\n(.*?)```\n")
	require.Len(t, block.FindAllString(text, -1), 5)
	want := block.ReplaceAllStringFunc(text, func(found string) string {
		example := block.FindStringSubmatch(found)[1]
		docs, err := configs.Parse("example", []byte(example))
		require.NoError(t, err)
		require.Len(t, docs, 1)
		_, faults := validate.Decode(docs[0].JSON)
		require.NotEmpty(t, faults)
		if !*update {
			require.Equal(t, show(faults), block.FindStringSubmatch(found)[2], "go test ./configs -run Refusals -update writes it anew")
		}
		return "```yaml\n" + example + "```\n\n```text\n" + show(faults) + "```\n"
	})
	if *update {
		require.NoError(t, os.WriteFile(objects, []byte(want), 0o644))
	}
}

func show(faults strict.Faults) string {
	var b strings.Builder
	for _, f := range faults {
		b.WriteString(f.Path + "\n  found     " + f.Found + "\n  expected  " + f.Expected + "\n")
		if f.Fix != "" {
			b.WriteString("  write\n    " + strings.ReplaceAll(f.Fix, "\n", "\n    ") + "\n")
		}
	}
	return b.String()
}
