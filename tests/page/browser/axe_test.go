//go:build page

package browser

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var everyLook = []Look{
	{},
	{Dark: true},
	{Width: 360},
	{Print: true},
	{Scripts: ScriptsBlocked},
	{Scripts: ScriptsOff},
	{Scripts: ScriptsOff, Dark: true},
}

// A sound page passes, whatever it looks like, and each fault that is planted is found.
func TestAxe(t *testing.T) {
	for _, look := range everyLook {
		t.Run(look.String(), func(t *testing.T) {
			tab := Start(t).Tab(t, look)
			None(t, Axe(tab.on(t, site{body: `<main><h1>Sound</h1><p>Text <a href="/other.html">with a link</a>.</p></main>`})))
			faulty := tab.on(t, site{
				body:  `<main><h1>Faulty</h1><p id="pale">Pale</p><img src="data:,"><input id="nameless"><button id="small">x</button><button id="near">y</button></main>`,
				style: `#pale { color: #aaa; background: #fff } #small, #near { width: 12px; height: 12px; padding: 0; border: 0; margin: 0 }`,
			})
			require.Subset(t, rules(Axe(faulty)), []string{"color-contrast #pale", "image-alt img", "label #nameless", "target-size #small"})
		})
	}
}

// What only one theme has is found in that theme.
func TestAxeInTheDark(t *testing.T) {
	s := site{
		body:  `<main><h1>Themes</h1><p id="p">Text</p></main>`,
		style: `:root { color-scheme: light dark } @media (prefers-color-scheme: dark) { #p { color: #333; background: #000 } }`,
	}
	None(t, Axe(open(t, Look{}, s)))
	require.Equal(t, []string{"color-contrast #p"}, rules(Axe(open(t, Look{Dark: true}, s))))
}

// What is shown to those without scripts is tried where they are off.
func TestAxeWithoutScripts(t *testing.T) {
	s := site{body: `<main><h1>Scripts</h1><noscript><img id="bare" src="data:,"></noscript></main>`}
	None(t, Axe(open(t, Look{}, s)))
	require.Equal(t, []string{"image-alt #bare"}, rules(Axe(open(t, Look{Scripts: ScriptsOff}, s))))
}
