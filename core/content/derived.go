package content

import (
	"cmp"
	"slices"
)

// derived is what follows from the changes of a clone: each part is worked out once, when the first selector asks for it.
type derived struct {
	endpoints map[string][]*change // by namespace
	inhabited []*change            // nil until it is worked out
	kinds     map[groupKind]became
}

// became is what the changes leave of a kind that Kubernetes does not bring itself.
type became struct {
	// settled says that an object of it did not change, and so tells whether the kind lies in namespaces.
	settled, namespaced bool
	// changed says that an object of it changed.
	changed bool
}

func (c *changes) derive() *derived {
	if c.derived == nil {
		c.derived = &derived{endpoints: map[string][]*change{}, kinds: map[groupKind]became{}}
	}
	return c.derived
}

// changedAt are the changes of a ground; a Service that comes or goes changes its Endpoints, where there are some.
func (x *Index) changedAt(at Ground) []*change {
	if at.kind != endpointsKind {
		return x.changed.at[at]
	}
	d := x.changed.derive()
	changed, known := d.endpoints[at.namespace]
	if known {
		return changed
	}
	changed = slices.Clone(x.changed.at[at])
	for _, service := range x.changed.at[Ground{serviceKind, at.namespace}] {
		head := cmp.Or(service.before, service.after)
		if head == nil {
			continue
		}
		if head = x.heads[keyOf(endpointsKind, at.namespace, head.Object.Name)]; head != nil {
			changed = append(changed, &change{after: head})
		}
	}
	d.endpoints[at.namespace] = changed
	return changed
}

// inhabited are the Namespaces in which something changed.
func (x *Index) inhabited() []*change {
	d := x.changed.derive()
	if d.inhabited != nil {
		return d.inhabited
	}
	d.inhabited = make([]*change, 0, len(x.changed.inside))
	for name := range x.changed.inside {
		if head := x.heads[keyOf(namespaceKind, "", name)]; head != nil {
			d.inhabited = append(d.inhabited, &change{after: head})
		}
	}
	return d.inhabited
}

// becameOf is what became of a kind.
func (x *Index) becameOf(gk groupKind) became {
	d := x.changed.derive()
	b, known := d.kinds[gk]
	if known {
		return b
	}
	for at := range x.changed.at {
		b.changed = b.changed || at.kind == gk
	}
	for key, head := range x.byKind[gk] {
		if x.changed.of[key] == nil {
			b.settled, b.namespaced = true, head.Object.Namespace != ""
			break
		}
	}
	d.kinds[gk] = b
	return b
}
