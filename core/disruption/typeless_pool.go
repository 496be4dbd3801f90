package disruption

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// closedTo says why a pool can make no node at all: no instance type has what it requires, room for its
// daemons, or is within its limits.
func (r *run) closedTo(p *Pool) string {
	why := r.closings[p]
	if why != "" {
		return why
	}
	switch f := r.x.freshOf(p); {
	case len(p.byName) == 0:
		why = "there is no instance type for it"
	case len(p.types) == 0:
		why = "no instance type has " + r.x.unmet(p.listed(), p.needs) + ", as its requirements ask"
	case len(f.types) == 0:
		why = "no instance type that its requirements admit has room for its daemons"
	default:
		why = "no instance type is left within its limits: " + strings.Join(r.limiting(p), ", ")
	}
	if r.closings == nil {
		r.closings = map[*Pool]string{}
	}
	r.closings[p] = fmt.Sprintf("pool %s: %s", p.name, why)
	return r.closings[p]
}

// listed are the types that the pool may choose from, by name, whatever it requires.
func (p *Pool) listed() []*machine {
	return slices.DeleteFunc(slices.Clone(p.catalog.types), func(m *machine) bool { return p.byName[m.name] == nil })
}

// limiting are the limits of a pool that leave out every type which it may become, else those that leave out
// some, each with what is left of it.
func (r *run) limiting(p *Pool) []string {
	f, left := r.x.freshOf(p), r.limits[p]
	var all, some []string
	for i, name := range r.x.resourceNames() {
		limit, limited := p.limits[name]
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
	if limit, limited := p.limits[nodesName]; limited && left[len(left)-1] <= 0 {
		all = append(all, fmt.Sprintf("%s %d, none left", nodesName, limit))
	}
	if len(all) > 0 {
		return all
	}
	return some
}

// unmet names what a new node would have to be labelled with that none of some types is, or is offered with:
// what rules out every type by itself, else all that rules out some.
func (x *Index) unmet(types []*machine, n needs) string {
	var all, some []string
	for i := range n {
		one := &n[i]
		out := 0
		for _, m := range types {
			if !x.meets(m, one) {
				out++
			}
		}
		switch offering := one.key == corev1.LabelTopologyZone || one.key == api.LabelCapacityType; {
		case out == len(types):
			all = append(all, one.brief())
		case out > 0 || offering:
			some = append(some, one.brief())
		}
	}
	if len(all) > 0 {
		return strings.Join(all, ", nor ")
	}
	return "all at once: " + strings.Join(some, ", ")
}

// meets reports whether a type can be bought with what one need asks of a label.
func (x *Index) meets(m *machine, n *need) bool {
	only := needs{*n}
	return only.intersects(m.needs) && m.offered(only) && x.labelled(m, only)
}

// shownValues is how many values of a label a text names.
const shownValues = 5

// brief is a need in a few words, "kubernetes.io/arch in arm64".
func (n *need) brief() string {
	s := n.set
	more := len(s.values) - shownValues
	if more <= 0 {
		return n.key + " " + s.String()
	}
	s.values = s.values[:shownValues]
	return fmt.Sprintf("%s %s and %d more", n.key, s.String(), more)
}
