package schedule

import (
	"math/bits"
	"slices"

	"flotilla/core/verdict"
)

// digit is the width of one pass of the radix sort; keys of a usual policy need one or two.
const digit = 11

// byScore returns the rows, given ascending, in the order in which they would be picked: by spread
// score, affinity score and use under an older policy, all descending, ties by name descending. It agrees with
// api.RankKey, and uses the rows given up.
func (d *decision) byScore(rows []int32) []int32 {
	affinity, spread := spanOf(d.columns.Affinity, rows), spanOf(d.columns.Spread, rows)
	keys := make([]uint64, len(rows))
	var all uint64
	for k, row := range rows {
		key := spread.place(d.columns.Spread, row)*affinity.width + affinity.place(d.columns.Affinity, row)
		key <<= 1
		if d.columns.Outcomes[row].Has(verdict.OutcomeUsed) {
			key |= 1
		}
		keys[k] = key
		all |= key
	}
	sorted := sortByKey(rows, keys, bits.Len64(all))
	slices.Reverse(sorted)
	return sorted
}

// span is the extent of a score column over some rows.
type span struct {
	low   int32
	width uint64
}

func spanOf(column, rows []int32) span {
	if column == nil || len(rows) == 0 {
		return span{0, 1}
	}
	low, high := column[rows[0]], column[rows[0]]
	for _, row := range rows {
		low, high = min(low, column[row]), max(high, column[row])
	}
	return span{low, uint64(int64(high)-int64(low)) + 1}
}

func (s span) place(column []int32, row int32) uint64 {
	if column == nil {
		return 0
	}
	return uint64(int64(column[row]) - int64(s.low))
}

// sortByKey sorts rows stably and ascending by keys of this many bits. Both slices are used up.
func sortByKey(rows []int32, keys []uint64, width int) []int32 {
	if width == 0 {
		return rows
	}
	otherRows, otherKeys := make([]int32, len(rows)), make([]uint64, len(keys))
	for shift := 0; shift < width; shift += digit {
		var starts [1 << digit]int32
		for _, key := range keys {
			starts[key>>shift&(1<<digit-1)]++
		}
		sum := int32(0)
		for i, n := range starts {
			starts[i] = sum
			sum += n
		}
		for k, key := range keys {
			place := &starts[key>>shift&(1<<digit-1)]
			otherRows[*place], otherKeys[*place] = rows[k], key
			*place++
		}
		rows, otherRows = otherRows, rows
		keys, otherKeys = otherKeys, keys
	}
	return rows
}
