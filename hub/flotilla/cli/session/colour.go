package session

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"flotilla/core/api"
)

// When output is coloured.
const (
	colourAuto   = "auto"
	colourAlways = "always"
	colourNever  = "never"
)

var colourWords = []string{colourAuto, colourAlways, colourNever}

// colour is what a terminal is told before a text; it is plain again behind it.
type colour string

const (
	green  colour = "\033[32m"
	red    colour = "\033[31m"
	yellow colour = "\033[33m"
	plain  colour = "\033[0m"
)

// ColourFlag adds --color.
func (a *Session) ColourFlag(flags *pflag.FlagSet) {
	flags.StringVar(&a.colour, "color", colourAuto, "colour states and problems: always, never, or auto, on a terminal unless $NO_COLOR is set")
}

// checkColour refuses a value of --color that means nothing.
func (a *Session) checkColour() error {
	if slices.Contains(colourWords, a.colour) {
		return nil
	}
	return Usagef("--color: found %q, expected auto, always or never%s", a.colour, Meant(Nearest(a.colour, colourWords)))
}

// colours says whether people's output is coloured: a flag wins over NO_COLOR (no-color.org).
func (a *Session) colours() bool {
	switch a.colour {
	case colourAlways:
		return true
	case colourNever:
		return false
	}
	return a.Terminal && (a.Getenv == nil || a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb")
}

// Coloured paints the lines of a diff or plan.
func (a *Session) Coloured(text string) Painted {
	return a.lines(text, func(line string) colour {
		switch trimmed := strings.TrimLeft(line, " "); {
		case strings.HasPrefix(trimmed, "+"):
			return green
		case strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(line, "-"):
			return red
		case strings.HasPrefix(trimmed, "~ ") || strings.HasPrefix(trimmed, "! "):
			return yellow
		}
		return ""
	})
}

// ColouredDiff paints what comes and what goes in a unified diff.
func (a *Session) ColouredDiff(text string) Painted {
	return a.lines(text, func(line string) colour {
		switch {
		case strings.HasPrefix(line, "+"):
			return green
		case strings.HasPrefix(line, "-"):
			return red
		}
		return ""
	})
}

// lines paints each line of a text.
func (a *Session) lines(text string, colourOf func(line string) colour) Painted {
	c := a.canvas()
	for line := range strings.SplitAfterSeq(text, "\n") {
		body := strings.TrimSuffix(line, "\n")
		c.paint(colourOf(body), body)
		c.paint("", line[len(body):])
	}
	return c.painted()
}

// stateColours are the words of states that are painted wherever they stand alone.
var stateColours = map[string]colour{
	string(api.MemberReady): green, string(api.StateCompleted): green,
	string(api.StateRunning): yellow, string(api.StatePending): yellow, string(api.StateStopping): yellow, string(api.StateStopped): yellow,
	string(api.MemberJoining): yellow, string(api.MemberLeaving): yellow, "Cordoned": yellow,
	string(api.StateFailed): red, string(api.MemberNotReady): red, string(api.MemberUnknown): red,
}

var stateWord = regexp.MustCompile(`[A-Za-z]+`)

// States paints the words of states in a text for people.
func (a *Session) States(text string) Painted {
	c := a.canvas()
	c.states(text)
	return c.painted()
}

// states paints the words of states.
func (c *canvas) states(text string) {
	at := 0
	for _, word := range stateWord.FindAllStringIndex(text, -1) {
		if paint := stateColours[text[word[0]:word[1]]]; paint != "" {
			c.paint("", text[at:word[0]])
			c.paint(paint, text[word[0]:word[1]])
			at = word[1]
		}
	}
	c.paint("", text[at:])
}

// troubled are the columns of which a cell that is not 0 is a problem.
var troubled = []string{"FAILED", "DRIFT", "WARNINGS"}

var headOfColumn = regexp.MustCompile(`\S+ *`)

// Table paints a table: words of states, and what its head says is a problem.
func (a *Session) Table(text string, headed bool) Painted {
	if !headed {
		return a.States(text)
	}
	head, rows, _ := strings.Cut(text, "\n")
	columns := headOfColumn.FindAllStringIndex(head, -1)
	c := a.canvas()
	c.paint("", text[:len(text)-len(rows)])
	for row := range strings.SplitAfterSeq(rows, "\n") {
		c.row(row, head, columns)
	}
	return c.painted()
}

// row paints a row: its cells that tell trouble, and the words of states beside them.
func (c *canvas) row(row, head string, columns [][]int) {
	at := 0
	for _, cell := range troubles(row, head, columns) {
		c.states(row[at:cell[0]])
		c.paint(red, row[cell[0]:cell[1]])
		at = cell[1]
	}
	c.states(row[at:])
}

// troubles are where cells of a row tell trouble. Rows with letters beyond ASCII have none: their columns are not
// where those of the head are.
func troubles(row, head string, columns [][]int) (cells [][]int) {
	for _, c := range columns {
		if !slices.Contains(troubled, strings.TrimSpace(head[c[0]:c[1]])) || len(row) != len([]rune(row)) || len(row) < c[1] {
			continue
		}
		if text := strings.TrimRight(row[c[0]:c[1]], " "); text != "" && text != "0" && text != "-" {
			cells = append(cells, []int{c[0], c[0] + len(text)})
		}
	}
	return cells
}

// Problems paints the count and the reasons of problems, which stand first, one a line, and the states below.
func (a *Session) Problems(text string, problems []api.Problem) Painted {
	if len(problems) == 0 {
		return a.States(text)
	}
	c := a.canvas()
	lines := strings.SplitAfterN(text, "\n", len(problems)+2)
	count := strings.TrimSuffix(lines[0], "\n")
	c.paint(red, count)
	c.paint("", lines[0][len(count):])
	last := len(lines) - 1
	for i, line := range lines[1:last] {
		before, after, found := strings.Cut(line, " "+problems[i].Reason+" ")
		if !found {
			c.paint("", line)
			continue
		}
		c.paint("", before+" ")
		c.paint(red, problems[i].Reason)
		c.paint("", " "+after)
	}
	c.states(lines[last])
	return c.painted()
}
