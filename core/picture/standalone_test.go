package picture

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const styles = `:root{color-scheme:light dark;--ink:#111;--dim:#222;--line:#333;--soft:#444;--well:#555;--moving:#666}
@media (prefers-color-scheme:dark){:root{--ink:#eee}}`

func TestAPictureStandsByItself(t *testing.T) {
	const head, foot = `<svg xmlns="http://www.w3.org/2000/svg" width="`, `</svg>`
	const inked = `" font-family="system-ui,sans-serif" font-size="12" fill="#111">`
	for name, c := range map[string]struct{ html, want string }{
		"none":           {`<p>nothing</p>`, ""},
		"without a size": {`<svg viewBox="0 0 1 1"></svg>`, ""},
		"one, in colours": {
			`<h2>Over time</h2><svg width="10" height="20" aria-label="a"><path class="well" d="M0 0"/><path class="line ends"/><g class="moving l0"/></svg><ul><li>done</li></ul>`,
			head + `10" height="20` + inked + `<svg y="0" width="10" height="20" aria-label="a"><path class="well" fill="#555" d="M0 0"/>` +
				`<path class="line ends" fill="none" stroke="#222" stroke-dasharray="6 4"/><g class="moving l0" fill="#666" opacity=".25"/></svg>` + foot,
		},
		"several, with what they are called": {
			`<li><svg aria-label="eu &lt;b&gt;" width="10" height="20"></svg></li><li><svg aria-label="us" width="500" height="30"></svg></li>`,
			head + `500" height="98` + inked + `<text x="0" y="18">eu &lt;b&gt;</text><svg y="24" aria-label="eu &lt;b&gt;" width="10" height="20"></svg>` +
				`<text x="0" y="62">us</text><svg y="68" aria-label="us" width="500" height="30"></svg>` + foot,
		},
	} {
		require.Equal(t, c.want, Standalone(c.html, styles), name)
	}
}
