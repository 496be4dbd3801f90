//go:build page

package page

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
	"flotilla/tests/page/browser"
	"flotilla/tests/page/crowd"
)

// Whether testdata is written anew, once nothing on a screen has moved for a while.
var update = flag.Bool("page.update", false, "write what screens are held against")

const (
	// arriving is how long a fleet has to come to where it stays, while other tests work.
	arriving = 4 * time.Minute
	// steady is for how long nothing moved on a screen that is written down.
	steady = 40 * time.Second
)

// Every screen is drawn as it was, tag by tag, and its parts stand where they stood, on a desk and on a phone. Pixels are not
// compared, and nothing is that another hour or day draws otherwise: what happened in which order, and what lies along a line of time,
// of which core/picture has tests.
func TestScreensAreAsTheyWere(t *testing.T) {
	t.Parallel()
	fleet := crowd.Start(t, crowd.Options{Members: 10, Placements: 4, Page: true})
	cookie, screens, all := fleet.Enter(api.RoleAdmin), screensOf(t, fleet), map[string]func() string{}
	for name, as := range drawnAs {
		tab := browser.Start(t).Tab(t, browser.Look{ReducedMotion: true, Width: as.width})
		tab.SetCookies(fleet.Hub.Page(), cookie)
		for _, at := range screens {
			all[filepath.Join("testdata", at.name+"."+name)] = func() string {
				tab.Open(fleet.Hub.Page() + at.url)
				return as.drawn(tab)
			}
		}
	}
	if *update {
		rewrite(t, all)
	}
	bustest.EventuallyIn(t, arriving, func() error {
		var apart []error
		for _, file := range slices.Sorted(maps.Keys(all)) {
			if err := same(all[file](), file); err != nil {
				apart = append(apart, err)
				continue
			}
			delete(all, file)
		}
		return errors.Join(apart...)
	})
}

// same says how a screen is drawn other than a file has it.
func same(drawn, file string) error {
	want, err := os.ReadFile(file)
	if err != nil || drawn == string(want) {
		return err
	}
	return fmt.Errorf("%s (-page.update writes it anew): %s", file, apartLines(string(want), drawn))
}

// drawnAs are what is compared of a page, which is so wide; 0 is a desk.
var drawnAs = map[string]struct {
	width int
	drawn func(*browser.Tab) string
}{"html": {0, document}, "desk": {0, boxes}, "phone": {360, boxes}}

// rewrite writes what is drawn once that stays the same.
func rewrite(t *testing.T, all map[string]func() string) {
	t.Helper()
	last, since := map[string]string{}, elsewhen.Now()
	bustest.EventuallyIn(t, arriving, func() error {
		for file, draw := range all {
			if drawn := draw(); drawn != last[file] {
				last[file], since = drawn, elsewhen.Now()
			}
		}
		if elsewhen.Now().Sub(since) < steady {
			return errors.New("a screen goes on to move")
		}
		return nil
	})
	for file, drawn := range last {
		require.NoError(t, os.WriteFile(file, []byte(drawn), 0o644))
	}
}

// apartLines are the first lines in which two texts differ.
func apartLines(want, found string) string {
	wants, founds := strings.Split(want, "\n"), strings.Split(found, "\n")
	at := 0
	for at < min(len(wants), len(founds)) && wants[at] == founds[at] {
		at++
	}
	few := func(lines []string) string {
		return strings.Join(lines[min(at, len(lines)):min(at+5, len(lines))], "\n")
	}
	return fmt.Sprintf("line %d: found\n%s\nexpected\n%s", at+1, few(founds), few(wants))
}

// What is another with each fleet.
var marks = regexp.MustCompile(` data-(mark|sum|stale|since)(="[^"]*")?|(name="request") value="[^"]*"|(before=)\d+| class="swapped"|\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)( TIME)`)

// moments are the parts of screens that go by the hour, with the ends of what is left out of them; those that are sorted by it are sorted by their lines.
var moments = []struct {
	part, from, to string
	sorted         bool
}{
	{`<section id="todo"`, "<ul", "</ul>", true},
	{`<section id="problems"`, "<ul", "</section>", true},
	{`<section id="events"`, "<tbody", "</tbody>", false},
	{`<section id="lanes"`, "<svg ", "</section>", false},
	{`<section id="strip"`, "<svg ", "</section>", false},
	{`<section id="rows"`, "<tbody", "</tbody>", false},
}

// document is a page tag by tag; of all but the first what it is about, since what stands around that is the same.
func document(tab *browser.Tab) string {
	first := browser.Eval[string](tab, "location.pathname") == "/"
	if first {
		untilAge(tab, "") // its head says that it is live
	}
	html := marks.ReplaceAllString(browser.HTML(tab), "$3$4$6")
	if begin, end := strings.Index(html, "<main"), strings.Index(html, "</main>"); !first && begin >= 0 && end >= 0 {
		html = html[begin:end]
	}
	for _, m := range moments {
		before, rest, found := strings.Cut(html, m.part)
		head, rest, from := strings.Cut(rest, m.from)
		within, after, to := strings.Cut(rest, m.to)
		if !found || !from || !to {
			continue
		}
		lines := strings.Split(within, "\n")
		slices.Sort(lines)
		if !m.sorted {
			lines = []string{"…"}
		}
		html = before + m.part + head + m.from + strings.Join(lines, "\n") + m.to + after
	}
	return html
}

// boxes are where the parts of a page stand and how wide they are; how high they are goes by what is said in them.
func boxes(tab *browser.Tab) string {
	var out strings.Builder
	for _, selector := range []string{"header", "nav", "main", "h1", "main > section", "main > section > *", "footer"} {
		for _, box := range browser.Boxes(tab, selector) {
			fmt.Fprintf(&out, "%s x=%.0f width=%.0f\n", selector, math.Round(box.X), math.Round(box.W))
		}
	}
	return out.String()
}
