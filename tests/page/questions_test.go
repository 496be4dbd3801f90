//go:build page

package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/page/browser"
	"flotilla/tests/page/crowd"
)

// clicks is how many links somebody who looks for an answer follows at most.
const clicks = 3

// question is one that people come to the page with: the links they follow from its start, where the answer stands then, and
// what it says there.
type question struct {
	asked  string
	follow []string
	within string
	says   []string
	not    []string
}

var questions = []question{
	{"which members lag behind?", []string{"Members", "v1.36.3"}, "#members", []string{"of 17", "hamburg"}, []string{"v1.36.4"}},
	{"why is crp-prod-cpu-sorter not on madrid?", []string{"Placements", "crp-prod-cpu-sorter", "eligibility"}, "#members", []string{"madrid", "no recent heartbeat"}, nil},
	{"when does the run end, and what holds it?", []string{"Runs", "to-1-36-4"}, "#run", []string{"does not end by itself", "waits for approval"}, nil},
	{"what will consolidation remove?", []string{"Nodes"}, "#pools tbody, #disruptions tbody", []string{"workers", "Empty"}, nil},
	{"what changed?", []string{"Activity"}, "main", []string{"Who did what", "disruptor", "Older"}, nil},
	{"where do placements fail?", []string{"Members", "Trouble"}, "#members tbody tr:first-child", []string{"hamburg"}, []string{"antwerp"}},
	{"what waits for me?", []string{"Activity"}, "main", []string{"run/to-1-36-4", "gate waits", "rollout paused", "frozen"}, nil},
	{"what if I drain lyon?", []string{"Members", "lyon", "Drain…"}, "main", []string{"lyon", "crp-"}, nil},
	{"is anything stale?", nil, "body", []string{"live", "1 Unknown", "member/madrid"}, []string{"Stale"}},
}

// What people come to the page with is answered a few clicks away.
func TestQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	h := startShow(t)
	given, err := h.fleet.Hub.Link(bustest.Context(t), api.Caller{Name: "ada", Role: api.RoleAdmin}, time.Hour)
	require.NoError(t, err)
	tab := browser.Start(t).Tab(t, browser.Look{ReducedMotion: true})
	tab.SetCookies(h.fleet.Hub.Page(), crowd.Follow(t, given))
	for _, q := range questions {
		t.Run(q.asked, func(t *testing.T) { q.ask(tab.For(t), t, h.fleet.Hub.Page()) })
	}
	t.Run("who approved it?", func(t *testing.T) {
		require.NoError(t, h.ask(api.VerbRunApprove, api.RunRequest{Request: h.id(), Run: "to-1-36-4", Gate: "test/after/Approval"}, nil))
		q := question{follow: []string{"Runs", "to-1-36-4"}, within: "main", says: []string{"Gates and waits", "opened", "\tadmin\t"}}
		q.ask(tab.For(t), t, h.fleet.Hub.Page())
	})
}

func (q *question) ask(tab *browser.Tab, t *testing.T, page string) {
	require.LessOrEqual(t, len(q.follow), clicks)
	openLive(t, tab, page+"/")
	for _, link := range q.follow {
		tab.Follow(link)
	}
	bustest.Eventually(t, func() error { // members may be late for a moment
		said := strings.Join(browser.Eval[[]string](tab, "[...document.querySelectorAll("+quotedList([]string{q.within})+"[0])].map(e => e.innerText)"), "\n")
		lacks := func(part string) bool { return !strings.Contains(said, part) }
		if slices.ContainsFunc(q.says, lacks) || slices.ContainsFunc(q.not, func(part string) bool { return !lacks(part) }) {
			return fmt.Errorf("found %q, expected %q, and none of %q", said, q.says, q.not)
		}
		return nil
	})
	browser.None(t, browser.Console(tab))
}
