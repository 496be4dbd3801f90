package browser

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// patience is how long a browser has for one thing. Axe takes longest, 34 s for a table of 70,000 elements.
const patience = 90 * time.Second

// Tab is a page before a person. Its cookies and storage are its own; it ends with its test, and one goroutine at a time
// may use it. A tab takes half a second to open, so tests of many pages share one.
type Tab struct {
	t     testing.TB
	look  Look
	ctx   context.Context //nolint:containedctx // chromedp keeps the tab in it, which ends with the test
	heard *heard
	kinds map[string]map[string]kind // that walks came to, by the style sheets of pages
}

// Tab opens an empty tab that looks so.
func (b *Browser) Tab(t testing.TB, look Look) *Tab {
	t.Helper()
	return opened(b.ctx, t, look, chromedp.WithNewBrowserContext())
}

// Beside opens another tab of the same person, who has the same cookies and storage there, which ends with the first one.
func (tab *Tab) Beside() *Tab {
	tab.t.Helper()
	return opened(tab.ctx, tab.t, tab.look)
}

func opened(within context.Context, t testing.TB, look Look, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	heard := newHeard()
	ctx, cancel := chromedp.NewContext(within, append(options, chromedp.WithListener(heard.hear))...)
	t.Cleanup(cancel)
	tab := &Tab{t: t, look: look, ctx: ctx, heard: heard, kinds: map[string]map[string]kind{}}
	require.NoError(t, chromedp.Do(ctx)) // outside of any time limit, which would end the tab too
	if look.Scripts == ScriptsBlocked {
		require.NoError(t, chromedp.Listen(ctx, tab.refuse))
	}
	tab.Do(look.emulate())
	return tab
}

// For is the same tab for a subtest, which fails when something goes wrong with it there.
func (tab *Tab) For(t testing.TB) *Tab {
	other := *tab
	other.t = t
	return &other
}

// Do carries out chromedp's actions, such as chromedp.Click(chromedp.CSS("#more")) and chromedp.WaitVisible. The test fails with the first that does.
func (tab *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	require.NoError(tab.t, chromedp.Do(ctx, actions...))
}

// Open opens an address, and returns when the page and what it is made of have arrived.
func (tab *Tab) Open(url string) {
	tab.t.Helper()
	tab.Do(chromedp.Navigate(url))
}

// followed clicks on a link that is shown with a text, in what the page is about rather than in its head, and tells whether there is one.
const followed = `(text => {
	const links = [...document.querySelectorAll('main a, nav a')].filter(a => a.checkVisibility() && a.textContent.trim().replace(/\s+/g, ' ') === text);
	const link = links.find(a => a.closest('main')) ?? links[0];
	link?.click();
	return link !== undefined;
})`

// Follow clicks on a link with a text, and returns when the page that it leads to has arrived.
func (tab *Tab) Follow(text string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	_, err := chromedp.RunResponse(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		found, err := inWorld[bool](tab.heard, spell(followed, text))(ctx, target)
		if err == nil && !found {
			err = fmt.Errorf("found no link %q", text)
		}
		return err
	}))
	require.NoError(tab.t, err)
}

// URL is the address of the page that is open.
func (tab *Tab) URL() string {
	tab.t.Helper()
	return run(tab, chromedp.Location())
}

// SetCookies sets cookies as the answer of an address would, which says whom they are for unless they do.
func (tab *Tab) SetCookies(url string, cookies ...*http.Cookie) {
	tab.t.Helper()
	var set network.SetCookiesParams
	for _, c := range cookies {
		set.Cookies = append(set.Cookies, &network.CookieParam{
			URL: url, Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path,
			Secure: c.Secure, HTTPOnly: c.HttpOnly, SameSite: sameSite[c.SameSite],
		})
	}
	tab.Do(command(network.SetCookies, set))
}

var sameSite = map[http.SameSite]network.CookieSameSite{
	http.SameSiteStrictMode: network.CookieSameSiteStrict,
	http.SameSiteLaxMode:    network.CookieSameSiteLax,
	http.SameSiteNoneMode:   network.CookieSameSiteNone,
}

// Press presses keys one after the other: letters, or kb.Tab, kb.ArrowDown, kb.Enter of chromedp/kb.
func (tab *Tab) Press(keys string, held ...kb.Modifier) {
	tab.t.Helper()
	tab.Do(chromedp.KeyEvent(keys, chromedp.KeyModifiers(held...)))
}

// command is an action of one command of the protocol whose answer says nothing.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// ask gives the answer to a command of the protocol.
func ask[P, R any](tab *Tab, c cdp.Command[P, R], params P) R {
	tab.t.Helper()
	return run(tab, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, c, params)
	})
}

func run[T any](tab *Tab, action chromedp.Action[T]) T {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	got, err := chromedp.Run(ctx, action)
	require.NoError(tab.t, err)
	return got
}

// pauseScripts has the browser ask before it fetches a script; refuse answers.
var pauseScripts = command(fetch.Enable, fetch.EnableParams{
	Patterns: []*fetch.RequestPattern{{URLPattern: "*", ResourceType: network.ResourceTypeScript}},
})

func (tab *Tab) refuse(event any) {
	paused, ok := event.(*fetch.EventRequestPaused)
	if !ok {
		return
	}
	// Whoever hears events may not wait for answers. A tab that ends meanwhile needs none.
	go func() {
		_, _ = chromedp.Call(tab.ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: paused.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
	}()
}
