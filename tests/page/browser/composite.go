package browser

import "github.com/chromedp/chromedp/kb"

var arrows = []string{kb.ArrowRight, kb.ArrowDown, kb.ArrowLeft, kb.ArrowUp}

// within presses the arrows in a composite, once, and counts the places that they came to. The browser's own radio buttons,
// whose arrows choose, are left alone.
func (w *walk) within(f focus) int {
	if f.Composite < 0 || f.Role == "" {
		return 0
	}
	for _, at := range w.at {
		if at.Composite == f.Composite {
			w.find("composite-stops", f, "role=%s has another stop at %s, expected one for all that is in it", f.Role, at.Target)
			return 0
		}
	}
	places := map[int]bool{f.Place: true}
	for _, arrow := range arrows {
		w.tab.Press(arrow)
		to := w.look()
		if to == nil || to.Composite != f.Composite {
			w.find("composite-arrows", f, "an arrow leaves role=%s, expected it to move within", f.Role)
			call[any](w.tab, "rig.focus", f.Number)
			w.had = &f
			return len(places) - 1
		}
		places[to.Place] = true
	}
	if len(places) == 1 && f.Items > 1 {
		w.find("composite-arrows", f, "no arrow moves within role=%s, which holds %d", f.Role, f.Items)
	}
	return len(places) - 1
}
