package documented

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Section is what stands below one heading of a document, up to the next one.
type Section struct {
	Heading string // without its marks
	// Claims are the rows of its tables and the items of its lists; of a section that has neither, its sentences.
	Claims []Claim
	Prose  bool // the claims are sentences
}

// Claim is one thing that a document says, in plain words: without ticks, stars and addresses of links.
type Claim struct {
	Line int    // the first of the document that has it
	Text string // cells of a row are parted by " | "
	Row  bool
}

// Is says whether a key stands for the claim: the first cell of a row, or the first cells parted by " | "; the first
// words of an item or a sentence.
func (c Claim) Is(key string) bool {
	rest, found := strings.CutPrefix(c.Text, key)
	if !found || rest == "" {
		return found
	}
	if c.Row {
		return strings.HasPrefix(rest, " |")
	}
	next, _ := utf8.DecodeRuneInString(rest)
	return !unicode.IsLetter(next) && !unicode.IsDigit(next)
}

// Sections reads those of a document, without what stands behind "<!-- From here on generated".
func Sections(t *testing.T, path string) []Section {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	written, _, _ := strings.Cut(string(text), "<!-- From here on generated")
	return Read(written)
}

// Read reads the sections of a text.
func Read(text string) []Section {
	var all []*reading
	fenced, number := false, 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			if len(all) > 0 {
				all[len(all)-1].end()
			}
		case fenced:
		case strings.HasPrefix(line, "#"):
			all = append(all, &reading{heading: plain(strings.TrimLeft(line, "# "))})
		case len(all) > 0:
			all[len(all)-1].line(number, line)
		}
	}
	sections := make([]Section, len(all))
	for i, r := range all {
		sections[i] = r.section()
	}
	return sections
}

// reading is a section half read.
type reading struct {
	heading string
	rows    []Claim
	items   []Claim
	prose   []Claim // paragraphs
	within  string  // what the next line may go on with: "table", "list", "prose", or nothing
	header  int     // lines of the table so far
}

var begin = regexp.MustCompile(`^(?:- |\d+\. )`)

func (r *reading) end() { r.within = "" }

func (r *reading) line(number int, line string) {
	switch {
	case line == "" || strings.HasPrefix(line, "<!--"):
		r.end()
	case strings.HasPrefix(line, "|"):
		if r.within != "table" {
			r.within, r.header = "table", 0
		}
		if r.header++; r.header > 2 {
			r.rows = append(r.rows, Claim{Line: number, Text: cells(line), Row: true})
		}
	case begin.MatchString(line):
		r.within = "list"
		r.items = append(r.items, Claim{Line: number, Text: begin.ReplaceAllString(line, "")})
	case r.within == "list":
		r.items[len(r.items)-1].Text += " " + strings.TrimSpace(line)
	case r.within == "prose":
		r.prose[len(r.prose)-1].Text += "\n" + line
	default:
		r.within = "prose"
		r.prose = append(r.prose, Claim{Line: number, Text: line})
	}
}

func (r *reading) section() Section {
	s := Section{Heading: r.heading, Claims: r.rows}
	for _, item := range r.items {
		item.Text = plain(item.Text)
		s.Claims = append(s.Claims, item)
	}
	if s.Prose = len(s.Claims) == 0; s.Prose {
		for _, paragraph := range r.prose {
			s.Claims = append(s.Claims, sentences(paragraph)...)
		}
	}
	return s
}

func cells(line string) string {
	parts := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range parts {
		parts[i] = plain(strings.TrimSpace(parts[i]))
	}
	return strings.Join(parts, " | ")
}

// stop is the end of a sentence before the beginning of another.
var stop = regexp.MustCompile("[.?!]\\s+[A-Z`\\[]")

// sentences parts a paragraph.
func sentences(paragraph Claim) []Claim {
	var all []Claim
	for rest, line := paragraph.Text, paragraph.Line; rest != ""; {
		sentence, behind := rest, ""
		if at := stop.FindStringIndex(rest); at != nil {
			sentence, behind = rest[:at[1]-1], rest[at[1]-1:]
		}
		all = append(all, Claim{Line: line, Text: plain(sentence)})
		line += strings.Count(sentence, "\n")
		rest = behind
	}
	return all
}

var (
	link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	bold = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// plain takes marks and line breaks out of a text.
func plain(text string) string {
	text = link.ReplaceAllString(text, "$1")
	text = bold.ReplaceAllString(text, "$1")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " ")
}
