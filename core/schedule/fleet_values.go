package schedule

import (
	"maps"
	"math"
	"strings"
	"time"

	"flotilla/core/api"
)

// setLabels gives the row these labels and no others.
func (f *Fleet) setLabels(row int, labels map[string]string) {
	for key, c := range f.labels {
		if _, kept := labels[key]; kept || c.ids[row] == 0 {
			continue
		}
		c.clear(row)
		if len(c.index) == 0 {
			delete(f.labels, key)
		}
	}
	for key, value := range labels {
		c := f.labels[key]
		if c == nil {
			fresh := newColumn(len(f.names))
			c = &fresh
			f.labels[key] = c
		}
		if !c.has(row, value) {
			c.set(row, value)
		}
	}
}

// setProperties gives the row these properties and no others. Both spellings of a property fill one
// column, the canonical one wins (D13).
func (f *Fleet) setProperties(row int, properties map[string]string) {
	for name, c := range f.properties {
		if c.ids[row] == 0 || hasProperty(properties, name) {
			continue
		}
		c.clear(row)
		if len(c.index) == 0 {
			delete(f.properties, name)
		}
	}
	for name, text := range properties {
		canonical := api.CanonicalProperty(name)
		if _, both := properties[canonical]; both && name != canonical {
			continue
		}
		c := f.properties[canonical]
		if c == nil {
			c = newPropertyColumn(len(f.names))
			f.properties[canonical] = c
		}
		c.set(row, text)
	}
}

// hasProperty reports whether a property is present under either spelling.
func hasProperty(properties map[string]string, canonical string) bool {
	if _, ok := properties[canonical]; ok {
		return true
	}
	if canonical != api.PropertyNodeCount {
		return false
	}
	_, ok := properties[api.PropertyNodeCountAKS]
	return ok
}

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
	c := f.labels[label]
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
