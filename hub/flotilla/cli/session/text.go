package session

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Plural is the word for n things.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Since is how long ago a time was, "-" of none.
func Since(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, now.Sub(then)))
}

// OrDash is a text, "-" for an empty one.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// How much of a message stands in a cell of a table, and in a line that is about it.
const (
	briefRunes = 120
	lineRunes  = 240
)

// Brief is a message of others as it stands in a cell of a table: as it is shown, and cut where that is long.
func Brief(text string) string { return within(briefRunes, text) }

// Line is a message of others as it stands in a line that is about it: as it is shown, and cut where that is longer than anything the hub
// itself says.
func Line(text string) string { return within(lineRunes, text) }

func within(most int, text string) string {
	runes := []rune(escaped(text))
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// Cell is a text as it stands in one row and one column.
func Cell(text string) string { return Breaks.Replace(text) }

// Breaks writes what would break a row or a column.
var Breaks = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// Say writes to one of the process's streams, or to a table that is on its way there. Whoever reads
// them may go away, as head does; there is nobody to tell.
// say writes a line. Of a table each argument is a cell: what others wrote into it makes no columns or rows.
func Say(w io.Writer, format string, args ...any) {
	if _, table := w.(*tabwriter.Writer); table {
		for i, arg := range args {
			if text, is := arg.(string); is {
				args[i] = Cell(text)
			}
		}
	}
	_, _ = fmt.Fprintf(w, format, args...)
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	return e.Encode(v)
}

// PrintJSONLine prints v as JSON on one line.
func PrintJSONLine(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", body)
	return err
}

// Bar draws how many of all are done.
func Bar(done, all int) string {
	const width = 20
	filled := 0
	if all > 0 {
		filled = min(done, all) * width / all
	}
	return "[" + strings.Repeat("#", filled) + strings.Repeat("-", width-filled) + "]"
}
