//go:build page

package page

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/tests/elsewhen"
	"flotilla/tests/page/browser"
	"flotilla/tests/page/crowd"
)

// BenchmarkGoals measures what the page is to do for 10,000 members with 1,000 placements. An operation of Render and of Paint is
// one look at one screen, of Pixel one change of a member, of Viewers one second in which
// a member changes.
func BenchmarkGoals(b *testing.B) {
	fleet := crowd.Start(b, crowd.Options{Members: 10000, Placements: 1000, Page: true})
	g := &goals{fleet: fleet, cookie: fleet.Enter(api.RoleAdmin), screens: screensOf(b, fleet)}
	b.Run("Render", g.render)
	b.Run("Paint", g.paint)
	b.Run("Pixel", g.pixel)
	b.Run("Viewers", g.viewers)
}

type goals struct {
	fleet   *crowd.Fleet
	cookie  *http.Cookie
	screens []screen
}

// screen is the one to look at after so many, another one each time.
func (g *goals) screen(n int) string { return g.fleet.Hub.Page() + g.screens[n%len(g.screens)].url }

// render asks for each screen as nobody asked for it before, as a browser does.
func (g *goals) render(b *testing.B) {
	for _, at := range g.screens {
		b.Run(at.name, func(b *testing.B) { g.renderOne(b, g.fleet.Hub.Page()+at.url) })
	}
}

func (g *goals) renderOne(b *testing.B, url string) {
	var took []time.Duration
	most := 0
	for n := 0; b.Loop(); n++ {
		again := url + map[bool]string{true: "&", false: "?"}[strings.Contains(url, "?")] + fmt.Sprintf("look=%d", n)
		began := elsewhen.Now()
		answer := get(b, again, g.cookie)
		body, err := io.ReadAll(answer.Body)
		took = append(took, elsewhen.Now().Sub(began))
		require.NoError(b, err)
		require.NoError(b, answer.Body.Close())
		most = max(most, len(body))
	}
	report(b, "ms-p95", took)
	b.ReportMetric(float64(most)/1024, "KiB-most")
}

// get asks as a browser does that takes answers compressed.
func get(b *testing.B, url string, cookie *http.Cookie) *http.Response {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	require.NoError(b, err)
	request.Header.Set("Accept-Encoding", "gzip")
	request.AddCookie(cookie)
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(b, err)
	return answer
}

// report reports what 95 of 100 were done within.
func report(b *testing.B, unit string, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[(len(took)*95+99)/100-1])/float64(time.Millisecond), unit)
}

// paint opens screens in a browser.
func (g *goals) paint(b *testing.B) {
	chrome := browser.Start(b)
	tab := chrome.Tab(b, browser.Look{})
	tab.SetCookies(g.fleet.Hub.Page(), g.cookie)
	tab.Open(g.fleet.Hub.Page() + "/static/page.css") // a page of the same process that shows next to nothing
	blank := chrome.Resident(b)
	var painted []time.Duration
	elements, resident := 0, 0
	for n := 0; b.Loop(); n++ {
		tab.Open(g.screen(n))
		counts := browser.Count(tab)
		painted = append(painted, counts.FirstPaint)
		elements, resident = max(elements, counts.Elements), max(resident, chrome.Resident(b)-blank)
	}
	report(b, "ms-p95", painted)
	b.ReportMetric(float64(elements), "elements-most")
	b.ReportMetric(float64(resident)/1e6, "MB-over-blank")
}

// apartBy is how far changes of a member are from each other: a stream that was sent much makes up for it first.
const apartBy = 2 * time.Second

// pixel has a member change, and waits until its screen shows that.
func (g *goals) pixel(b *testing.B) {
	member := g.healthy(b)
	tab := browser.Start(b).Tab(b, browser.Look{})
	tab.SetCookies(g.fleet.Hub.Page(), g.cookie)
	tab.Open(g.fleet.Hub.Page() + "/members/" + member)
	var took []time.Duration
	next := time.NewTicker(apartBy)
	defer next.Stop()
	for n := 0; b.Loop(); n++ {
		<-next.C
		said := fmt.Sprintf("change %d of many", n)
		browser.Eval[bool](tab, fmt.Sprintf(`(globalThis.painted = new Promise(seen => {
			const look = () => document.querySelector("main").textContent.includes(%q) ? requestAnimationFrame(() => setTimeout(seen, 0, true)) : requestAnimationFrame(look);
			look();
		}), true)`, said))
		began := elsewhen.Now()
		g.fleet.Set(member, crowd.Unwell(said))
		browser.Eval[bool](tab, "painted")
		took = append(took, elsewhen.Now().Sub(began))
	}
	report(b, "ms-p95", took)
}

// healthy is a member whose agent is played and that is well.
func (g *goals) healthy(b *testing.B) string {
	b.Helper()
	rows, err := g.fleet.Rows(b.Context())
	require.NoError(b, err)
	i := slices.IndexFunc(rows.Members, func(m overview.Member) bool { return m.State == api.MemberReady && m.Nodes > 6 })
	require.GreaterOrEqual(b, i, 0, "a member that is well")
	return rows.Members[i].Name
}

const (
	viewers = 200
	// alone is for how many changes nobody looks, so that what the process spends without viewers is known.
	alone = 20
)

// viewers follow the overview, each with a stream, while a member changes each second.
func (g *goals) viewers(b *testing.B) {
	member := g.healthy(b)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	change := func(n int) {
		g.fleet.Set(member, crowd.Unwell(fmt.Sprintf("change %d", n)))
		<-tick.C
	}
	began := spent(b)
	for n := range alone {
		change(n)
	}
	without := spent(b) - began
	var received atomic.Int64
	leave := g.follow(b, &received)
	received.Store(0)
	began = spent(b)
	for n := alone; b.Loop(); n++ {
		change(n)
	}
	with := spent(b) - began
	leave()
	b.ReportMetric(100*(with.Seconds()/float64(b.N)-without.Seconds()/alone), "%-of-a-core")
	b.ReportMetric(float64(received.Load())/1024/viewers/float64(b.N), "KiB/s-a-viewer")
}

// follow opens the streams of all viewers, which have heard of the fleet when it returns.
func (g *goals) follow(b *testing.B, received *atomic.Int64) (leave func()) {
	b.Helper()
	const ofOne = 25
	var following sync.WaitGroup
	var bodies []io.Closer
	var cookie *http.Cookie
	for n := range viewers {
		if n%ofOne == 0 {
			cookie = g.fleet.Visit(fmt.Sprintf("viewer-%d", n/ofOne))
		}
		answer := get(b, g.fleet.Hub.Page()+"/stream?at=%2F", cookie)
		require.Equal(b, http.StatusOK, answer.StatusCode)
		_, err := io.ReadFull(answer.Body, make([]byte, 1<<10))
		require.NoError(b, err)
		bodies = append(bodies, answer.Body)
		following.Go(func() { _, _ = io.Copy(counter{received}, answer.Body) })
	}
	return func() {
		for _, body := range bodies {
			_ = body.Close()
		}
		following.Wait()
	}
}

// counter counts what is written to it.
type counter struct{ to *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.to.Add(int64(len(p)))
	return len(p), nil
}

// spent is the processor time of the process.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
