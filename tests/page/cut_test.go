//go:build page

package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
	"flotilla/tests/page/browser"
	"flotilla/tests/page/crowd"
)

// watchAge has a page note, by its own clock, when it heard of the hub last, and when it said that it is old; it has heard of it once.
const watchAge = `new Promise(heard => {
	const html = document.documentElement, stale = document.getElementById('stale');
	let last = performance.now();
	globalThis.ages = {heard: 0, said: 0, late: 0};
	new MutationObserver(() => { ages = {heard: performance.now(), said: 0, late: 0}; heard(true); }).observe(html, {attributeFilter: ['data-mark']});
	new MutationObserver(() => { if (!stale.hidden) ages.said ||= performance.now(); }).observe(stale, {attributes: true, childList: true});
	setInterval(() => {
		const now = performance.now();
		if (!ages.said) ages.late = Math.max(ages.late, now - last - 50);
		last = now;
	}, 50);
})`

// aged is what a page noted once it says that it is old.
type aged struct {
	After float64 // ms since it heard of the hub last
	Late  float64 // ms by which a timer of it came too late at most, as on a machine that has too much to do
	Text  string
	Word  string // what its head says
}

// untilAge waits until the line of a page says a text, or says nothing where that is empty.
func untilAge(tab *browser.Tab, text string) aged {
	return browser.Eval[aged](tab, fmt.Sprintf(`new Promise((done, fail) => {
		const stale = document.getElementById('stale'), text = %q, word = () => document.getElementById('live').textContent;
		const over = setTimeout(() => fail(new Error('it says ' + word() + ': ' + stale.textContent + ', expected ' + text)), 60000);
		const look = () => {
			if (text ? stale.hidden || !stale.textContent.includes(text) : !stale.hidden || word() !== 'live') return;
			clearTimeout(over);
			news.disconnect();
			done({After: (globalThis.ages?.said ?? 0) - (globalThis.ages?.heard ?? 0), Late: globalThis.ages?.late ?? 0, Text: stale.textContent, Word: word()});
		};
		const news = new MutationObserver(look);
		news.observe(document.body, {attributes: true, childList: true, subtree: true});
		look();
	})`, text))
}

// openLive opens a screen, again where the hub had not read its fleet yet, and returns once it is kept up.
func openLive(t *testing.T, tab *browser.Tab, at string) {
	t.Helper()
	bustest.Eventually(t, func() error {
		tab.Open(at)
		if !browser.Eval[bool](tab, "document.getElementById('stale') !== null") {
			return fmt.Errorf("%s says: %s", at, browser.Eval[string](tab, "document.body.textContent"))
		}
		return nil
	})
	untilAge(tab, "")
}

// drawn are the places in which a page tells of members, and those of them in which it draws one as well: rows, and the cells of them.
type drawn struct {
	Rows int
	Well []string
}

func drawnOn(tab *browser.Tab, names []string) drawn {
	return browser.Eval[drawn](tab, fmt.Sprintf(`(names => {
		const rows = [...document.querySelectorAll('main a')].filter(a => names.includes(a.textContent.trim().replace(/^member\//, ''))).map(a => a.closest('tr, li, p')).filter(row => row);
		const well = rows.filter(row => row.querySelector('.sign.well, td.well, path.well'));
		return {Rows: rows.length, Well: well.map(row => row.textContent.trim().replace(/\s+/g, ' '))};
	})(%s)`, quotedList(names)))
}

// proxied is where a browser looks at a page through something that stands between, with the cookie that it has there.
func proxied(t *testing.T, page, at string, cookie *http.Cookie) (string, *http.Cookie) {
	t.Helper()
	through, err := url.Parse(at)
	require.NoError(t, err)
	require.NotEqual(t, page, at)
	return at, &http.Cookie{Name: "flotilla-" + through.Port(), Value: cookie.Value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// A page whose stream is cut, or from which nothing comes any more, says within two seconds how old it is, goes on to say so, and
// is live again by itself. Whoever is not heard of is well on no screen, before and after.
func TestAPageThatIsCutOffSaysHowOldItIs(t *testing.T) {
	t.Parallel()
	fleet := crowd.Start(t, crowd.Options{Members: 10, Placements: 5, Page: true})
	rows, err := fleet.Rows(t.Context())
	require.NoError(t, err)
	var silent []string
	for i := range rows.Members {
		if rows.Members[i].State != api.MemberReady && rows.Members[i].State != api.MemberNotReady {
			silent = append(silent, rows.Members[i].Name)
		}
	}
	require.GreaterOrEqual(t, len(silent), 2)
	entered := fleet.Enter(api.RoleViewer)
	for _, screen := range []string{"/", "/members", "/members/" + silent[0], "/placements", "/placements/web", "/runs/spring", "/activity"} {
		t.Run(screen, func(t *testing.T) {
			t.Parallel()
			way := bustest.ProxyTo(t, strings.TrimPrefix(fleet.Hub.Page(), "http://"))
			at, cookie := proxied(t, fleet.Hub.Page(), "http"+strings.TrimPrefix(way.URL(), "nats"), entered)
			tab := browser.Start(t).Tab(t, browser.Look{ReducedMotion: true})
			tab.SetCookies(at, cookie)
			openLive(t, tab, at+screen)
			for name, cut := range map[string]func(){"held": way.HoldReplies, "closed": func() { way.Cut(); way.HoldRequests() }} {
				browser.Eval[bool](tab, watchAge)
				cut()
				old := untilAge(tab, "Stale: nothing was heard of the hub for 2 s")
				require.LessOrEqual(t, old.After, 2000+old.Late, "%s: %+v", name, old)
				require.GreaterOrEqual(t, old.After, 1500.0, "%s: %+v", name, old)
				require.Equal(t, "stale", old.Word)
				untilAge(tab, "Stale: nothing was heard of the hub for 4 s")
				require.Empty(t, drawnOn(tab, silent).Well, name)
				way.Release()
				way.Cut() // what was held has grown old
				untilAge(tab, "")
			}
			told := drawnOn(tab, silent)
			require.Empty(t, told.Well)
			if screen == "/" || screen == "/members" {
				require.GreaterOrEqual(t, told.Rows, len(silent), "rows of those that are silent")
			}
		})
	}
}

func quotedList(names []string) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = fmt.Sprintf("%q", name)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// All tabs of a browser share one stream, on which each is told of its screen.
func TestTenTabsShareOneStream(t *testing.T) {
	t.Parallel()
	fleet := crowd.Start(t, crowd.Options{Members: 10, Placements: 5, Page: true})
	to, err := url.Parse(fleet.Hub.Page())
	require.NoError(t, err)
	var streams atomic.Int64
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			streams.Add(1)
			defer streams.Add(-1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections) // streams would hold it up
	at, cookie := proxied(t, fleet.Hub.Page(), server.URL, fleet.Enter(api.RoleViewer))
	first := browser.Start(t).Tab(t, browser.Look{ReducedMotion: true})
	first.SetCookies(at, cookie)
	tabs := []*browser.Tab{first}
	for len(tabs) < 10 {
		tabs = append(tabs, first.Beside())
	}
	screens := []string{"/", "/members", "/members?by=region", "/placements", "/placements/web", "/runs", "/runs/spring", "/nodes", "/activity", "/members?q=region%3Deu-west"}
	for i, tab := range tabs {
		openLive(t, tab, at+screens[i])
	}
	alone := func() {
		t.Helper()
		bustest.Eventually(t, func() error {
			if n := streams.Load(); n != 1 {
				return fmt.Errorf("there are %d streams", n)
			}
			return nil
		})
	}
	alone()
	marks := func() (all []string) {
		for _, tab := range tabs {
			untilAge(tab, "")
			all = append(all, browser.Eval[string](tab, "document.documentElement.dataset.mark"))
		}
		return all
	}
	before := marks()
	rows, err := fleet.Rows(t.Context())
	require.NoError(t, err)
	for i := range rows.Members {
		if rows.Members[i].State == api.MemberReady && rows.Members[i].Name != rows.Members[0].Name {
			fleet.Set(rows.Members[i].Name, crowd.Unwell("its disk is full"))
			break
		}
	}
	bustest.Eventually(t, func() error {
		if after := marks(); slices.ContainsFunc(before, func(mark string) bool { return slices.Contains(after, mark) }) {
			return fmt.Errorf("marks were %v, and are %v", before, after)
		}
		return nil
	})
	alone()
	require.Contains(t, browser.Eval[string](tabs[1], "document.getElementById('members').textContent"), "NotReady")
}

// While the hub that led is gone and the next does not lead yet the page stays as it is, says how old it is, and is live again
// without being loaded: nobody is logged out.
func TestATakeoverOnScreen(t *testing.T) {
	t.Parallel()
	running := bustest.Start(t)
	o := hubd.Options{
		Now: elsewhen.Now, Fleet: bustest.Fleet, Name: "first", Log: running.Log(), Bus: running.TCP(), Secrets: secrets.Source{Text: bustest.Secrets},
		Lead: store.LeadOptions{TTL: 8 * time.Second, Renew: time.Second, Margin: time.Second, Poll: 100 * time.Millisecond}, Page: hubd.Page{Site: hubd.Site{Address: "127.0.0.1:0"}},
	}
	way := bustest.NewProxy(t, running)
	o.Bus.URL = way.URL()
	leads(t, startHub(t, o))
	o.Name, o.Bus = "second", running.TCP()
	second := startHub(t, o)
	var given api.WebResponse
	require.NoError(t, bus.Request(bustest.Context(t), running.Person(t, "anna", api.RoleOperator), api.VerbWeb, api.WebRequest{}, &given, bus.RequestOptions{}))
	given.URL = second.Page()
	tab := browser.Start(t).Tab(t, browser.Look{ReducedMotion: true})
	tab.SetCookies(second.Page(), crowd.Follow(t, &given))
	openLive(t, tab, second.Page()+"/members")
	browser.Eval[bool](tab, `(document.getElementById('main').dataset.same = "1") === "1"`)
	way.HoldRequests()
	way.HoldReplies()
	untilAge(tab, "Stale")
	leads(t, second)
	untilAge(tab, "")
	require.Equal(t, "1", browser.Eval[string](tab, "document.getElementById('main').dataset.same ?? ''"), "the page was not loaded again")
	require.Contains(t, browser.Eval[string](tab, "document.querySelector('.who').textContent"), "anna (operator)")
	way.Cut()
}

func startHub(t *testing.T, o hubd.Options) *hubd.Hub {
	t.Helper()
	h, err := hubd.New(o)
	require.NoError(t, err)
	require.NoError(t, h.Start(t.Context()))
	t.Cleanup(h.Stop)
	return h
}

func leads(t *testing.T, h *hubd.Hub) {
	t.Helper()
	require.NoError(t, h.WaitLeading(bustest.Context(t)))
}
