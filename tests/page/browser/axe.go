package browser

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

//go:embed script/axe.js
var axeScript string

// Axe gives what axe-core finds against WCAG 2.0 to 2.2, levels A and AA, one finding an element. What axe cannot decide,
// such as the contrast of text over a picture, is no finding.
func Axe(tab *Tab) []Finding {
	tab.t.Helper()
	script, err := axe()
	require.NoError(tab.t, err)
	if !Eval[bool](tab, `"axe" in globalThis`) {
		run(tab, inWorld[chromedp.Void](tab.heard, script))
	}
	found := call[struct {
		Tried    int
		Findings []Finding
	}](tab, "rig.axe")
	require.Positive(tab.t, found.Tried, "axe found nothing to try, expected a page at %s", tab.URL())
	return found.Findings
}

// axe is axe-core's script, where npm has laid it.
var axe = sync.OnceValues(func() (string, error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(strings.TrimSpace(string(module))), "tests/page/node_modules/axe-core/axe.min.js"))
	if err != nil {
		return "", fmt.Errorf("%w: make test-page installs axe-core", err)
	}
	return string(text), nil
})
