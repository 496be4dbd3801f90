//go:build page

package page

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/page/browser"
	"flotilla/tests/page/crowd"
)

var pictures = flag.String("page.pictures", "", "folder that the pictures of docs/page.md are put in")

const (
	// mostPicture is how many bytes a picture may have, and highest how many pixels it is high at most.
	mostPicture, highest = 60 << 10, 760
	// colours is how many a picture has: those of the page, and what letters are smoothed with.
	colours = 32
)

// pictured are the screens that docs/page.md shows.
var pictured = []screen{
	{"overview", "/"},
	{"members", "/members?sort=-state"},
	{"member", "/members/hamburg"},
	{"placements", "/placements"},
	{"placement", "/placements/crp-prod-cpu-sorter?member=madrid"},
	{"runs", "/runs"},
	{"run", "/runs/to-1-36-4"},
	{"windows", "/windows"},
	{"nodes", "/nodes"},
	{"activity", "/activity"},
	{"confirmation", "/do/approve?object=run/to-1-36-4"},
}

// Each screen has its picture, of a fleet as they are, which is small enough to be kept.
func TestPictures(t *testing.T) {
	folder := cmp.Or(*pictures, t.TempDir())
	h := startShow(t)
	given, err := h.fleet.Hub.Link(bustest.Context(t), api.Caller{Name: "ada", Role: api.RoleAdmin}, time.Hour)
	require.NoError(t, err)
	tab := browser.Start(t).Tab(t, browser.Look{ReducedMotion: true})
	tab.SetCookies(h.fleet.Hub.Page(), crowd.Follow(t, given))
	for _, at := range pictured {
		if at.name == "confirmation" { // which is not kept up
			tab.Open(h.fleet.Hub.Page() + at.url)
		} else {
			openLive(t, tab, h.fleet.Hub.Page()+at.url)
		}
		browser.None(t, browser.Console(tab))
		notes := browser.Eval[[]string](tab, "[...document.querySelectorAll('main li.dim')].map(li => li.textContent)")
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(notes))), len(notes), "%s says something twice: %q", at.name, notes)
		small := reduced(t, browser.Picture(tab))
		require.LessOrEqual(t, len(small), mostPicture, at.name)
		require.NoError(t, os.WriteFile(filepath.Join(folder, at.name+".png"), small, 0o644))
	}
}

// reduced is a picture of a few colours, cut off at its foot.
func reduced(t *testing.T, picture []byte) []byte {
	t.Helper()
	whole, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	bounds := whole.Bounds()
	bounds.Max.Y = min(bounds.Max.Y, bounds.Min.Y+highest)
	few := image.NewPaletted(bounds, frequent(whole, bounds))
	draw.Draw(few, bounds, whole, bounds.Min, draw.Src)
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few))
	return out.Bytes()
}

// frequent are the colours that most of a picture has; those of signs, which are few and tell most, count for more.
func frequent(of image.Image, within image.Rectangle) color.Palette {
	count := map[color.RGBA]int{}
	for y := within.Min.Y; y < within.Max.Y; y++ {
		for x := within.Min.X; x < within.Max.X; x++ {
			count[color.RGBAModel.Convert(of.At(x, y)).(color.RGBA)]++
		}
	}
	weight := func(c color.RGBA) int { return count[c] * (1 + int(max(c.R, c.G, c.B)) - int(min(c.R, c.G, c.B))) }
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range all {
		if len(palette) < colours && !slices.ContainsFunc(palette, func(other color.Color) bool { return alike(c, other.(color.RGBA)) }) {
			palette = append(palette, c)
		}
	}
	return palette
}

// alike says that nobody tells two colours from each other.
func alike(a, b color.RGBA) bool {
	near := func(x, y uint8) bool { return max(x, y)-min(x, y) < 10 }
	return near(a.R, b.R) && near(a.G, b.G) && near(a.B, b.B)
}
