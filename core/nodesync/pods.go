package nodesync

import (
	"cmp"

	"flotilla/core/api"
	"flotilla/core/cluster"
)

// came are the pods of a node that need a place and of which the hub does not know that they have it.
func (t *node) came() []api.PodState {
	if t.gone || t.stored >= t.version {
		return nil
	}
	var known map[string]bool
	if !t.lost {
		known = movable(t.pods)
	}
	var out []api.PodState
	for i := range t.state.Pods {
		if p := &t.state.Pods[i]; cluster.Movable(p) && !known[podKey(p)] {
			out = append(out, *p)
		}
	}
	return out
}

// loses reports whether a pod is not on the node any more, or needs no place, that the hub may know to be.
func (t *node) loses() bool {
	if t.stored >= t.version {
		return false
	}
	var now map[string]bool
	if !t.gone {
		now = movable(t.state.Pods)
	}
	for key := range t.perhaps {
		if !now[key] {
			return true
		}
	}
	for key := range movable(t.pods) {
		if !now[key] {
			return true
		}
	}
	return false
}

// unheard are the pods that the hub does not know to be where they are.
func (s *Sync) unheard() []api.PodState {
	var out []api.PodState
	for _, t := range s.nodes {
		out = append(out, t.came()...)
	}
	return out
}

// misses reports whether there are pods of which the hub does not know. One that has no inventory of this
// start of the agent does not act, and misses nothing.
func (s *Sync) misses() bool {
	i := &s.inventory
	if !i.tried {
		return false
	}
	known := map[string]bool{}
	if i.sure {
		for n := range i.told.Pending {
			known[podKey(&i.told.Pending[n])] = true
		}
	}
	for _, list := range [][]api.PodState{i.now.Pending, s.unheard()} {
		for n := range list {
			if !known[podKey(&list[n])] {
				return true
			}
		}
	}
	return false
}

func podKey(p *api.PodState) string { return p.UID + "/" + p.Namespace + "/" + p.Name }

func comparePods(a, b api.PodState) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// movable are the keys of the pods that need a place.
func movable(pods []api.PodState) map[string]bool {
	keys := make(map[string]bool, len(pods))
	for i := range pods {
		if p := &pods[i]; cluster.Movable(p) {
			keys[podKey(p)] = true
		}
	}
	return keys
}
