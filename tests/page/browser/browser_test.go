//go:build page

package browser

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }

// The policy of the hub's pages, as strict as policies are.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// site is a page, with a sheet and a script where they are not empty.
type site struct{ body, style, script string }

func (s site) page() string {
	page := `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A page</title><link rel="icon" href="data:,">`
	if s.style != "" {
		page += `<link rel="stylesheet" href="/sheet.css">`
	}
	if s.script != "" {
		page += `<script src="/script.js" defer></script>`
	}
	return page + `</head><body>` + s.body + `</body></html>`
}

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answers := map[string][2]string{
		"/":           {"text/html; charset=utf-8", s.page()},
		"/sheet.css":  {"text/css", s.style},
		"/script.js":  {"text/javascript", s.script},
		"/other.html": {"text/html; charset=utf-8", site{body: "<main><h1>Another</h1></main>"}.page()},
	}
	if r.URL.Path == "/drop" { // as a server that goes away
		panic(http.ErrAbortHandler)
	}
	answer, found := answers[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Content-Type", answer[0])
	_, _ = w.Write([]byte(answer[1]))
}

// open opens a site in a tab that looks so.
func open(t *testing.T, look Look, s site) *Tab {
	t.Helper()
	return Start(t).Tab(t, look).on(t, s)
}

// on opens a site in a tab that a test has already.
func (tab *Tab) on(t *testing.T, s site) *Tab {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	tab = tab.For(t)
	tab.Open(server.URL)
	return tab
}

// rules are the rules and targets of findings, "rule target".
func rules(findings []Finding) []string {
	all := make([]string, len(findings))
	for i, f := range findings {
		all[i] = f.Rule + " " + f.Target
	}
	return all
}

// A tab looks as it was asked to, and no page's script reaches the tools.
func TestLooks(t *testing.T) {
	answers := site{
		body:   `<main><h1>plain</h1><noscript><p id="without">without scripts</p></noscript></main>`,
		script: `document.querySelector("h1").textContent = "scripted"; globalThis.rig = "the page's"; Element.prototype.closest = () => { throw 1 }`,
	}
	type seen struct {
		Title                 string
		Without               int
		Dark, Reduced, Screen bool
		Width, Height         int
	}
	for _, c := range []struct {
		look Look
		want seen
	}{
		{Look{}, seen{"scripted", 0, false, false, true, 1280, 800}},
		{Look{Dark: true, Width: 360, Height: 640}, seen{"scripted", 0, true, false, true, 360, 640}},
		{Look{Print: true, ReducedMotion: true}, seen{"scripted", 0, false, true, false, 1280, 800}},
		{Look{Scripts: ScriptsBlocked}, seen{"plain", 0, false, false, true, 1280, 800}},
		{Look{Scripts: ScriptsOff}, seen{"plain", 1, false, false, true, 1280, 800}},
	} {
		t.Run(c.look.String(), func(t *testing.T) {
			tab := open(t, c.look, answers)
			got := Eval[seen](tab, `({
				Title: document.querySelector("h1").textContent,
				Without: document.querySelector("#without")?.offsetHeight > 0 ? 1 : 0,
				Dark: matchMedia("(prefers-color-scheme: dark)").matches, Reduced: matchMedia("(prefers-reduced-motion: reduce)").matches,
				Screen: matchMedia("screen").matches, Width: innerWidth, Height: innerHeight})`)
			require.Equal(t, c.want, got)
			None(t, Console(tab))
		})
	}
}

// Each tab has cookies of its own, but for those beside it.
func TestCookies(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" { // and not the icon
			got = append(got, r.Header.Get("Cookie"))
		}
	}))
	t.Cleanup(server.Close)
	mine, other := Start(t).Tab(t, Look{}), Start(t).Tab(t, Look{})
	mine.SetCookies(server.URL, &http.Cookie{Name: "__Host-session", Value: "one", Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	mine.Open(server.URL)
	other.Open(server.URL)
	mine.Beside().Open(server.URL)
	require.Equal(t, []string{"__Host-session=one", "", "__Host-session=one"}, got)
}

// Without a browser tests fail, and say what is missing.
func TestNoBrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := launch()
	require.EqualError(t, err, `found none of ["chromium" "chromium-browser" "google-chrome"] in PATH, expected a browser; make test-page installs it on Debian`)
}
