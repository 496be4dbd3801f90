// Package browser drives a browser over the hub's pages: it opens them as people have them (dark, narrow, printed, without
// scripts), tries them by keyboard and with axe, and measures them. What is wrong with a page comes back as findings.
//
// All of it works in a world of its own beside the page's scripts, which the page's Content-Security-Policy does not reach and
// which works where scripts are switched off.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Browser is a running browser without a window.
type Browser struct {
	ctx context.Context //nolint:containedctx // chromedp keeps the browser in it; Run ends it
}

var shared struct {
	sync.Mutex
	running bool // Run is there to end it
	browser *Browser
}

// Run runs the tests of a package and then ends the browser that they shared. It is all that TestMain does:
//
//	func TestMain(m *testing.M) { os.Exit(browser.Run(m)) }
func Run(m *testing.M) int {
	shared.running = true
	code := m.Run()
	if shared.browser != nil {
		if err := chromedp.Cancel(shared.browser.ctx); err != nil {
			fmt.Fprintln(os.Stderr, "browser:", err)
			return max(code, 1)
		}
	}
	return code
}

// Start gives the one browser of the package's tests, which the first of them starts. Without a browser the test fails.
func Start(t testing.TB) *Browser {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	require.True(t, shared.running, "found no browser.Run, expected TestMain to call it: it ends the browser")
	if shared.browser == nil {
		started, err := launch()
		require.NoError(t, err)
		shared.browser = started
	}
	return shared.browser
}

// The names under which distributions install it.
var programs = []string{"chromium", "chromium-browser", "google-chrome"}

func program() (string, error) {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("found none of %q in PATH, expected a browser; make test-page installs it on Debian", programs)
}

func launch() (*Browser, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.WSURLReadTimeout(patience),
		// Pages of tests are on this machine, and nothing else is asked for.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
		chromedp.Flag("lang", "en-GB"),
		chromedp.Env("TZ=UTC"),
	)
	if os.Geteuid() == 0 { // whom Chromium's sandbox refuses
		options = append(options, chromedp.NoSandbox)
	}
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", path, err), chromedp.Cancel(ctx))
	}
	return &Browser{ctx}, nil
}
