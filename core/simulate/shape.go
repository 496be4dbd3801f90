package simulate

import (
	"encoding/binary"
	"slices"

	"flotilla/core/cluster"
)

// shape is what pods have in common that ask the same of their nodes and of each other: those of one ReplicaSet
// are of one shape. What follows from it is made once.
type shape struct {
	number  int
	variant *Variant // nil while no pod of the shape moves
	keeps   []*group
}

// shapes are those of the pods with constraints, and the relations of all pods to groups.
type shapes struct {
	of    map[*cluster.Pod]*shape
	byKey map[string]*shape
	links map[string]*links
	key   []byte // where keys are written
}

func newShapes() shapes {
	return shapes{of: map[*cluster.Pod]*shape{}, byKey: map[string]*shape{}, links: map[string]*links{}}
}

// shapeOf is the shape of a pod with constraints.
func (x *Index) shapeOf(p *cluster.Pod) *shape {
	all := &x.shapes
	if s := all.of[p]; s != nil {
		return s
	}
	all.key = appendShape(all.key[:0], p.State.Namespace, p)
	s := all.byKey[string(all.key)]
	if s == nil {
		s = &shape{number: len(all.byKey) + 1}
		all.byKey[string(all.key)] = s
	}
	all.of[p] = s
	return s
}

// variantsOf makes what a pod asks of its node, with every softer step.
func (x *Index) variantsOf(p *cluster.Pod) {
	if s := x.shapeOf(p); s.variant == nil {
		s.variant = x.variants(p)
	}
}

// linksOf returns the relations of a pod, which those of its shape share that selectors cannot tell from it.
func (x *Index) linksOf(p *cluster.Pod) *links {
	all := &x.shapes
	s := all.of[p]
	if s == nil {
		s = &shape{}
	}
	all.key = binary.AppendUvarint(all.key[:0], uint64(s.number))
	all.key = appendText(all.key, p.State.Namespace)
	all.key = appendRead(all.key, p.State.Labels, x.lookup.keys)
	l := all.links[string(all.key)]
	if l == nil {
		l = x.relate(p, s)
		all.links[string(all.key)] = l
	}
	return l
}

// relate finds the groups that a pod of a shape belongs to.
func (x *Index) relate(p *cluster.Pod, s *shape) *links {
	l := &links{Variant: PlainLinks.Variant, keeps: s.keeps}
	if s.variant != nil {
		l.Variant = s.variant
	}
	for g := range x.lookup.about(p) {
		if x.asked += g.weight; x.asked > mostAsked {
			break
		}
		switch {
		case !g.selects(p):
		case g.kind == ownersGroup:
			l.Avoids = append(l.Avoids, g)
		default:
			l.counted = append(l.counted, g)
		}
	}
	byRank := func(a, b *group) int { return a.rank - b.rank }
	slices.SortFunc(l.counted, byRank)
	slices.SortFunc(l.Avoids, byRank)
	return l
}
