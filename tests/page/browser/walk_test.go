//go:build page

package browser

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const grid = `<div role="grid" aria-label="Members" id="grid"><div role="row">
	<span role="gridcell" tabindex="0" id="a">a</span> <span role="gridcell" tabindex="-1" id="b">b</span> <span role="gridcell" tabindex="-1">c</span>
	</div></div>`

// The arrows of a grid with one tab stop.
const roving = `const cells = [...document.querySelectorAll("[role=gridcell]")];
	document.querySelector("[role=grid]").addEventListener("keydown", e => {
		const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
		const to = cells[cells.indexOf(e.target) + step];
		if (!to) return;
		e.target.tabIndex = -1; to.tabIndex = 0; to.focus(); e.preventDefault();
	})`

// stays has an element keep the focus when a key is pressed.
func stays(id, keys string) string {
	return `document.getElementById("` + id + `").addEventListener("keydown", e => { if (` + keys + `) e.preventDefault() })`
}

// A page on which everything can be come to, seen and left.
func TestWalk(t *testing.T) {
	for _, look := range everyLook[:4] {
		t.Run(look.String(), func(t *testing.T) {
			tab := open(t, look, site{
				body: `<main><h1 tabindex="-1">Sound</h1><p>Text <a id="link" href="/other.html">with a link</a>.</p><button id="button">Press</button>` + grid +
					`<details><summary id="more">More</summary><a href="#folded">folded</a></details>
					<form><input type="radio" name="r" id="r1" checked><label for="r1">One</label> <input type="radio" name="r" id="r2"><label for="r2">Two</label>
					<input type="date" aria-label="Day" id="day"> <button disabled>Not now</button></form>
					<svg width="200" height="40" role="group" aria-label="Map"><a href="#eu" id="eu"><title>eu-west</title><path d="M0 0h190v30h-190z"/></a></svg>
					<div id="tall"></div><a href="#end" id="end">End</a></main>`,
				script: roving,
				style:  `:root { color-scheme: light dark } :focus-visible { outline: 3px solid CanvasText; outline-offset: 2px } main { padding: 1em } #eu { fill: silver } #tall { height: 3000px }`,
			})
			stops, findings := Walk(tab)
			None(t, findings)
			type told struct {
				target, role, name string
				within             int
			}
			got := make([]told, len(stops))
			for i, s := range stops {
				got[i] = told{s.Target, s.Role, s.Name, s.Within}
				require.True(t, s.Visible, s.Target)
			}
			require.Equal(t, []told{
				{"#link", "link", "with a link", 0},
				{"#button", "button", "Press", 0},
				{"#a", "gridcell", "a", 1},
				{"#more", "DisclosureTriangle", "More", 0},
				{"#r1", "radio", "One", 0},
				{"#day", "Date", "Day", 0},
				{"#eu", "link", "eu-west", 0},
				{"#end", "link", "End", 0},
			}, got)
			None(t, Console(tab))
		})
	}
}

// Each fault that is planted on a page is found, and no other.
func TestWalkFindsFaults(t *testing.T) {
	tab := Start(t).Tab(t, Look{})
	const two = `<main><button id="one">One</button> <button id="two">Two</button></main>`
	const three = `<main><button id="one">One</button> <button id="two">Two</button> <button id="three">Three</button></main>`
	for name, c := range map[string]struct {
		site
		want []string
	}{
		"an element that keeps the focus": {
			site{body: three, script: stays("two", `e.key === "Tab" && !e.shiftKey`)},
			[]string{"focus-trap #two", "focus-unreached #three"},
		},
		"two that keep it among them": {
			site{body: three, script: `document.getElementById("two").addEventListener("keydown", e => { document.getElementById("one").focus(); e.preventDefault() })`},
			[]string{"focus-trap #one", "focus-unreached #three"},
		},
		"an element that keeps it from going back": {
			site{body: three, script: stays("two", `e.key === "Tab" && e.shiftKey`)},
			[]string{"focus-trap #two"},
		},
		"no outline":                 {site{body: two, style: `#two:focus { outline: none }`}, []string{"focus-invisible #two"}},
		"an outline like the ground": {site{body: two, style: `#two:focus { outline: 3px solid #eee }`}, []string{"focus-invisible #two"}},
		"a caret alone":              {site{body: `<main><input aria-label="Name" id="name"></main>`, style: `#name:focus { outline: none }`}, []string{"focus-invisible #name"}},
		"beside the window":          {site{body: two, style: `#two { position: absolute; left: -999px }`}, []string{"focus-hidden #two"}},
		"of no size":                 {site{body: two, style: `#two { width: 0; height: 0; padding: 0; border: 0; overflow: hidden }`}, []string{"focus-hidden #two"}},
		"under a bar that stays": {
			site{body: `<div id="bar"></div>` + two, style: `#bar { position: fixed; inset: 0; background: white }`},
			[]string{"focus-hidden #one", "focus-hidden #two"},
		},
		"a link out of the order of tabs": {site{body: `<main><a href="#x" id="one" tabindex="-1">One</a></main>`}, []string{"focus-unreached #one"}},
		"a button of no kind":             {site{body: `<main><span role="button" id="one">One</span></main>`}, []string{"focus-unreached #one"}},
		"a tabindex that jumps":           {site{body: `<main><a href="#1" id="one">One</a> <a href="#2" id="two" tabindex="2">Two</a></main>`}, []string{"focus-jumps #two"}},
		"a row that runs backward":        {site{body: two, style: `main { display: flex; flex-direction: row-reverse }`}, []string{"focus-jumps #two"}},
		"a column that runs backward":     {site{body: two, style: `main { display: flex; flex-direction: column-reverse }`}, []string{"focus-jumps #two"}},
		"a grid whose arrows move nothing": {
			site{body: `<main>` + grid + `</main>`}, []string{"composite-arrows #a"},
		},
		"a grid whose arrows leave it": {
			site{body: `<main>` + grid + `<button id="one">One</button></main>`, script: `document.getElementById("a").addEventListener("keydown", e => { if (e.key === "ArrowDown") document.getElementById("one").focus() })`},
			[]string{"composite-arrows #a"},
		},
		"a grid with more stops": {
			site{body: `<main>` + grid + `</main>`, script: roving + `; document.getElementById("b").tabIndex = 0; addEventListener("focusin", () => document.getElementById("a").tabIndex = document.getElementById("b").tabIndex = 0)`},
			[]string{"composite-stops #b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, findings := Walk(tab.on(t, c.site))
			require.Equal(t, c.want, rules(findings), "%v", findings)
		})
	}
}

// Of many that are alike three are looked at, and whatever differs by a class is not alike.
func TestWalkPastManyAlike(t *testing.T) {
	rows := strings.Repeat(`<li><a href="#x">Member</a></li>`, 30)
	stops, findings := Walk(open(t, Look{}, site{
		body:  `<main><ul>` + rows + `<li class="odd"><a href="#x" id="odd">Member</a></li></ul></main>`,
		style: `.odd a:focus { outline: none }`,
	}))
	require.Len(t, stops, 31)
	require.True(t, stops[29].Visible)
	require.False(t, stops[30].Visible)
	require.Equal(t, []string{"focus-invisible #odd"}, rules(findings))
}

// A dialog that is in front of all else keeps the focus, and that is no trap.
func TestWalkInADialog(t *testing.T) {
	stops, findings := Walk(open(t, Look{}, site{
		body:   `<main><button id="behind">Behind</button></main><dialog id="keys" aria-label="Keys"><button id="one">One</button> <button id="two">Two</button></dialog>`,
		script: `document.getElementById("keys").showModal()`,
	}))
	None(t, findings)
	require.Equal(t, []string{"#one", "#two"}, []string{stops[0].Target, stops[1].Target})
	require.Len(t, stops, 2)
}

// Where scripts are off, what only they would do is missing.
func TestWalkWithoutScripts(t *testing.T) {
	_, findings := Walk(open(t, Look{Scripts: ScriptsOff}, site{body: `<main>` + grid + `</main>`, script: roving}))
	require.Equal(t, []string{"composite-arrows #a"}, rules(findings))
}
