package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func since(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, now.Sub(then)))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// cell is a text as it stands in one row and one column.
func cell(text string) string { return breaks.Replace(text) }

var breaks = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// say writes to one of the process's streams, or to a table that is on its way there. Whoever reads
// them may go away, as head does; there is nobody to tell.
// say writes a line. Of a table each argument is a cell: what others wrote into it makes no columns or rows.
func say(w io.Writer, format string, args ...any) {
	if _, table := w.(*tabwriter.Writer); table {
		for i, arg := range args {
			if text, is := arg.(string); is {
				args[i] = cell(text)
			}
		}
	}
	_, _ = fmt.Fprintf(w, format, args...)
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	return e.Encode(v)
}

// printJSONLine prints v as JSON on one line.
func printJSONLine(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", body)
	return err
}

// bar draws how many of all are done.
func bar(done, all int64) string {
	const width = 20
	filled := 0
	if all > 0 {
		filled = int(min(done, all) * width / all)
	}
	return "[" + strings.Repeat("#", filled) + strings.Repeat("-", width-filled) + "]"
}
