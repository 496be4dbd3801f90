package schedule

import (
	"math"
	"strings"
	"time"

	"flotilla/core/api"
)

var notANumber = math.NaN()

// setLabels moves a row from the old labels to the new ones.
func (f *Fleet) setLabels(row int, old, now map[string]string) {
	for key := range old {
		if _, kept := now[key]; kept {
			continue
		}
		column := f.labels[key]
		column.clear(row)
		if column.inUse() == 0 {
			delete(f.labels, key)
		}
	}
	for key, value := range now {
		column := f.labels[key]
		if column == nil {
			column = newLabelColumn(len(f.names))
			f.labels[key] = column
		}
		column.set(row, value)
	}
}

// setProperties moves a row from the old properties to the new ones. Both spellings of a property
// fill one column, the canonical one wins (D13).
func (f *Fleet) setProperties(row int, old, now map[string]string) {
	for name := range old {
		canonical := api.CanonicalProperty(name)
		if has(now, canonical) {
			continue
		}
		if column := f.properties[canonical]; column != nil {
			column.clear(row)
			if column.used == 0 {
				delete(f.properties, canonical)
			}
		}
	}
	for name, text := range now {
		canonical := api.CanonicalProperty(name)
		if _, both := now[canonical]; both && name != canonical {
			continue
		}
		column := f.properties[canonical]
		if column == nil {
			column = newPropertyColumn(len(f.names))
			f.properties[canonical] = column
		}
		column.set(row, text)
	}
}

// has reports whether a property is present under either spelling.
func has(properties map[string]string, canonical string) bool {
	if _, ok := properties[canonical]; ok {
		return true
	}
	if canonical != api.PropertyNodeCount {
		return false
	}
	_, ok := properties[api.PropertyNodeCountAKS]
	return ok
}

// setTaints numbers the taint list, so that a decision judges each distinct list once.
func (f *Fleet) setTaints(row int, taints []api.Taint) {
	old := f.taints[row]
	f.taints[row] = 0
	if len(taints) > 0 {
		var text strings.Builder
		for _, t := range taints {
			for _, part := range [3]string{t.Key, t.Value, t.Effect} {
				text.WriteString(part)
				text.WriteByte(0)
			}
		}
		id := f.taintSets.take(text.String())
		for int(id) >= len(f.taintLists) {
			f.taintLists = append(f.taintLists, nil)
		}
		f.taintLists[id] = taints
		f.taints[row] = id
	}
	f.taintSets.release(old)
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
