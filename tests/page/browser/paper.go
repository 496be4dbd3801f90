package browser

import (
	"regexp"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// Paper is a page as it is printed.
type Paper struct {
	PDF    []byte
	Sheets int
}

// A4 in inches, with Chromium's own margin on each side, and what they leave for a line in CSS px.
const (
	paperWidth, paperHeight = 8.27, 11.69
	margin                  = 0.4
	line                    = 717
)

// Print prints the page on A4, and gives what is lost on paper: "overflow" at the right edge, and "cut" in what would have to
// be scrolled. The tab is as it was after that.
func Print(tab *Tab) (Paper, []Finding) {
	tab.t.Helper()
	printed := tab.look
	printed.Print = true
	width, height := tab.look.size()
	tab.Do(resize(line, height), command(emulation.SetEmulatedMedia, printed.media()))
	findings := append(call[[]Finding](tab, "rig.overflow"), call[[]Finding](tab, "rig.cut")...)
	margin, background := margin, true
	pdf := ask(tab, page.PrintToPDF, page.PrintToPDFParams{
		PaperWidth: paperWidth, PaperHeight: paperHeight, PrintBackground: &background,
		MarginTop: &margin, MarginBottom: &margin, MarginLeft: &margin, MarginRight: &margin,
	}).Data
	tab.Do(resize(width, height), command(emulation.SetEmulatedMedia, tab.look.media()))
	return Paper{pdf, len(sheet.FindAll(pdf, -1))}, findings
}

// sheet is how a page is told in a PDF; "/Pages" is the tree of them.
var sheet = regexp.MustCompile(`/Type\s*/Page\b`)
