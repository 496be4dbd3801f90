package schedule

import (
	"maps"
	"sync"

	"flotilla/core/api"
)

// mostColumns is how many columns of each sort a fleet keeps. Where policies ask for more, those that there are
// are forgotten and made again for who asks.
const mostColumns = 256

// asked holds a column for each label and each property that a decision asked for. What members offer and nobody
// asks for has none: whoever offers thousands of them costs no room for all the other members. Decisions on one
// fleet may run at once, and the first that asks makes the column.
type asked struct {
	making     sync.Mutex
	labels     map[string]*column
	properties map[string]*propertyColumn
}

// label returns the column of a label, nil when no member carries it. A decision asks once for all that it says of
// one test: a column that was forgotten meanwhile would number its values otherwise.
func (f *Fleet) label(key string) *column {
	f.asked.making.Lock()
	defer f.asked.making.Unlock()
	c := f.asked.labels[key]
	if c == nil {
		fresh := newColumn(len(f.names))
		c = &fresh
		for row, m := range f.members {
			if value, carried := m.Labels[key]; carried {
				c.set(row, value)
			}
		}
		f.asked.labels = with(f.asked.labels, key, c)
	}
	if c.empty() {
		return nil
	}
	return c
}

// property returns the column of a property under its canonical name, nil when no member reports it.
func (f *Fleet) property(canonical string) *propertyColumn {
	f.asked.making.Lock()
	defer f.asked.making.Unlock()
	c := f.asked.properties[canonical]
	if c == nil {
		c = newPropertyColumn(len(f.names))
		for row, m := range f.members {
			if text, reported := propertyOf(m.Properties, canonical); reported {
				c.set(row, text)
			}
		}
		f.asked.properties = with(f.asked.properties, canonical, c)
	}
	if c.empty() {
		return nil
	}
	return c
}

// with adds a column to those of its sort.
func with[C any](columns map[string]C, name string, c C) map[string]C {
	if len(columns) >= mostColumns {
		clear(columns)
	}
	if columns == nil {
		columns = map[string]C{}
	}
	columns[name] = c
	return columns
}

// propertyOf is what a member reports of a property. Both spellings are one property, the canonical one wins (D13).
func propertyOf(properties map[string]string, canonical string) (text string, reported bool) {
	if text, reported = properties[canonical]; reported || canonical != api.PropertyNodeCount {
		return text, reported
	}
	text, reported = properties[api.PropertyNodeCountAKS]
	return text, reported
}

// canonicalOf are properties by their canonical names.
func canonicalOf(properties map[string]string) map[string]string {
	out := make(map[string]string, len(properties))
	for name := range properties {
		canonical := api.CanonicalProperty(name)
		out[canonical], _ = propertyOf(properties, canonical)
	}
	return out
}

// insertRow makes room for a member in every column.
func (a *asked) insertRow(row int) {
	for _, c := range a.labels {
		c.insertRow(row)
	}
	for _, c := range a.properties {
		c.insertRow(row)
	}
}

// removeRow takes a member out of every column.
func (a *asked) removeRow(row int) {
	a.setLabels(row, nil)
	a.setProperties(row, nil)
	for _, c := range a.labels {
		c.removeRow(row)
	}
	for _, c := range a.properties {
		c.removeRow(row)
	}
}

// setLabels gives the row these labels and no others.
func (a *asked) setLabels(row int, labels map[string]string) {
	for key, c := range a.labels {
		value, carried := labels[key]
		switch {
		case !carried:
			c.clear(row)
		case !c.has(row, value):
			c.set(row, value)
		}
	}
}

// setProperties gives the row these properties and no others.
func (a *asked) setProperties(row int, properties map[string]string) {
	for name, c := range a.properties {
		if text, reported := propertyOf(properties, name); reported {
			c.set(row, text)
		} else {
			c.clear(row)
		}
	}
}

// cloneTo gives another fleet the same columns.
func (a *asked) cloneTo(to *asked) {
	a.making.Lock()
	defer a.making.Unlock()
	to.labels, to.properties = maps.Clone(a.labels), maps.Clone(a.properties)
	for key, from := range to.labels {
		c := from.clone()
		to.labels[key] = &c
	}
	for name, from := range to.properties {
		to.properties[name] = from.clone()
	}
}
