package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// heardAs gives the role and the name of what has the focus, as the browser tells them to screen readers.
func heardAs(tab *Tab) (role, name string) {
	tab.t.Helper()
	nodes := run(tab, func(ctx context.Context, target *chromedp.Target) ([]*accessibility.Node, error) {
		element, err := inWorld[*runtime.RemoteObject](tab.heard, "rig.holder()")(ctx, target)
		if err != nil {
			return nil, err
		}
		alone := false
		tree, err := cdp.Call(ctx, target, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: element.ObjectID, FetchRelatives: &alone})
		return tree.Nodes, err
	})
	require.NotEmpty(tab.t, nodes, "the browser tells nothing of what has the focus")
	return text(nodes[0].Role), text(nodes[0].Name)
}

func text(v *accessibility.Value) string {
	var s string
	if v != nil {
		_ = json.Unmarshal([]byte(v.Value), &s) // what is no string has nothing to say
	}
	return s
}

// shows tells whether it is seen that a part of the page has the focus. It takes the focus away, and gives it back.
func shows(tab *Tab, box Box) bool {
	tab.t.Helper()
	visible := call[Box](tab, "rig.visible", box)
	with := clip(tab, visible)
	number := call[int](tab, "rig.blur")
	without := clip(tab, visible)
	call[any](tab, "rig.focus", number)
	return float64(changed(with, without)) >= (min(box.W, visible.W)+min(box.H, visible.H))/2
}

// clip is a picture of a part of the page.
func clip(tab *Tab, box Box) image.Image {
	tab.t.Helper()
	fast := true
	shot := ask(tab, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Clip: &page.Viewport{X: box.X, Y: box.Y, Width: box.W, Height: box.H, Scale: 1}, OptimizeForSpeed: &fast,
	})
	picture, err := png.Decode(bytes.NewReader(shot.Data))
	require.NoError(tab.t, err)
	return picture
}

// changed counts the pixels between whose colours before and after there is a contrast of 3 to 1.
func changed(a, b image.Image) int {
	n := 0
	bounds := a.Bounds().Intersect(b.Bounds())
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if contrast(a.At(x, y), b.At(x, y)) >= 3 {
				n++
			}
		}
	}
	return n
}

// contrast is that of WCAG 2, between 1 and 21.
func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

func linear(channel uint32) float64 {
	s := float64(channel) / 0xffff
	if s <= 0.04045 {
		return s / 12.92
	}
	return math.Pow((s+0.055)/1.055, 2.4)
}
