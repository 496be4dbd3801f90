package simulate

import (
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/selection"

	"flotilla/core/cluster"
)

// groupLookup finds the groups that may select a pod without asking all of them.
type groupLookup struct {
	anywhere groupList            // of all namespaces
	bySpace  map[string]groupList // of named namespaces, under each of them
	keys     []string             // of the labels that selectors read, sorted
}

// groupList are groups by one label that their selector demands.
type groupList struct {
	byLabel map[[2]string][]*group
	rest    []*group // those that demand none
}

func newGroupLookup(groups []*group) groupLookup {
	l := groupLookup{bySpace: map[string]groupList{}}
	keys := map[string]bool{}
	for _, g := range groups {
		requirements, _ := g.selector.Requirements()
		for i := range requirements {
			keys[requirements[i].Key()] = true
		}
		if g.spaces == nil {
			l.anywhere.add(g)
		}
		for _, space := range g.spaces {
			list := l.bySpace[space]
			list.add(g)
			l.bySpace[space] = list
		}
	}
	l.keys = slices.Sorted(maps.Keys(keys))
	return l
}

func (l *groupList) add(g *group) {
	label, ok := demanded(g)
	if !ok {
		l.rest = append(l.rest, g)
		return
	}
	if l.byLabel == nil {
		l.byLabel = map[[2]string][]*group{}
	}
	l.byLabel[label] = append(l.byLabel[label], g)
}

// demanded is a label without which a group selects no pod.
func demanded(g *group) ([2]string, bool) {
	requirements, _ := g.selector.Requirements()
	for _, r := range requirements {
		if (r.Operator() == selection.In || r.Operator() == selection.Equals) && r.Values().Len() == 1 {
			return [2]string{r.Key(), r.Values().List()[0]}, true
		}
	}
	return [2]string{}, false
}

// about yields each group that may select a pod, in no order.
func (l *groupLookup) about(p *cluster.Pod) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for _, list := range []groupList{l.anywhere, l.bySpace[p.State.Namespace]} {
			if !list.about(p, yield) {
				return
			}
		}
	}
}

// about yields the groups of the list until it is told to end.
func (l *groupList) about(p *cluster.Pod, yield func(*group) bool) bool {
	for k, v := range p.State.Labels {
		for _, g := range l.byLabel[[2]string{k, v}] {
			if !yield(g) {
				return false
			}
		}
	}
	for _, g := range l.rest {
		if !yield(g) {
			return false
		}
	}
	return true
}
