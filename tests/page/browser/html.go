package browser

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed script/html.js
var htmlScript string

// HTML is the page as text for comparison, a tag a line, as the document is now. What differs from run to run has a word in
// its place: TIME for moments and times of the day, DATE, AGE for "6m" and "0.2 s", ID for identifiers of NATS and UUIDs, HOST for a server on loopback.
func HTML(tab *Tab) string {
	tab.t.Helper()
	return settled(call[string](tab, "rig.html"))
}

// In this order: what comes first is not looked at again. The paths of SVG, whose numbers have letters too, and long words stay.
var differing = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`(127\.0\.0\.1|localhost|\[::1\]):\d+`), "HOST"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?`), "TIME"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`), "DATE"},
	{regexp.MustCompile(`\b\d{1,2}:\d\d(:\d\d)?Z?\b`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9A-Za-z]{22}\b`), "ID"},
	{regexp.MustCompile(` d="[^"]*"|\b\d+(\.\d+)?\s?(ms|s|min|m|h|d)(\s?\d+(\.\d+)?(ms|s|min|m|h|d))*\b`), "AGE"},
}

func settled(html string) string {
	for _, d := range differing {
		html = d.pattern.ReplaceAllStringFunc(html, func(found string) string {
			if strings.HasPrefix(found, ` d="`) || (d.word == "ID" && !strings.ContainsAny(found, "0123456789")) {
				return found
			}
			return d.word
		})
	}
	return html
}
