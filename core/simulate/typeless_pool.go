package simulate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
)

// ClosedTo says why a pool can make no node at all: no instance type has what it requires, room for its
// daemons, or is within its limits.
func (r *Run) ClosedTo(p *capacity.Pool) string {
	why := r.closings[p]
	if why != "" {
		return why
	}
	switch f := r.X.freshOf(p); {
	case len(p.ByName) == 0:
		why = "there is no instance type for it"
	case len(p.Types) == 0:
		why = "no instance type has " + r.X.unmet(listedTypes(p), p.Needs) + ", as its requirements ask"
	case len(f.types) == 0:
		why = "no instance type that its requirements admit has room for its daemons"
	default:
		why = "no instance type is left within its limits: " + strings.Join(r.limiting(p), ", ")
	}
	if r.closings == nil {
		r.closings = map[*capacity.Pool]string{}
	}
	r.closings[p] = fmt.Sprintf("pool %s: %s", p.Name, why)
	return r.closings[p]
}

// listedTypes are those that the pool may choose from, by name, whatever it requires.
func listedTypes(p *capacity.Pool) []*capacity.Machine {
	return slices.DeleteFunc(slices.Clone(p.Catalog.Types), func(m *capacity.Machine) bool { return p.ByName[m.Name] == nil })
}

// limiting are the limits of a pool that leave out every type which it may become, else those that leave out
// some, each with what is left of it.
func (r *Run) limiting(p *capacity.Pool) []string {
	f, left := r.X.freshOf(p), r.Limits[p]
	var all, some []string
	for i, name := range r.X.resourceNames() {
		limit, limited := p.Limits[name]
		if !limited {
			continue
		}
		out := 0
		least := int64(math.MaxInt64)
		for _, m := range f.types {
			least = min(least, f.sizes[m][i])
			if f.sizes[m][i] > left[i] {
				out++
			}
		}
		text := fmt.Sprintf("%s %s, %s left, and a node has %s at least", name, quantity(name, limit), quantity(name, max(0, left[i])), quantity(name, least))
		switch out {
		case 0:
		case len(f.types):
			all = append(all, text)
		default:
			some = append(some, fmt.Sprintf("%s %s, %s left", name, quantity(name, limit), quantity(name, max(0, left[i]))))
		}
	}
	if limit, limited := p.Limits[nodesName]; limited && left[len(left)-1] <= 0 {
		all = append(all, fmt.Sprintf("%s %d, none left", nodesName, limit))
	}
	if len(all) > 0 {
		return all
	}
	return some
}

// unmet names what a new node would have to be labelled with that none of some types is, or is offered with:
// what rules out every type by itself, else all that rules out some.
func (x *Index) unmet(types []*capacity.Machine, n capacity.Needs) string {
	var all, some []string
	for i := range n {
		one := &n[i]
		x.Spend(aType * len(types))
		out := 0
		for _, m := range types {
			if !x.meets(m, one) {
				out++
			}
		}
		switch offering := one.Key == corev1.LabelTopologyZone || one.Key == api.LabelCapacityType; {
		case out == len(types):
			all = append(all, one.Brief())
		case out > 0 || offering:
			some = append(some, one.Brief())
		}
	}
	if len(all) > 0 {
		return strings.Join(all, ", nor ")
	}
	return "all at once: " + strings.Join(some, ", ")
}

// meets reports whether a type can be bought with what one need asks of a label.
func (x *Index) meets(m *capacity.Machine, n *capacity.Need) bool {
	only := capacity.Needs{*n}
	return only.Intersects(m.Needs) && m.Offered(only) && x.labelled(m, only)
}
