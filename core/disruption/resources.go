package disruption

import "flotilla/core/api"

// The first resources of every vector.
const (
	cpuIndex = iota
	memoryIndex
	podsIndex
	baseResources
)

// vec is an amount of each resource: three that everything has, and the rest sparsely.
type vec struct {
	base [baseResources]int64
	more []extra
}

type extra struct {
	index  int
	amount int64
}

// resources numbers the names of resources.
type resources struct{ index map[string]int }

func newResources() resources {
	return resources{map[string]int{cpuName: cpuIndex, memoryName: memoryIndex, podsName: podsIndex}}
}

func (r *resources) vec(a api.Amounts) vec {
	v := vec{base: [baseResources]int64{a[cpuName], a[memoryName], a[podsName]}}
	for name, amount := range a {
		if name == cpuName || name == memoryName || name == podsName {
			continue
		}
		i, ok := r.index[name]
		if !ok {
			i = len(r.index)
			r.index[name] = i
		}
		v.more = append(v.more, extra{i, amount})
	}
	return v
}

// fitsIn reports whether v is within the free amounts of a row. A row that is overdrawn takes
// nothing, not even what asks for none of it.
func (v *vec) fitsIn(row []int64) bool {
	if v.base[cpuIndex] > row[cpuIndex] || v.base[memoryIndex] > row[memoryIndex] || v.base[podsIndex] > row[podsIndex] {
		return false
	}
	for _, e := range v.more {
		if e.amount > row[e.index] {
			return false
		}
	}
	return true
}

// addTo adds v, sign times, to a row.
func (v *vec) addTo(row []int64, sign int64) {
	for i := range v.base {
		row[i] += sign * v.base[i]
	}
	for _, e := range v.more {
		row[e.index] += sign * e.amount
	}
}
