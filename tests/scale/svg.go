package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Measures of the picture, in its own units.
const (
	barHeight   = 18
	barGap      = 14
	barsLeft    = 300
	barsWidth   = 560
	pictureRim  = 40
	pictureHead = 70
)

// part is a part of a bar.
type barPart struct {
	name, color string
	of          func(*Measured) float64 // milliseconds a delivery
}

var barParts = []barPart{
	{"hub with broker", "#3b6fb5", func(m *Measured) float64 { return 1000 * m.perDelivery(m.Hub.CPU) }},
	{"agents", "#e0913a", func(m *Measured) float64 { return 1000 * m.perDelivery(m.own()) }},
	{"members in memory", "#b8b8b8", func(m *Measured) float64 { return 1000 * m.perDelivery(m.Agents.Target) }},
}

// rawBar is NATS alone, a thin bar below.
var rawBar = barPart{"NATS alone, the same messages", "#444444", func(m *Measured) float64 {
	if m.Raw == nil || m.Raw.Deliveries == 0 {
		return 0
	}
	return 1000 * (m.Raw.Hub.CPU + m.Raw.Agents.CPU) / float64(m.Raw.Deliveries)
}}

func (b barPart) median(step []*Measured) float64 { return column{of: b.of}.median(step) }

// svg is a picture of the processor time that a delivery takes, a bar for each step that delivers.
func (r *Report) svg() string {
	var steps [][]*Measured
	most := 0.0
	for _, step := range r.steps() {
		if !step[0].delivers() {
			continue
		}
		steps = append(steps, step)
		total := 0.0
		for _, part := range barParts {
			total += part.median(step)
		}
		most = max(most, total)
	}
	most = math.Ceil(max(most, 1))
	height := pictureHead + len(steps)*(barHeight+barGap) + pictureRim
	var text strings.Builder
	fmt.Fprintf(&text, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", barsLeft+barsWidth+pictureRim, height)
	text.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	fmt.Fprintf(&text, `<text x="%d" y="22" font-size="15">Milliseconds of processor time a delivery</text>`+"\n", pictureRim/4)
	legend(&text)
	axis(&text, most, height)
	for i, step := range steps {
		bar(&text, step, pictureHead+i*(barHeight+barGap), barsWidth/most)
	}
	text.WriteString("</svg>\n")
	return text.String()
}

func legend(text *strings.Builder) {
	x := pictureRim / 4
	for _, part := range append(slices.Clip(barParts), rawBar) {
		fmt.Fprintf(text, `<rect x="%d" y="36" width="12" height="12" fill="%s"/><text x="%d" y="46">%s</text>`+"\n", x, part.color, x+16, part.name)
		x += 40 + 7*len(part.name)
	}
}

func axis(text *strings.Builder, most float64, height int) {
	for i := range 6 {
		value := most * float64(i) / 5
		x := barsLeft + barsWidth*i/5
		fmt.Fprintf(text, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#dddddd"/><text x="%d" y="%d" text-anchor="middle">%.3g</text>`+"\n",
			x, pictureHead-6, x, height-pictureRim, x, height-pictureRim+16, value)
	}
}

func bar(text *strings.Builder, step []*Measured, y int, unit float64) {
	fmt.Fprintf(text, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", barsLeft-8, y+barHeight-5, html.EscapeString(step[0].title()))
	x := float64(barsLeft)
	for _, part := range barParts {
		width := part.median(step) * unit
		fmt.Fprintf(text, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, y, width, barHeight, part.color)
		x += width
	}
	fmt.Fprintf(text, `<rect x="%d" y="%d" width="%.1f" height="4" fill="%s"/>`+"\n", barsLeft, y+barHeight, rawBar.median(step)*unit, rawBar.color)
}
