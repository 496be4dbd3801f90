package browser

import (
	_ "embed"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
)

//go:embed script/measure.js
var measureScript string

// Overflow gives what makes the page scroll sideways, or is lost at its right edge, each where it begins.
func Overflow(tab *Tab) []Finding {
	tab.t.Helper()
	return call[[]Finding](tab, "rig.overflow")
}

// Targets gives what a person works with that is smaller than 24 by 24 CSS px, its labels counted in. Links in a text may be
// as tall as the text (WCAG 2.5.8); that what lies around it is free excuses nothing here.
func Targets(tab *Tab) []Finding {
	tab.t.Helper()
	return call[[]Finding](tab, "rig.targets")
}

// Boxes gives where the elements of a selector are that are shown, in the order of the document.
func Boxes(tab *Tab, selector string) []Box {
	tab.t.Helper()
	return call[[]Box](tab, "rig.boxes", selector)
}

// Counts is how much a page is.
type Counts struct {
	Elements   int           // in the document
	Document   int           // bytes of the document's body as it came, compressed where it was
	Bytes      int           // of all that came for the page, with headers
	Requests   int           // for the page; those of workers are not among them
	FirstPaint time.Duration // from the request to the first text or picture
	Heap       int           // bytes of what scripts hold, after a collection
}

// Count counts the page that is open. Tools that ran before, as Axe, are in its heap.
func Count(tab *Tab) Counts {
	tab.t.Helper()
	painted := call[float64](tab, "rig.painted")
	ask(tab, heapprofiler.CollectGarbage, cdp.Empty{})
	counts := Counts{
		Elements:   Eval[int](tab, `document.querySelectorAll("*").length`),
		Document:   Eval[int](tab, `performance.getEntriesByType("navigation")[0].encodedBodySize`),
		FirstPaint: time.Duration(painted * float64(time.Millisecond)),
		Heap:       int(ask(tab, runtime.GetHeapUsage, cdp.Empty{}).UsedSize),
	}
	tab.heard.Lock()
	defer tab.heard.Unlock()
	for _, r := range tab.heard.requests {
		counts.Requests++
		counts.Bytes += r.bytes
	}
	return counts
}
