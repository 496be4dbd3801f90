//go:build page

package page

import (
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/tests/elsewhen"
	"flotilla/tests/page/browser"
	"flotilla/tests/page/crowd"
)

// How many random states pages are held against the command line in, of fleets of how many members, and where those begin.
var (
	states = flag.Int("page.states", 500, "random states in which pages are held against the command line")
	seed   = flag.Uint64("page.seed", 1, "seed of the random states")
)

const (
	// truthMembers and truthPlacements are of each fleet that is shaken, truthFleets of them at once.
	truthMembers, truthPlacements, truthFleets = 50, 12, 5
	// settling is how long is waited for a revision that follows a shake: what the page does not show, as how members were judged
	// that nobody picked, comes with the next change.
	settling = 2 * time.Second
	// lagging is for how long a screen may say other than the command line, while nobody shakes, of what members report. That is no
	// part of a revision, and the hub counts it once a second.
	lagging = 10 * time.Second
)

//go:embed truth.js
var truth string

// seen is what a screen shows.
type seen struct {
	Mark    string
	Said    facts
	Colours map[string][]string
}

// window is a tab that stays open at a screen.
type window struct {
	*browser.Tab
	at   string
	want func(*said) facts
	// last is the mark that was looked at, compared how often it was held against the command line, wrong what it said other then.
	last     string
	compared int
	wrong    []string
	since    time.Time // when it was first seen to be wrong
}

// look is what the window shows once that is of another revision than was looked at last, or differed then; its mark alone where it
// is the same after a while.
func (w *window) look(patience time.Duration) seen {
	if len(w.wrong) > 0 {
		w.last = ""
	}
	return browser.Eval[seen](w.Tab, fmt.Sprintf(`new Promise(done => {
		const html = document.documentElement, end = seen => { clearTimeout(over); news.disconnect(); done(seen); };
		const look = () => { if ((html.dataset.mark ?? '') !== %q) end((%s)()); };
		const news = new MutationObserver(look);
		const over = setTimeout(() => end({Mark: html.dataset.mark ?? ''}), %d);
		news.observe(html, {attributes: true});
		look();
	})`, w.last, truth, patience.Milliseconds()))
}

// watched is a fleet that is shaken while its page is looked at.
type watched struct {
	t       *testing.T
	fleet   *crowd.Fleet
	random  *rand.Rand
	windows []*window
	// said is what the command line said at a revision.
	said *said
	at   string
	// marks are those in which a screen was as the command line has it.
	marks map[string]bool
	did   []string
	// silenced is the member that does not beat at the moment.
	silenced string
}

// In random states what the live page shows, read from its document, is what the command line says at the same revision.
func TestThePageIsTrue(t *testing.T) {
	t.Parallel()
	t.Logf("-page.seed=%d", *seed)
	for i := range uint64(truthFleets) {
		t.Run(fmt.Sprintf("seed %d", *seed+i), func(t *testing.T) {
			t.Parallel()
			watch(t, *seed+i).shaken(*states / truthFleets)
		})
	}
}

func watch(t *testing.T, seed uint64) *watched {
	fleet := crowd.Start(t, crowd.Options{Members: truthMembers, Placements: truthPlacements, Seed: seed, Page: true})
	h := &watched{t: t, fleet: fleet, random: rand.New(rand.NewPCG(seed, seed)), marks: map[string]bool{}}
	chrome, cookie := browser.Start(t), fleet.Enter(api.RoleViewer)
	for at, want := range map[string]func(*said) facts{
		"/": (*said).onOverview, "/members": (*said).onMembers, "/placements": (*said).onPlacements,
		"/placements/web": func(s *said) facts { return s.onPlacement("web") }, "/runs/spring": func(s *said) facts { return s.onRun("spring") },
	} {
		w := &window{Tab: chrome.Tab(t, browser.Look{ReducedMotion: true}), at: at, want: want}
		w.SetCookies(fleet.Hub.Page(), cookie)
		openLive(t, w.Tab, fleet.Hub.Page()+at)
		h.windows = append(h.windows, w)
	}
	return h
}

// shaken shakes the fleet until its page was held against the command line in so many states.
func (h *watched) shaken(wanted int) {
	began := elsewhen.Now()
	shakes := 0
	seldom := func(w *window) bool { return w.compared <= wanted/20 }
	for ; len(h.marks) < wanted || shakes < 3*wanted && slices.ContainsFunc(h.windows, seldom); shakes++ {
		h.shake(shakes)
		h.follow()
	}
	var each []string
	for _, w := range h.windows {
		require.Greater(h.t, w.compared, wanted/20, "states in which %s was compared", w.at)
		each = append(each, fmt.Sprintf("%s %d", w.at, w.compared))
	}
	slices.Sort(each)
	h.t.Logf("%d states, %d shakes, %s; %s", len(h.marks), shakes, elsewhen.Now().Sub(began).Round(time.Second), strings.Join(each, ", "))
}

// follow looks at all windows until one of them shows a revision that none was compared at, and none says other than the command line.
func (h *watched) follow() {
	h.t.Helper()
	before, began := len(h.marks), elsewhen.Now()
	for {
		for _, w := range h.windows {
			h.compare(w, w.look(20*time.Millisecond))
		}
		now := elsewhen.Now()
		apart := slices.IndexFunc(h.windows, func(w *window) bool { return len(w.wrong) > 0 })
		if apart < 0 && (len(h.marks) > before || now.Sub(began) > settling) {
			return
		}
		if apart >= 0 && now.Sub(h.windows[apart].since) > lagging {
			h.fail(h.windows[apart])
		}
	}
}

func (h *watched) fail(w *window) {
	h.t.Helper()
	require.Fail(h.t, w.at+" at "+w.last, "%s\nafter %s", strings.Join(w.wrong, "\n"), strings.Join(h.did[max(0, len(h.did)-10):], "\n"))
}

// shake does one thing at random; now and then a member falls silent, or beats again.
func (h *watched) shake(n int) {
	if n%40 == 0 {
		h.silence()
		return
	}
	h.did = append(h.did, h.fleet.Shake(h.random))
}

func (h *watched) silence() {
	if h.silenced != "" {
		h.fleet.Set(h.silenced, crowd.Silent(false))
		h.silenced = ""
		return
	}
	h.silenced = h.fleet.Anyone(h.random)
	h.fleet.Set(h.silenced, crowd.Silent(true))
	h.did = append(h.did, h.silenced+" falls silent")
}

// revision is that which the hub is at.
func (h *watched) revision() string {
	h.t.Helper()
	var cells overview.Cells
	require.NoError(h.t, bus.Request(h.t.Context(), h.fleet.Client(api.RoleViewer), api.VerbCells, api.CellsRequest{Placements: []string{}}, &cells, bus.RequestOptions{}))
	return cells.Mark
}

// saidAt is what the command line says at a revision; nil where the fleet has gone on since.
func (h *watched) saidAt(mark string) *said {
	h.t.Helper()
	if h.revision() != mark {
		return nil
	}
	if h.at == mark {
		return h.said
	}
	all := sayAll(h.t, h.fleet)
	if h.revision() != mark {
		return nil
	}
	h.said, h.at = all, mark
	return all
}

// compare holds what a window shows against what the command line says.
func (h *watched) compare(w *window, shown seen) {
	h.t.Helper()
	if shown.Mark == w.last {
		return
	}
	w.last = shown.Mark
	h.coloured(w, &shown)
	former := w.wrong
	w.wrong = nil
	all := h.saidAt(shown.Mark)
	if all == nil {
		return // of a later revision it is compared anew
	}
	if w.wrong = apart(shown.Said, w.want(all)); len(former) == 0 {
		w.since = elsewhen.Now()
	}
	if len(w.wrong) == 0 {
		h.marks[shown.Mark] = true
		w.compared++
		return
	}
	h.at = "" // members may report meanwhile
	if slices.ContainsFunc(w.wrong, func(fact string) bool { return strings.Contains(fact, " is: ") }) {
		h.fail(w)
	}
}

// apart are the facts that are not the same.
func apart(shown, want facts) (wrong []string) {
	names := slices.Sorted(maps.Keys(want))
	for name := range shown {
		if _, known := want[name]; !known {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if shown[name] != want[name] {
			wrong = append(wrong, fmt.Sprintf("%s: the page shows %q, flotilla says %q", name, shown[name], want[name]))
		}
	}
	return wrong
}

// coloured requires that each sign has one colour, and that what is not heard of has not that of what is well.
func (h *watched) coloured(w *window, shown *seen) {
	h.t.Helper()
	for sign, colours := range shown.Colours {
		require.Len(h.t, colours, 1, "colours of %s on %s", sign, w.at)
		require.True(h.t, sign == "well" || !slices.Equal(colours, shown.Colours["well"]), "%s on %s has the colour of what is well", sign, w.at)
	}
}
