package cluster

import (
	"flotilla/core/api"
	"flotilla/core/capacity"
)

// The first resources of every vector.
const (
	CPUIndex = iota
	MemoryIndex
	PodsIndex
	BaseResources
)

// Vector is an amount of each resource: three that everything has, and the rest sparsely.
type Vector struct {
	Base [BaseResources]int64
	More []extra
}

type extra struct {
	Index  int
	Amount int64
}

// MostResources is how many names of resources are told apart on one member; a few are usual. Each is a column over all of
// its nodes.
const MostResources = 256

// Resources numbers the names of resources.
type Resources struct {
	Index map[string]int
	// Full says that there are more names, which are left out of vectors: nothing may be decided by these.
	Full bool
}

func newResources() Resources {
	return Resources{Index: map[string]int{capacity.CPUName: CPUIndex, capacity.MemoryName: MemoryIndex, capacity.PodsName: PodsIndex}}
}

func (r *Resources) vec(a api.Amounts) Vector {
	v := Vector{Base: [BaseResources]int64{a[capacity.CPUName], a[capacity.MemoryName], a[capacity.PodsName]}}
	for name, amount := range a {
		if name == capacity.CPUName || name == capacity.MemoryName || name == capacity.PodsName {
			continue
		}
		i, ok := r.Index[name]
		if !ok {
			if i = len(r.Index); i == MostResources {
				r.Full = true
				continue
			}
			r.Index[name] = i
		}
		v.More = append(v.More, extra{i, amount})
	}
	return v
}

// FitsIn reports whether v is within the free amounts of a row. A row that is overdrawn takes
// nothing, not even what asks for none of it.
func (v *Vector) FitsIn(row []int64) bool {
	if v.Base[CPUIndex] > row[CPUIndex] || v.Base[MemoryIndex] > row[MemoryIndex] || v.Base[PodsIndex] > row[PodsIndex] {
		return false
	}
	for _, e := range v.More {
		if e.Amount > row[e.Index] {
			return false
		}
	}
	return true
}

// AddTo adds v, sign times, to a row.
func (v *Vector) AddTo(row []int64, sign int64) {
	for i := range v.Base {
		row[i] += sign * v.Base[i]
	}
	for _, e := range v.More {
		row[e.Index] += sign * e.Amount
	}
}
