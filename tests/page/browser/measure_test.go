//go:build page

package browser

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What sticks out is found where it begins, and what scrolls by itself is let be.
func TestOverflow(t *testing.T) {
	tab := Start(t).Tab(t, Look{Width: 360})
	for name, c := range map[string]struct {
		site
		want []string
	}{
		"a page that fits":      {site{body: `<main><p>Short</p></main>`}, []string{}},
		"a table that is wide":  {site{body: `<main><div><div id="wide"></div></div></main>`, style: `#wide { width: 900px; height: 2em }`}, []string{"overflow #wide"}},
		"a word that is long":   {site{body: `<main><p id="long">` + strings.Repeat("long", 90) + `</p></main>`}, []string{"overflow #long"}},
		"cut off by the page":   {site{body: `<main><div id="wide"></div></main>`, style: `body { overflow-x: hidden } #wide { width: 900px; height: 2em }`}, []string{"overflow #wide"}},
		"in a box that scrolls": {site{body: `<main><div id="box"><div id="wide"></div></div></main>`, style: `#box { overflow-x: auto } #wide { width: 900px; height: 2em }`}, []string{}},
		"hidden from the eye":   {site{body: `<main><a id="skip" href="#x">Skip</a></main>`, style: `#skip { position: absolute; left: -999px }`}, []string{}},
		"a margin alone":        {site{body: `<main><div id="m"></div></main>`, style: `body { padding-right: 9px; width: 800px } `}, []string{"overflow #m"}},
	} {
		t.Run(name, func(t *testing.T) {
			findings := Overflow(tab.on(t, c.site))
			require.Equal(t, c.want, rules(findings), "%v", findings)
		})
	}
	None(t, Overflow(open(t, Look{}, site{body: `<main><div id="wide"></div></main>`, style: `#wide { width: 900px; height: 2em }`})))
}

func TestTargets(t *testing.T) {
	tab := open(t, Look{}, site{
		body: `<main><p>A text with <a href="#1">a link</a> in it.</p>
			<p id="alone"><a href="#2" id="bare">alone</a> | <a href="#3" id="other">other</a></p>
			<button id="large">Large</button><button id="low">Low</button>
			<label id="label"><input type="checkbox" id="labelled"> Large by its label</label> <input type="checkbox" id="box" aria-label="Alone">
			<svg width="99" height="99" role="group" aria-label="Map"><a href="#eu" id="eu" aria-label="eu"><path d="M0 0h12v12h-12z"/></a><a href="#us" id="us" aria-label="us"><path d="M50 0h30v30h-30z"/></a></svg>
			<button disabled id="off">x</button><div role="grid" aria-label="g" id="grid"><div role="row"><span role="gridcell" tabindex="0" id="cell">1</span></div></div></main>`,
		style: `#large { width: 24px; height: 24px } #low { width: 90px; height: 20px } #label { display: inline-block; height: 30px } svg { vertical-align: top } #off { width: 5px } #cell { display: block; width: 9px; height: 9px }`,
	})
	findings := Targets(tab)
	require.Equal(t, []string{"target-size #bare", "target-size #other", "target-size #low", "target-size #box", "target-size #eu", "target-size #cell"}, rules(findings))
	require.Equal(t, "it is 90 px by 20 px, expected at least 24 by 24", findings[2].Why)
}

func TestBoxes(t *testing.T) {
	tab := open(t, Look{}, site{
		body:  `<i class="b" id="x"></i><i class="b" id="y"></i><i class="b" hidden></i>`,
		style: `.b { position: absolute; width: 30px; height: 40px } #x { left: 5px; top: 2000px } #y { left: 50px; top: 7px } .b[hidden] { display: none }`,
	})
	Eval[any](tab, `scrollTo(0, 900)`)
	require.Equal(t, []Box{{5, 2000, 30, 40}, {50, 7, 30, 40}}, Boxes(tab, ".b"))
}

// Elements are counted, bytes as they came, and the heap with what scripts hold.
func TestCount(t *testing.T) {
	html := site{body: "<main>" + strings.Repeat("<p>Again</p>", 1000) + "</main>", style: "p { margin: 0 }", script: `globalThis.kept = new Array(4e6).fill(0).map((_, i) => i + .5)`}
	var sent int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			html.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		var packed bytes.Buffer
		pack := gzip.NewWriter(&packed)
		_, _ = pack.Write([]byte(html.page()))
		_ = pack.Close()
		sent = packed.Len()
		_, _ = w.Write(packed.Bytes())
	}))
	t.Cleanup(server.Close)
	for _, look := range everyLook {
		t.Run(look.String(), func(t *testing.T) {
			tab := Start(t).Tab(t, look)
			tab.Open(server.URL + "/other.html")
			blank := Count(tab)
			tab.Open(server.URL)
			counts := Count(tab)
			require.Equal(t, 1000+10, counts.Elements)
			require.Equal(t, sent, counts.Document)
			require.Greater(t, counts.Bytes, sent+len(html.style))
			require.Positive(t, counts.FirstPaint)
			require.Less(t, counts.FirstPaint, time.Minute)
			if look.Scripts == ScriptsRun {
				require.Greater(t, counts.Heap-blank.Heap, 30_000_000)
				require.Equal(t, 3, counts.Requests)
			} else {
				require.Less(t, counts.Heap-blank.Heap, 5_000_000)
			}
		})
	}
}

// A picture is of the whole page, in its theme, and the same every time.
func TestPicture(t *testing.T) {
	s := site{body: `<main><h1>Picture</h1><input autofocus aria-label="i"></main>`, style: `:root { color-scheme: light dark } main { height: 1500px; width: 500px } body, h1 { margin: 0 }`}
	light, dark := open(t, Look{Width: 500}, s), open(t, Look{Width: 500, Dark: true}, s)
	first := Picture(light)
	picture, err := png.Decode(bytes.NewReader(first))
	require.NoError(t, err)
	require.Equal(t, "500 by 1500", fmt.Sprintf("%d by %d", picture.Bounds().Dx(), picture.Bounds().Dy()))
	for range 3 {
		require.True(t, bytes.Equal(first, Picture(light)))
	}
	night, err := png.Decode(bytes.NewReader(Picture(dark)))
	require.NoError(t, err)
	require.Greater(t, contrast(picture.At(400, 1400), night.At(400, 1400)), 10.0)
}

func TestPrint(t *testing.T) {
	tab := Start(t).Tab(t, Look{Width: 1000})
	long := `<main>` + strings.Repeat(`<section>A sheet</section>`, 3) + `</main>`
	for name, c := range map[string]struct {
		site
		sheets int
		want   []string
	}{
		"one sheet":              {site{body: `<main>Short</main>`}, 1, []string{}},
		"three":                  {site{body: long, style: `section { break-after: page } section:last-child { break-after: auto }`}, 3, []string{}},
		"a screen's styles only": {site{body: `<main><div id="wide"></div></main>`, style: `@media screen { #wide { width: 900px; height: 9px } }`}, 1, []string{}},
		"too wide for paper":     {site{body: `<main><div id="wide"></div></main>`, style: `#wide { width: 900px; height: 9px }`}, 1, []string{"overflow #wide"}},
		"what has to be scrolled": {
			site{body: `<main><div id="box" tabindex="0">` + strings.Repeat(`<p>A line</p>`, 50) + `</div></main>`, style: `p { height: 50px; margin: 0 } #box { height: 300px; overflow: auto }`},
			1,
			[]string{"cut #box"},
		},
		"the same, printed whole": {
			site{body: `<main><div id="box" tabindex="0">` + strings.Repeat(`<p>A line</p>`, 50) + `</div></main>`, style: `p { height: 50px; margin: 0 } @media screen { #box { height: 300px; overflow: auto } }`},
			3,
			[]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tab := tab.on(t, c.site)
			paper, findings := Print(tab)
			require.Equal(t, c.want, rules(findings), "%v", findings)
			require.Equal(t, c.sheets, paper.Sheets)
			require.True(t, bytes.HasPrefix(paper.PDF, []byte("%PDF-")))
			require.True(t, Eval[bool](tab, `matchMedia("screen").matches && innerWidth === 1000`))
		})
	}
}

func TestHTML(t *testing.T) {
	tab := open(t, Look{Scripts: ScriptsOff}, site{body: `<main id="m" hidden=""><p>silent 6m, live 0.2 s, since <time datetime="2026-11-20T08:15:00Z">08:15</time>,
		run R8rXXq8VzqU2kzCEbAYzDO of 12/12 &lt; 5 members</p><a href="http://127.0.0.1:4222/">here</a><svg><path d="M1 5h-9"/></svg><noscript>none</noscript><br></main>`})
	want := `<html lang="en">
	<head>
		<meta charset="utf-8">
		<meta name="viewport" content="width=device-width">
		<title>A page</title>
		<link rel="icon" href="data:,">
	</head>
	<body>
		<main id="m" hidden>
			<p>
				silent AGE, live AGE, since
				<time datetime="TIME">TIME</time>
				, run ID of 12/12 &lt; 5 members
			</p>
			<a href="http://HOST/">here</a>
			<svg>
				<path d="M1 5h-9"></path>
			</svg>
			<noscript>none</noscript>
			<br>
		</main>
	</body>
</html>
`
	require.Equal(t, want, HTML(tab))
}

// What a page holds is resident, and that of another browser's is not counted.
func TestResident(t *testing.T) {
	b := Start(t)
	tab := b.Tab(t, Look{})
	before := b.Resident(t)
	tab.on(t, site{body: "<main><h1>Large</h1></main>", script: "globalThis.held = new Uint8Array(64e6).fill(7)"})
	require.InDelta(t, 64e6, b.Resident(t)-before, 40e6)
	require.False(t, ours("/proc/1"))
}
