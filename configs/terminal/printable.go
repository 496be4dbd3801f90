package terminal

import (
	"strconv"
	"strings"

	"github.com/rs/zerolog"
)

// harmless makes of a line of the log what a terminal shows and does not obey, and what stays one line, whoever wrote
// what it speaks of. Texts that stand alone in a field are quoted by the writer itself.
func harmless(line map[string]any) error {
	for name, value := range line {
		if _, text := value.(string); !text || name == zerolog.MessageFieldName {
			line[name] = printable(value)
		}
	}
	return nil
}

// printable escapes, in texts wherever they stand in a value of JSON, what cannot be shown.
func printable(value any) any {
	switch value := value.(type) {
	case string:
		var b strings.Builder
		for _, r := range value {
			if strconv.IsPrint(r) {
				b.WriteRune(r)
			} else {
				b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			}
		}
		return b.String()
	case []any:
		for i := range value {
			value[i] = printable(value[i])
		}
	case map[string]any:
		for name, held := range value {
			delete(value, name)
			value[printable(name).(string)] = printable(held)
		}
	}
	return value
}
