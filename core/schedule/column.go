package schedule

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
)

// dictionary numbers strings from 1 and counts their uses; 0 stands for none. Numbers of strings
// that went out of use are given again.
type dictionary struct {
	values []string
	uses   []int32
	index  map[string]uint32
	free   []uint32
}

func newDictionary() dictionary {
	return dictionary{values: []string{""}, uses: []int32{0}, index: map[string]uint32{}}
}

// take returns the number of value and counts one use more.
func (d *dictionary) take(value string) uint32 {
	id, known := d.index[value]
	if !known {
		if last := len(d.free) - 1; last >= 0 {
			id, d.free = d.free[last], d.free[:last]
			d.values[id] = value
		} else {
			id = uint32(len(d.values))
			d.values = append(d.values, value)
			d.uses = append(d.uses, 0)
		}
		d.index[value] = id
	}
	d.uses[id]++
	return id
}

// release counts one use less.
func (d *dictionary) release(id uint32) {
	if id == 0 {
		return
	}
	d.uses[id]--
	if d.uses[id] == 0 {
		delete(d.index, d.values[id])
		d.values[id] = ""
		d.free = append(d.free, id)
	}
}

func (d *dictionary) inUse() int { return len(d.index) }

func (d *dictionary) clone() dictionary {
	index := make(map[string]uint32, len(d.index))
	for value, id := range d.index {
		index[value] = id
	}
	return dictionary{slices.Clone(d.values), slices.Clone(d.uses), index, slices.Clone(d.free)}
}

// labelColumn holds the values of one label key, as numbers of its dictionary.
type labelColumn struct {
	dictionary
	ids []uint32 // by row; 0 where the member does not carry the key
}

func newLabelColumn(rows int) *labelColumn {
	return &labelColumn{dictionary: newDictionary(), ids: make([]uint32, rows)}
}

func (c *labelColumn) set(row int, value string) {
	if old := c.ids[row]; old != 0 && c.values[old] == value {
		return
	}
	id := c.take(value)
	c.release(c.ids[row])
	c.ids[row] = id
}

func (c *labelColumn) clear(row int) {
	c.release(c.ids[row])
	c.ids[row] = 0
}

// States of a property on one member.
const (
	propertyAbsent   uint8 = iota
	propertyExact          // a quantity that its float64 holds exactly
	propertyQuantity       // a quantity that its float64 approximates
	propertyOther          // not a quantity (D1)
)

// propertyColumn holds the values of one property: as text, and as float64 for quick comparison.
type propertyColumn struct {
	text   []string
	state  []uint8
	floats []float64 // NaN where there is no quantity
	used   int
}

func newPropertyColumn(rows int) *propertyColumn {
	c := &propertyColumn{
		text: make([]string, rows), state: make([]uint8, rows), floats: make([]float64, rows),
	}
	for i := range c.floats {
		c.floats[i] = math.NaN()
	}
	return c
}

func (c *propertyColumn) set(row int, text string) {
	if c.state[row] != propertyAbsent && c.text[row] == text {
		return
	}
	if c.state[row] == propertyAbsent {
		c.used++
	}
	c.text[row] = text
	c.state[row], c.floats[row] = readProperty(text)
}

func (c *propertyColumn) clear(row int) {
	if c.state[row] != propertyAbsent {
		c.used--
	}
	c.text[row], c.state[row], c.floats[row] = "", propertyAbsent, math.NaN()
}

func readProperty(text string) (uint8, float64) {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return propertyOther, math.NaN()
	}
	f := q.AsApproximateFloat64()
	if whole, ok := q.AsInt64(); ok && whole == int64(f) && math.Abs(f) <= 1<<53 {
		return propertyExact, f
	}
	return propertyQuantity, f
}

func (c *propertyColumn) clone() *propertyColumn {
	return &propertyColumn{slices.Clone(c.text), slices.Clone(c.state), slices.Clone(c.floats), c.used}
}
