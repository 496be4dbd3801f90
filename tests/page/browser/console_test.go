//go:build page

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// What the browser complains of is told once, and what is well is not.
func TestConsole(t *testing.T) {
	for name, c := range map[string]struct {
		site
		want []string
		why  string
	}{
		"a page that is well":   {site{body: `<main>Well</main>`, style: `main { color: black }`, script: `console.log("well"); console.warn("still well")`}, nil, ""},
		"an error that it logs": {site{body: `<main></main>`, script: `console.error("trouble with", {a: 1}, 7)`}, []string{"console"}, "trouble with Object 7"},
		"an exception":          {site{body: `<main></main>`, script: `null.x`}, []string{"exception"}, "TypeError"},
		"a promise that fails":  {site{body: `<main></main>`, script: `Promise.reject(new Error("lost"))`}, []string{"exception"}, "lost"},
		"a style in an element": {site{body: `<main style="color: red"></main>`}, []string{"csp"}, "style-src"},
		"a script in the page":  {site{body: `<main><script>1</script></main>`}, []string{"csp"}, "script-src"},
		"a picture from afar":   {site{body: `<main><img alt="" src="http://localhost:9/x.png"></main>`}, []string{"csp"}, "img-src"},
		"a picture not there":   {site{body: `<main><img alt="" src="/none.png"></main>`}, []string{"request"}, "status 404"},
	} {
		t.Run(name, func(t *testing.T) {
			tab := open(t, Look{}, c.site)
			findings := Console(tab)
			var got []string
			for _, f := range findings {
				got = append(got, f.Rule)
			}
			require.Equal(t, c.want, got, "%v", findings)
			if len(findings) > 0 {
				require.Contains(t, findings[0].Why, c.why)
			}
		})
	}
}

// A server that is gone is told, also when a script asks for it.
func TestConsoleTellsFailedRequests(t *testing.T) {
	tab := open(t, Look{}, site{
		body:   `<main><button id="ask">Ask</button></main>`,
		script: `document.getElementById("ask").onclick = () => fetch("/drop").catch(() => document.title = "failed")`,
	})
	tab.Do(chromedp.Click(chromedp.CSS("#ask")))
	require.True(t, Eval[bool](tab, `new Promise(done => { const look = () => document.title === "failed" ? done(true) : requestAnimationFrame(look); look() })`))
	findings := Console(tab)
	require.Len(t, findings, 1)
	require.Equal(t, "request", findings[0].Rule)
	require.Contains(t, findings[0].Why, "net::ERR_")
}
