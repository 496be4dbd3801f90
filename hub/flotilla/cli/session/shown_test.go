package session

import (
	"bytes"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext, näme ✓\n": "plain\ttext, näme ✓\n", "\x1b[31mlike ours\x1b[0m": `\u001b[31mlike ours\u001b[0m`,
		"a\x1b[2J\x1b[1;1Hb": `a\u001b[2J\u001b[1;1Hb`,
		"a\rb":               `a\u000db`, "a\u202eb": `a\u202eb`, "a\u009bb": `a\u009bb`, "a\x9bb": `a\x9bb`, "a\x07b\x00\x7f": `a\u0007b\u0000\u007f`, "\U000e0001": `\U000e0001`,
	} {
		require.Equal(t, want, escaped(text), "%q", text)
	}
}

// A colour is known by its place: what others wrote has none, however well they know ours.
func TestAColourOfOthersIsEscapedLikeAnyControlCharacter(t *testing.T) {
	const theirs, escapedTheirs = "\x1b[31mReady\x1b[0m", `\u001b[31mReady\u001b[0m`
	a := &Session{colour: colourAlways}
	ours := string(green) + "Ready" + string(plain)
	for name, c := range map[string]struct {
		painted Painted
		want    string
	}{
		"a plan":          {a.Coloured("+ " + theirs + "\n"), string(green) + "+ " + escapedTheirs + string(plain) + "\n"},
		"a difference":    {a.ColouredDiff("-" + theirs), string(red) + "-" + escapedTheirs + string(plain)},
		"words of states": {a.States(theirs + " Ready"), escapedTheirs + " " + ours},
		"a table":         {a.Table("NAME   FAILED\na\x1b[0m  7     \n", true), "NAME   FAILED\n" + `a\u001b[0m  ` + string(red) + "7" + string(plain) + "     \n"},
		"problems": {
			a.Problems("1 problem\n  member/a  Lost  "+theirs+"\n\nmembers\n", []api.Problem{{Reason: "Lost"}}),
			string(red) + "1 problem" + string(plain) + "\n  member/a  " + string(red) + "Lost" + string(plain) + "  " + escapedTheirs + "\n\nmembers\n",
		},
	} {
		require.Equal(t, c.want, string(c.painted), name)
	}
	var out bytes.Buffer
	whole := New(Environment{Out: &out})
	whole.Printf("%s\n", string(red)+theirs)
	whole.Paint(Painted(ours))
	require.Equal(t, `\u001b[31m`+escapedTheirs+"\n"+ours, out.String())
}

// One rule for all formats: a program gets every byte, a terminal is shown nothing that it would obey.
func TestWhatATerminalIsShownIsEscapedInEveryFormat(t *testing.T) {
	const text = "a\x1b[2J\u009bb\r\n"
	for name, c := range map[string]struct {
		terminal, machine bool
		colour, want      string
	}{
		"a table in a file":          {false, false, colourAuto, `a\u001b[2J\u009bb\u000d` + "\n"},
		"a format in a file":         {false, true, colourAuto, text},
		"a format on a terminal":     {true, true, colourAuto, `a\u001b[2J\u009bb\u000d` + "\n"},
		"without colours":            {true, true, colourNever, `a\u001b[2J\u009bb\u000d` + "\n"},
		"through a pager of colours": {false, true, colourAlways, `a\u001b[2J\u009bb\u000d` + "\n"},
	} {
		var out bytes.Buffer
		a := New(Environment{Out: &out, Terminal: c.terminal})
		a.Machine, a.colour = c.machine, c.colour
		a.Printf("%s", text)
		require.Equal(t, c.want, out.String(), name)
		out.Reset()
		a.Paint(a.States(text))
		require.Equal(t, c.want, out.String(), name+", painted")
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
