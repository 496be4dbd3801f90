package picture

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	// pictures are those within a part; none lies in another. What others said has no < or > in it.
	pictures = regexp.MustCompile(`(?s)<svg\b[^>]*>.*?</svg>`)
	sized    = regexp.MustCompile(`^<svg\b[^>]* width="(\d+)" height="(\d+)"`)
	labelled = regexp.MustCompile(`^<svg\b[^>]* aria-label="([^"]*)"`)
	classed  = regexp.MustCompile(` class="([^"]*)"`)
	coloured = regexp.MustCompile(`--([a-z]+):(#[0-9a-f]{3,6})`)
)

// caption is how high the line over one of several pictures is, in pixels.
const caption = 24

// Standalone is a picture by itself: the SVG within HTML that a template wrote, several one below the other under what they are
// called. It has the colours of a sheet of styles, whose first rule names them, as attributes, as no style comes with it; empty
// where there is none.
func Standalone(html, sheet string) string {
	found := pictures.FindAllString(html, -1)
	if len(found) == 0 {
		return ""
	}
	var all strings.Builder
	width, below := 0, 0
	for _, one := range found {
		size := sized.FindStringSubmatch(one)
		if size == nil {
			return ""
		}
		if name := labelled.FindStringSubmatch(one); name != nil && len(found) > 1 {
			below += caption
			fmt.Fprintf(&all, `<text x="0" y="%d">%s</text>`, below-6, name[1])
		}
		all.WriteString(strings.Replace(one, "<svg", fmt.Sprintf(`<svg y="%d"`, below), 1))
		wide, _ := strconv.Atoi(size[1])
		high, _ := strconv.Atoi(size[2])
		width, below = max(width, wide), below+high
	}
	if len(found) > 1 {
		width = max(width, leastCaption)
	}
	colours := lightColours(sheet)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="system-ui,sans-serif" font-size="12" fill="%s">%s</svg>`,
		width, below, colours["ink"], painted(all.String(), colours))
}

// leastCaption is how wide there is room for what pictures are called, in pixels.
const leastCaption = 480

// painted adds to each class how it is drawn.
func painted(svg string, c map[string]string) string {
	return classed.ReplaceAllStringFunc(svg, func(class string) string {
		var more strings.Builder
		for word := range strings.FieldsSeq(classed.FindStringSubmatch(class)[1]) {
			switch word {
			case "well", "moving", "waiting", "warn", "bad", "away", "soft":
				fmt.Fprintf(&more, ` fill="%s"`, c[word])
			case "line":
				fmt.Fprintf(&more, ` fill="none" stroke="%s"`, c["dim"])
			case "grid":
				fmt.Fprintf(&more, ` fill="none" stroke="%s"`, c["line"])
			case "mark":
				fmt.Fprintf(&more, ` fill="none" stroke="%s" stroke-dasharray="3 3"`, c["dim"])
			case "ends":
				more.WriteString(` stroke-dasharray="6 4"`)
			case "l0", "l1", "l2":
				more.WriteString(map[string]string{"l0": ` opacity=".25"`, "l1": ` opacity=".5"`, "l2": ` opacity=".75"`}[word])
			}
		}
		return class + more.String()
	})
}

// lightColours are those of a sheet by light, by name.
func lightColours(sheet string) map[string]string {
	light, _, _ := strings.Cut(sheet, "}")
	colours := map[string]string{}
	for _, one := range coloured.FindAllStringSubmatch(light, -1) {
		colours[one[1]] = one[2]
	}
	return colours
}
