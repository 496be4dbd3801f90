//go:build page

package page

import (
	"cmp"
	"flag"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/tests/page/browser"
	"flotilla/tests/page/crowd"
)

// How many members the fleets have that are looked at.
var members = flag.String("page.members", "10,10000", "members of the fleets that are looked at")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(browser.Run(m))
}

// looks are how people have the page before them.
var looks = []browser.Look{
	{},
	{Dark: true},
	{Scripts: browser.ScriptsOff},
	{Dark: true, Scripts: browser.ScriptsOff},
	{Width: 360, Height: 740},
	{Print: true},
}

// Every screen of a small and of a large fleet, however somebody has it before them, is read by who cannot see it, walked
// through by keyboard, and fits. One fleet of a size serves all; the small one is looked at while the large one starts.
func TestScreens(t *testing.T) {
	t.Parallel()
	for size := range strings.SplitSeq(*members, ",") {
		t.Run(size+" members", func(t *testing.T) {
			t.Parallel()
			many, err := strconv.Atoi(size)
			if err != nil {
				t.Fatalf("-page.members: %v", err)
			}
			tour := newTour(t, many)
			for _, look := range looks {
				t.Run(look.String(), func(t *testing.T) {
					t.Parallel()
					tour.under(t, look)
				})
			}
		})
	}
}

// tour leads through the screens of a fleet.
type tour struct {
	page    string
	cookie  *http.Cookie
	screens []screen
	small   bool // whoever walks through it in the dark too takes no time
}

func newTour(t *testing.T, members int) *tour {
	fleet := crowd.Start(t, crowd.Options{Members: members, Placements: max(4, members/10), Page: true})
	return &tour{fleet.Hub.Page(), fleet.Enter(api.RoleAdmin), screensOf(t, fleet), members < 100}
}

// under looks at all screens in one tab.
func (tour *tour) under(t *testing.T, look browser.Look) {
	tab := browser.Start(t).Tab(t, look)
	tab.SetCookies(tour.page, tour.cookie)
	for _, at := range tour.screens {
		t.Run(at.name, func(t *testing.T) { tour.try(tab.For(t), t, look, tour.page+at.url) })
	}
}

// nothing is the path of a member that the fleet does not have.
const nothing = "/members/no-such-member"

// screen is one screen to look at.
type screen struct{ name, url string }

// screensOf are all screens, of what the fleet has most of.
func screensOf(t testing.TB, fleet *crowd.Fleet) []screen {
	rows, err := fleet.Rows(t.Context())
	if err != nil || len(rows.Members) == 0 || len(rows.Placements) == 0 || len(rows.Runs) == 0 {
		t.Fatalf("a fleet without rows: %v", err)
	}
	member := rows.Members[0].Name
	drained := slices.IndexFunc(rows.Members, func(m overview.Member) bool { return m.State == api.MemberReady && !m.Leaving && !m.Draining })
	if drained < 0 {
		t.Fatal("no member is ready")
	}
	placement := slices.MaxFunc(rows.Placements, func(a, b overview.Placement) int { return cmp.Compare(a.Counts.Picked, b.Counts.Picked) }).Key
	run := slices.MaxFunc(rows.Runs, func(a, b overview.Run) int { return cmp.Compare(a.Members, b.Members) }).Key
	return []screen{
		{"overview", "/"},
		{"members", "/members?by=region"},
		{"member", "/members/" + member},
		{"placements", "/placements"},
		{"placement", "/placements/" + placement + "?member=" + member},
		{"runs", "/runs"},
		{"run", "/runs/" + run},
		{"windows", "/windows?days=14"},
		{"nodes", "/nodes"},
		{"nodes-of-a-member", "/nodes?member=" + member},
		{"activity", "/activity"},
		{"confirmation", "/do/freeze?object=fleet/fleet"},
		{"approval", "/do/approve?object=run/" + run},
		{"drain", "/do/drain?object=member/" + rows.Members[drained].Name},
		{"nothing", nothing},
	}
}

// try looks at one screen.
func (tour *tour) try(tab *browser.Tab, t *testing.T, look browser.Look, url string) {
	tab.Open(url)
	if look.Print {
		_, found := browser.Print(tab)
		browser.None(t, found)
		return
	}
	browser.None(t, browser.Axe(tab))
	browser.None(t, browser.Overflow(tab))
	browser.None(t, browser.Targets(tab))
	if look.Width == 0 && (!look.Dark || tour.small) {
		if look.Scripts == browser.ScriptsRun {
			browser.Eval[bool](tab, "document.getElementById('still')?.click(), true") // what is walked through stays as it is
		}
		stops, found := browser.Walk(tab)
		browser.None(t, found)
		t.Log(strconv.Itoa(len(stops)) + " stops")
	}
	if !strings.HasSuffix(url, nothing) {
		browser.None(t, browser.Console(tab))
	}
}
