//go:build page

package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/page/browser"
	"flotilla/tests/page/crowd"
)

// keyed is a page under somebody's fingers.
type keyed struct {
	t    *testing.T
	page string
	*browser.Tab
}

// shows waits until an expression holds on the page.
func (k *keyed) shows(expression string) {
	k.t.Helper()
	bustest.Eventually(k.t, func() error {
		if !browser.Eval[bool](k.Tab, expression) {
			return fmt.Errorf("%s does not hold on %s, where %s has the focus", expression, k.URL(), browser.Eval[string](k.Tab, "document.activeElement.outerHTML.slice(0, 200)"))
		}
		return nil
	})
}

// leads waits until keys have led to a screen.
func (k *keyed) leads(to string) {
	k.t.Helper()
	bustest.Eventually(k.t, func() error {
		if at := strings.TrimPrefix(k.URL(), k.page); at != to {
			return fmt.Errorf("it is at %s, expected %s", at, to)
		}
		return nil
	})
	openLive(k.t, k.Tab, k.page+to)
}

// A link lets in whoever types it; from there keys lead everywhere, until they are switched off.
func TestKeysLeadEverywhere(t *testing.T) {
	t.Parallel()
	fleet := crowd.Start(t, crowd.Options{Members: 10, Placements: 4, Page: true})
	given, err := fleet.Hub.Link(bustest.Context(t), api.Caller{Name: "ada", Role: api.RoleViewer}, time.Hour)
	require.NoError(t, err)
	k := &keyed{t, fleet.Hub.Page(), browser.Start(t).Tab(t, browser.Look{ReducedMotion: true})}
	k.Open(k.page + "/enter?link=" + given.Secret)
	k.leads("/")
	k.Press("gm")
	k.leads("/members")
	k.Press("j")
	k.shows("document.activeElement.matches('#members a[data-row]')")
	first := browser.Eval[string](k.Tab, "document.activeElement.textContent")
	k.Press("jk")
	k.shows(fmt.Sprintf("document.activeElement.textContent === %q", first))
	k.Press(kb.Enter)
	k.leads("/members/" + first)
	k.Press("u")
	k.leads("/members")
	k.Press("/")
	k.shows("document.activeElement.id === 'find'")
	browser.Eval[bool](k.Tab, "(document.activeElement.value = '') === ''") // the protocol types the character of a key that was taken
	k.Press("web" + kb.Enter)
	k.leads("/members?q=web")
	k.Press("gc")
	k.leads("/placements")
	k.Press("j")
	k.shows("document.activeElement.matches('#placements tbody th a')")
	k.Press("p")
	k.shows("document.getElementById('live').textContent === 'paused'")
	k.Press("p")
	k.shows("document.getElementById('live').textContent === 'live'")
	k.Press("?")
	k.shows("document.getElementById('help').open")
	browser.Eval[bool](k.Tab, "document.getElementById('keyed').click(), document.getElementById('help').close(), true")
	k.Press("gm?pj")
	k.shows("!document.getElementById('help').open && document.getElementById('live').textContent === 'live'")
	require.Equal(t, k.page+"/placements", k.URL(), "keys are switched off")
}
