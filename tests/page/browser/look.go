package browser

import (
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Scripts says what becomes of a page's scripts.
type Scripts int

const (
	// ScriptsRun leaves them alone.
	ScriptsRun Scripts = iota
	// ScriptsBlocked lets none of them arrive, as on a bad line: <noscript> is not shown.
	ScriptsBlocked
	// ScriptsOff is a browser in which they are switched off: <noscript> is shown.
	ScriptsOff
)

// Look is how a person has a page before them. The zero one is light, on a screen of 1280 by 800 px, with scripts.
type Look struct {
	Dark          bool
	ReducedMotion bool
	Print         bool // the styles of print, on a screen; for paper see Print
	Scripts       Scripts
	Width, Height int // in CSS px; 0 is 1280 and 800
}

// String tells a look shortly, as the name of a test: "dark, scripts off, 360 px".
func (l Look) String() string {
	width, _ := l.size()
	words := []string{"light", "scripts on", fmt.Sprintf("%d px", width)}
	if l.Dark {
		words[0] = "dark"
	}
	switch l.Scripts {
	case ScriptsBlocked:
		words[1] = "scripts blocked"
	case ScriptsOff:
		words[1] = "scripts off"
	}
	if l.Print {
		words = append(words, "print")
	}
	if l.ReducedMotion {
		words = append(words, "reduced motion")
	}
	return strings.Join(words, ", ")
}

func (l Look) size() (width, height int64) {
	width, height = 1280, 800
	if l.Width != 0 {
		width = int64(l.Width)
	}
	if l.Height != 0 {
		height = int64(l.Height)
	}
	return width, height
}

// media are the answers to media queries.
func (l Look) media() emulation.SetEmulatedMediaParams {
	features := map[string]string{"prefers-color-scheme": "light", "prefers-reduced-motion": "no-preference"}
	if l.Dark {
		features["prefers-color-scheme"] = "dark"
	}
	if l.ReducedMotion {
		features["prefers-reduced-motion"] = "reduce"
	}
	answers := emulation.SetEmulatedMediaParams{Media: "screen"}
	if l.Print {
		answers.Media = "print"
	}
	for name, value := range features {
		answers.Features = append(answers.Features, &emulation.MediaFeature{Name: name, Value: value})
	}
	return answers
}

// emulate makes a tab look like that from the next page on.
func (l Look) emulate() chromedp.Action[chromedp.Void] {
	width, height := l.size()
	steps := []chromedp.Action[chromedp.Void]{
		resize(width, height),
		command(emulation.SetEmulatedMedia, l.media()),
		// Each tab believes that it is the one in front, so that several can be tried at once.
		command(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}),
		command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: l.Scripts == ScriptsOff}),
	}
	if l.Scripts == ScriptsBlocked {
		steps = append(steps, pauseScripts)
	}
	return chromedp.Steps(steps...)
}

func resize(width, height int64) chromedp.Action[chromedp.Void] {
	return command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
}
