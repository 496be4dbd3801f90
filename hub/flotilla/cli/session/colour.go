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

const (
	green  = "\033[32m"
	red    = "\033[31m"
	yellow = "\033[33m"
	plain  = "\033[0m"
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
func (a *Session) Coloured(text string) string {
	if !a.colours() {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		body := strings.TrimSuffix(line, "\n")
		paint := ""
		switch trimmed := strings.TrimLeft(body, " "); {
		case strings.HasPrefix(trimmed, "+"):
			paint = green
		case strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(body, "-"):
			paint = red
		case strings.HasPrefix(trimmed, "~ ") || strings.HasPrefix(trimmed, "! "):
			paint = yellow
		}
		if paint != "" {
			lines[i] = paint + body + plain + line[len(body):]
		}
	}
	return strings.Join(lines, "")
}

// ColouredDiff paints what comes and what goes in a unified diff.
func (a *Session) ColouredDiff(text string) string {
	if !a.colours() {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		body := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(body, "+"):
			lines[i] = green + body + plain + line[len(body):]
		case strings.HasPrefix(body, "-"):
			lines[i] = red + body + plain + line[len(body):]
		}
	}
	return strings.Join(lines, "")
}

// stateColours are the words of states that are painted wherever they stand alone.
var stateColours = map[string]string{
	string(api.MemberReady): green, string(api.StateCompleted): green,
	string(api.StateRunning): yellow, string(api.StatePending): yellow, string(api.StateStopping): yellow, string(api.StateStopped): yellow,
	string(api.MemberJoining): yellow, string(api.MemberLeaving): yellow, "Cordoned": yellow,
	string(api.StateFailed): red, string(api.MemberNotReady): red, string(api.MemberUnknown): red,
}

var stateWord = regexp.MustCompile(`[A-Za-z]+`)

// States paints the words of states in a text for people.
func (a *Session) States(text string) string {
	if !a.colours() {
		return text
	}
	return stateWord.ReplaceAllStringFunc(text, func(word string) string {
		if paint := stateColours[word]; paint != "" {
			return paint + word + plain
		}
		return word
	})
}

// troubled are the columns of which a cell that is not 0 is a problem.
var troubled = []string{"FAILED", "DRIFT", "WARNINGS"}

var headOfColumn = regexp.MustCompile(`\S+ *`)

// Table paints a table: words of states, and what its head says is a problem.
func (a *Session) Table(text string, headed bool) string {
	if !a.colours() {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	if !headed || len(lines) == 0 {
		return a.States(text)
	}
	columns := headOfColumn.FindAllStringIndex(strings.TrimRight(lines[0], "\n"), -1)
	for i, line := range lines[1:] {
		lines[i+1] = a.States(paintTrouble(line, lines[0], columns))
	}
	return strings.Join(lines, "")
}

// paintTrouble paints the cells of a row that tell trouble. Rows with letters beyond ASCII stay as they are:
// their columns are not where those of the head are.
func paintTrouble(row, head string, columns [][]int) string {
	for _, c := range slices.Backward(columns) {
		if !slices.Contains(troubled, strings.TrimSpace(head[c[0]:c[1]])) || len(row) != len([]rune(row)) || len(row) < c[1] {
			continue
		}
		cell := row[c[0]:c[1]]
		if text := strings.TrimRight(cell, " "); text != "" && text != "0" && text != "-" {
			row = row[:c[0]] + red + text + plain + row[c[0]+len(text):]
		}
	}
	return row
}

// Problems paints the count and the reasons of problems, which stand first, one a line, and the states below.
func (a *Session) Problems(text string, problems []api.Problem) string {
	if !a.colours() || len(problems) == 0 {
		return a.States(text)
	}
	lines := strings.SplitAfterN(text, "\n", len(problems)+2)
	count := strings.TrimSuffix(lines[0], "\n")
	lines[0] = red + count + plain + "\n"
	for i, p := range problems {
		lines[i+1] = strings.Replace(lines[i+1], " "+p.Reason+" ", " "+red+p.Reason+plain+" ", 1)
	}
	last := len(lines) - 1
	lines[last] = a.States(lines[last])
	return strings.Join(lines, "")
}
