package browser

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/chromedp/chromedp/kb"
)

//go:embed script/walk.js
var walkScript string

// Box is a rectangle of a page, in CSS px from its top left corner.
type Box struct{ X, Y, W, H float64 }

// Stop is where Tab came to.
type Stop struct {
	Role, Name   string // as people hear them, where it is looked at
	Target, HTML string // a selector, and the first tag with what it says
	Box          Box    // of it and its labels
	Visible      bool   // it is seen, and that it has the focus
	Composite    string // the role of what has one stop for all that is in it, such as "grid"; empty elsewhere
	Within       int    // how many places in the composite the arrows came to, beside the first
}

const (
	// tooMany stops are no page to walk through: a walk takes 20 to 200 ms for each.
	tooMany = 1000
	// enough of those that are alike are looked at.
	enough = 3
)

// Walk presses Tab from the top of the page to its end, and Shift+Tab back. It gives the stops on the way forward, and
//
//	focus-trap          Tab or Shift+Tab does not leave it
//	focus-hidden        it has the focus and is not to be seen
//	focus-invisible     with the focus it looks as without
//	focus-unreached     a link, a control or what else a person works with, which has no stop
//	focus-jumps         the next stop lies before it, or has a positive tabindex
//	focus-backward      Shift+Tab comes to other stops than Tab
//	composite-stops     a composite has more than one stop
//	composite-arrows    its arrows move nothing, or leave it
//
// Of elements that are alike, as the links of a table's rows, the first three are looked at that the tab comes to while pages
// have the same style sheets. A change between with and without focus is seen where it has a contrast of 3 to 1 along half the length of its edges. The
// arrows of composites are pressed, so what they select is selected then.
func Walk(tab *Tab) ([]Stop, []Finding) {
	tab.t.Helper()
	w := &walk{tab: tab, kinds: tab.kindsUnder(Eval[string](tab, `[...document.styleSheets].map(sheet => sheet.href).join(" ")`))}
	call[any](tab, "rig.still")
	w.forward()
	w.backward()
	w.findings = append(w.findings, call[[]Finding](tab, "rig.unreached", w.numbers())...)
	return w.stops, w.findings
}

type walk struct {
	tab      *Tab
	stops    []Stop
	at       []focus // beside stops
	findings []Finding
	had      *focus // what had the focus when that was looked at last
	kinds    map[string]kind
}

// kind is what is known of elements that are alike.
type kind struct {
	looked int  // at how many of them
	shows  bool // whether the last of these showed its focus
}

// kindsUnder are the kinds that a tab came to while pages had these style sheets.
func (tab *Tab) kindsUnder(sheets string) map[string]kind {
	if tab.kinds[sheets] == nil {
		tab.kinds[sheets] = map[string]kind{}
	}
	return tab.kinds[sheets]
}

// focus is what has it, as walk.js tells.
type focus struct {
	Number       int    // of the element, the same whenever it is asked for
	Kind         string // what it shares with those that styles make alike
	Target, HTML string
	Box          Box
	Hidden       string // why it cannot be seen
	First, Last  Box    // of its lines, wherever they are scrolled to
	Floating     bool   // it stays where it is when the page is scrolled
	Order        int    // its tabindex
	Fields       bool   // the browser's own, with several stops within
	Composite    int    // the number of the composite that it belongs to, or -1
	Role         string // of the composite
	Items        int    // in the composite
	Place        int    // the number of what is active in it
}

// look tells what has the focus now.
func (w *walk) look() *focus {
	w.had = call[*focus](w.tab, "rig.focused")
	return w.had
}

func (w *walk) find(rule string, f focus, why string, args ...any) {
	w.findings = append(w.findings, Finding{rule, f.Target, f.HTML, fmt.Sprintf(why, args...)})
}

func (w *walk) numbers() []int {
	numbers := make([]int, len(w.at))
	for i, f := range w.at {
		numbers[i] = f.Number
	}
	return numbers
}

func (w *walk) forward() {
	call[any](w.tab, "rig.begin")
	w.look()
	f := w.press()
	if f == nil {
		f = w.press()
	}
	for range tooMany {
		if f == nil || !w.step(*f) {
			return
		}
		f = w.press()
	}
	w.find("focus-trap", w.at[len(w.at)-1], "Tab has come to %d stops and no end", tooMany)
}

// step notes where Tab came to, and tells whether that is another stop.
func (w *walk) step(f focus) bool {
	if i := slices.IndexFunc(w.at, f.same); i >= 0 {
		w.find("focus-trap", f, "Tab comes here again after %d stops, expected it to leave the page", len(w.at)-i)
		return false
	}
	w.arrive(f)
	return true
}

// press presses Tab until another element has the focus than had it before; only the browser's own controls have stops within.
func (w *walk) press(held ...kb.Modifier) *focus {
	before := w.had
	for range 12 {
		w.tab.Press(kb.Tab, held...)
		after := w.look()
		if after == nil || before == nil || after.Number != before.Number || !after.Fields {
			return after
		}
	}
	return before
}

func (w *walk) arrive(f focus) {
	stop := Stop{Target: f.Target, HTML: f.HTML, Box: f.Box, Composite: f.Role}
	if w.kinds[f.Kind].looked < enough {
		stop.Role, stop.Name = heardAs(w.tab)
	}
	stop.Visible = w.seen(f)
	if f.Order > 0 {
		w.find("focus-jumps", f, "found tabindex=%d, expected none or 0", f.Order)
	} else if len(w.at) > 0 {
		w.follows(w.at[len(w.at)-1], f)
	}
	stop.Within = w.within(f)
	w.at, w.stops = append(w.at, f), append(w.stops, stop)
}

func (w *walk) seen(f focus) bool {
	if f.Hidden != "" {
		w.find("focus-hidden", f, "it has the focus and %s", f.Hidden)
		return false
	}
	known := w.kinds[f.Kind]
	if known.looked == enough {
		return known.shows
	}
	shown := false
	for range 8 { // on a busy machine a picture may be of a frame before
		shown = shown || shows(w.tab, f.Box)
	}
	if !shown {
		w.find("focus-invisible", f, "with the focus it looks as without, expected an edge of 3 to 1 contrast")
	}
	w.kinds[f.Kind] = kind{known.looked + 1, shown}
	return shown
}

// follows sees whether a stop comes after another also to the eye: to its right, below it, or at the top of the next column.
func (w *walk) follows(before, after focus) {
	from, to := before.Last, after.First
	above := to.Y+to.H <= from.Y+1
	overlap := min(from.Y+from.H, to.Y+to.H) - max(from.Y, to.Y)
	beside := overlap > min(from.H, to.H)/2
	switch {
	case before.Floating || after.Floating || before.Order > 0 || after.Hidden != "":
	case above && to.X < from.X+from.W, beside && to.X+to.W <= from.X+1:
		w.find("focus-jumps", after, "it lies before %s, which has the focus before it", before.Target)
	}
}

// backward presses Shift+Tab from the end to the top, from which the browser goes to the end again.
func (w *walk) backward() {
	if len(w.at) == 0 || w.has("focus-trap") {
		return
	}
	var back []focus
	for range tooMany {
		f := w.press(kb.ModifierShift)
		if f == nil || (len(back) == len(w.at) && f.Number == back[0].Number) {
			break
		}
		if slices.ContainsFunc(back, f.same) {
			w.find("focus-trap", *f, "Shift+Tab comes here again after %d of %d stops, expected it to leave the page", len(back), len(w.at))
			return
		}
		if !w.came(*f) {
			w.find("focus-backward", *f, "Shift+Tab comes here, and Tab does not")
		}
		back = append(back, *f)
	}
	if len(back) < len(w.at) {
		w.findings = append(w.findings, Finding{Rule: "focus-backward", Why: fmt.Sprintf("Shift+Tab comes to %d stops, and Tab to %d", len(back), len(w.at))})
	}
}

func (w *walk) has(rule string) bool {
	return slices.ContainsFunc(w.findings, func(f Finding) bool { return f.Rule == rule })
}

// came tells whether Tab came there, or to the composite that it belongs to.
func (w *walk) came(f focus) bool {
	return slices.ContainsFunc(w.at, func(at focus) bool { return f.same(at) || (f.Composite >= 0 && at.Composite == f.Composite) })
}

func (f focus) same(other focus) bool { return f.Number == other.Number }
