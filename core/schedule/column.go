package schedule

import (
	"maps"
	"math"
	"slices"

	"flotilla/core/strict"
)

// dictionary numbers strings from 1 and counts their uses; 0 stands for none. A number once given
// keeps its string, so that verdicts may share values with the fleet they were made from.
type dictionary struct {
	values []string
	uses   []int32
	index  map[string]uint32 // of strings in use
}

func newDictionary() dictionary {
	return dictionary{values: []string{""}, uses: []int32{0}, index: map[string]uint32{}}
}

// take returns the number of value and counts one use more.
func (d *dictionary) take(value string) uint32 {
	id, known := d.index[value]
	if !known {
		id = uint32(len(d.values))
		d.values = append(d.values, value)
		d.uses = append(d.uses, 0)
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
	}
}

// wasteful reports whether most numbers are out of use.
func (d *dictionary) wasteful() bool { return len(d.values) > 64+2*len(d.index) }

func (d *dictionary) clone() dictionary {
	return dictionary{slices.Clone(d.values), slices.Clone(d.uses), maps.Clone(d.index)}
}

// column holds one value a row, as numbers of its dictionary.
type column struct {
	dictionary
	ids []uint32 // 0 where the member has no value
}

func newColumn(rows int) column { return column{newDictionary(), make([]uint32, rows)} }

// has reports whether the row already holds value.
func (c *column) has(row int, value string) bool {
	return c.ids[row] != 0 && c.values[c.ids[row]] == value
}

func (c *column) set(row int, value string) {
	id := c.take(value)
	c.release(c.ids[row])
	c.ids[row] = id
	if c.wasteful() {
		c.compact()
	}
}

// clear takes the row's value away; with the last one the column begins anew.
func (c *column) clear(row int) {
	if c.ids[row] == 0 {
		return
	}
	c.release(c.ids[row])
	c.ids[row] = 0
	if c.empty() {
		c.dictionary = newDictionary()
	}
}

// empty reports whether no row has a value.
func (c *column) empty() bool { return len(c.index) == 0 }

// compact numbers the values in use anew.
func (c *column) compact() {
	fresh := newDictionary()
	for row, id := range c.ids {
		if id != 0 {
			c.ids[row] = fresh.take(c.values[id])
		}
	}
	c.dictionary = fresh
}

func (c *column) insertRow(row int) { c.ids = slices.Insert(c.ids, row, 0) }
func (c *column) removeRow(row int) { c.ids = slices.Delete(c.ids, row, row+1) }
func (c *column) clone() column     { return column{c.dictionary.clone(), slices.Clone(c.ids)} }

// propertyColumn holds the values of one property, and their float64 for quick comparison.
type propertyColumn struct {
	column
	floats []float64 // by row; NaN where there is no quantity
}

func newPropertyColumn(rows int) *propertyColumn {
	c := &propertyColumn{newColumn(rows), make([]float64, rows)}
	for row := range c.floats {
		c.floats[row] = math.NaN()
	}
	return c
}

func (c *propertyColumn) set(row int, text string) {
	if c.has(row, text) {
		return
	}
	c.column.set(row, text)
	c.floats[row] = floatOf(text)
}

func (c *propertyColumn) clear(row int) {
	c.column.clear(row)
	c.floats[row] = math.NaN()
}

func (c *propertyColumn) insertRow(row int) {
	c.column.insertRow(row)
	c.floats = slices.Insert(c.floats, row, math.NaN())
}

func (c *propertyColumn) removeRow(row int) {
	c.column.removeRow(row)
	c.floats = slices.Delete(c.floats, row, row+1)
}

func (c *propertyColumn) clone() *propertyColumn {
	return &propertyColumn{c.column.clone(), slices.Clone(c.floats)}
}

// floatOf returns the quantity as float64, as exactly as that can be, or NaN.
func floatOf(text string) float64 {
	q, err := strict.ParseQuantity(text)
	if err != nil {
		return math.NaN()
	}
	return q.AsApproximateFloat64()
}
