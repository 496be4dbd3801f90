package session

import (
	"bytes"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
)

func TestEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext, näme ✓\n": "plain\ttext, näme ✓\n", red + "own" + plain: red + "own" + plain,
		"a\x1b[2J\x1b[1;1Hb": `a\u001b[2J\u001b[1;1Hb`,
		"a\rb":               `a\u000db`, "a\u202eb": `a\u202eb`, "a\u009bb": `a\u009bb`, "a\x9bb": `a\x9bb`, "a\x07b\x00\x7f": `a\u0007b\u0000\u007f`, "\U000e0001": `\U000e0001`,
	} {
		require.Equal(t, want, escaped(text), "%q", text)
	}
}

// What others wrote into a cell makes no rows and no columns.
func TestACellStaysOne(t *testing.T) {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 8, 1, ' ', 0)
	Say(w, "NAME\tMESSAGE\tN\n")
	Say(w, "%s\t%s\t%d\n", "web", "no\nforged\tReady", 3)
	require.NoError(t, w.Flush())
	require.Equal(t, "NAME MESSAGE           N\nweb  no\\nforged\\tReady 3\n", out.String())
	out.Reset()
	Say(&out, "%s\n", "a\nb")
	require.Equal(t, "a\nb\n", out.String(), "text that is no table keeps its lines")
}
