package schedule

import (
	"maps"
	"math"
	"strings"
	"time"

	"flotilla/core/api"
)

// setTaints keeps each distinct taint list once, so that a decision judges it once.
func (f *Fleet) setTaints(row int, taints []api.Taint) {
	text := taintText(taints)
	if text == "" {
		f.taints.clear(row)
	} else if !f.taints.has(row, text) {
		f.taintLists[text] = taints
		f.taints.set(row, text)
	}
	if len(f.taintLists) > 2*len(f.taints.index)+64 {
		maps.DeleteFunc(f.taintLists, func(text string, _ []api.Taint) bool {
			_, used := f.taints.index[text]
			return !used
		})
	}
}

// taintText is equal for equal lists; empty for none.
func taintText(taints []api.Taint) string {
	if len(taints) == 0 {
		return ""
	}
	var text strings.Builder
	for _, t := range taints {
		for _, part := range [3]string{t.Key, t.Value, t.Effect} {
			text.WriteString(part)
			text.WriteByte(0)
		}
	}
	return text.String()
}

// never is the time of what did not happen: older than any threshold.
const never = math.MinInt64 / 2

// nanos returns t as unix nanoseconds, clamped to what they can hold.
func nanos(t time.Time) int64 {
	switch {
	case t.Year() < 1900:
		return never
	case t.Year() > 2200:
		return math.MaxInt64 / 2
	}
	return t.UnixNano()
}

// Values are the values that members have of a label, by name of the member.
func (f *Fleet) Values(label string) map[string]string {
	c := f.label(label)
	if c == nil {
		return nil
	}
	values := make(map[string]string, len(f.names))
	for row, id := range c.ids {
		if id != 0 {
			values[f.names[row]] = c.values[id]
		}
	}
	return values
}
