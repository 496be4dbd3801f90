package browser

import "github.com/chromedp/cdproto/page"

// Picture is the whole page as a PNG, also what the window does not show, one pixel for each CSS px, without the caret.
func Picture(tab *Tab) []byte {
	tab.t.Helper()
	call[any](tab, "rig.still")
	size := Eval[Box](tab, `({W: document.documentElement.scrollWidth, H: document.documentElement.scrollHeight})`)
	beyond := true
	return ask(tab, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Clip: &page.Viewport{Width: size.W, Height: size.H, Scale: 1}, CaptureBeyondViewport: &beyond,
	}).Data
}
