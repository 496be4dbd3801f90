package session

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestWhenOutputIsColoured(t *testing.T) {
	for _, c := range []struct {
		colour   string
		terminal bool
		env      map[string]string
		want     bool
	}{
		{colourAuto, true, nil, true},
		{colourAuto, false, nil, false},
		{colourAuto, true, map[string]string{"NO_COLOR": "1"}, false},
		{colourAuto, true, map[string]string{"TERM": "dumb"}, false},
		{colourAlways, false, map[string]string{"NO_COLOR": "1"}, true},
		{colourNever, true, nil, false},
	} {
		a := &Session{colour: c.colour, Environment: Environment{Terminal: c.terminal, Getenv: func(name string) string { return c.env[name] }}}
		require.Equal(t, c.want, a.colours(), "%+v", c)
	}
	require.ErrorContains(t, (&Session{colour: "alwys"}).checkColour(), "did you mean always?")
}

func TestStatesAndTroubleAreColoured(t *testing.T) {
	a := &Session{colour: colourAlways}
	bare := "NAME    STATE            FAILED   LABELS\nberlin  Ready            0        a=b\noslo    NotReady         12       -\ncairo   Ready,Cordoned   0        Readyness=1\n"
	want := "NAME    STATE            FAILED   LABELS\nberlin  G{Ready}            0        a=b\noslo    R{NotReady}         R{12}       -\ncairo   G{Ready},Y{Cordoned}   0        Readyness=1\n"
	require.Equal(t, want, shownColours(a.Table(bare, true)))
	require.Equal(t, "oslo  R{Failed}  3\n", shownColours(a.Table("oslo  Failed  3\n", false)), "without a head only states are known")
	require.Equal(t, bare, string((&Session{colour: colourNever}).Table(bare, true)))
	require.Equal(t, "R{2 problems}\n  placement/web  R{ApplyFailed}  3s  it Failed\n  member/oslo    R{Unknown}      9s  gone\n\nmembers  3: 2 G{Ready}, 1 R{Unknown}\n",
		shownColours(a.Problems("2 problems\n  placement/web  ApplyFailed  3s  it Failed\n  member/oslo    Unknown      9s  gone\n\nmembers  3: 2 Ready, 1 Unknown\n",
			[]api.Problem{{Reason: "ApplyFailed"}, {Reason: "Unknown"}})))
	require.Equal(t, "G{+ a}\nR{- b}\n  c\nY{~ d}\n", shownColours(a.Coloured("+ a\n- b\n  c\n~ d\n")))
}

// shownColours writes colours so that a person can compare them.
func shownColours(text Painted) string {
	return strings.NewReplacer(string(green), "G{", string(red), "R{", string(yellow), "Y{", string(plain), "}").Replace(string(text))
}

func TestDiffsAreColoured(t *testing.T) {
	text := "--- a\n+++ b\n@@ -1,2 +1,2 @@\n - name: x\n-  - y\n+  - z\n"
	require.Equal(t, "R{--- a}\nG{+++ b}\n@@ -1,2 +1,2 @@\n - name: x\nR{-  - y}\nG{+  - z}\n", shownColours((&Session{colour: colourAlways}).ColouredDiff(text)))
	require.Equal(t, text, string((&Session{colour: colourNever}).ColouredDiff(text)))
}
