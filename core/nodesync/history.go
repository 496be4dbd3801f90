package nodesync

import (
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Past is what is known of a node that a look at it does not tell.
type Past struct {
	UID string `json:"uid"`
	// Initialized is since when it is, zero while it is not.
	Initialized time.Time `json:"initialized,omitzero"`
	// PodEvent is when a pod was last bound to it, ended, or began to terminate.
	PodEvent time.Time `json:"podEvent,omitzero"`
	// Active is a fingerprint of the pods that were neither ended nor terminating.
	Active uint64 `json:"active"`
}

// history is what is known of all nodes that a look at them does not tell, by name.
type history struct {
	nodes map[string]Past
	dirty bool
	// kept is what Keep returned last, pressing says that who goes on with that would not find out what it lacks.
	kept     map[string]Past
	pressing bool
	// prints are the fingerprints of the pods of the last look.
	prints map[string]print
}

// print is a fingerprint of pods, which are told from others by where they are: nobody changes them.
type print struct {
	pods   []api.PodState
	active uint64
}

// active is the fingerprint of the pods of a node.
func (h *history) active(n *api.NodeState) uint64 {
	last, known := h.prints[n.Name]
	if known && len(last.pods) == len(n.Pods) && (len(n.Pods) == 0 || &last.pods[0] == &n.Pods[0]) {
		return last.active
	}
	if h.prints == nil {
		h.prints = map[string]print{}
	}
	is := print{n.Pods, active(n.Pods)}
	h.prints[n.Name] = is
	return is.active
}

// complete puts into a state what is remembered of the node, and remembers the state.
func (h *history) complete(n *api.NodeState, now time.Time) {
	was, known := h.nodes[n.Name]
	known = known && was.UID == n.UID
	is := Past{UID: n.UID, PodEvent: n.LastPodEvent.Time, Active: h.active(n)}
	if known {
		is.PodEvent = latest(was.PodEvent, is.PodEvent)
		if was.Active != is.Active {
			is.PodEvent = latest(is.PodEvent, now)
		}
	}
	switch {
	case !n.Initialized:
	case !known:
		is.Initialized = n.Since.Time
	case was.Initialized.IsZero():
		is.Initialized = now
	default:
		is.Initialized = was.Initialized
	}
	if !is.Initialized.IsZero() {
		n.Since = metav1.NewTime(is.Initialized)
	}
	if !is.PodEvent.IsZero() {
		n.LastPodEvent = metav1.NewTime(is.PodEvent)
	}
	if !known || !is.equal(was) {
		h.nodes[n.Name], h.dirty = is, true
		h.pressing = h.pressing || h.concealed(n.Name, is)
	}
}

// concealed says that who goes on with what was kept of a node does not find out that it is otherwise: where it finds other
// pods, it counts that as a pod event itself.
func (h *history) concealed(name string, is Past) bool {
	kept, known := h.kept[name]
	return !known || kept.UID != is.UID || !kept.Initialized.Equal(is.Initialized) || kept.Active == is.Active
}

// only forgets the nodes that are not among those named.
func (h *history) only(states []api.NodeState) {
	if len(h.nodes) == len(states) {
		return // complete has just put each of them in
	}
	there := make(map[string]bool, len(states))
	for i := range states {
		there[states[i].Name] = true
	}
	maps.DeleteFunc(h.nodes, func(name string, _ Past) bool { return !there[name] })
	maps.DeleteFunc(h.prints, func(name string, _ print) bool { return !there[name] })
	h.dirty = true
}

func (p Past) equal(o Past) bool {
	return p.UID == o.UID && p.Active == o.Active && p.Initialized.Equal(o.Initialized) && p.PodEvent.Equal(o.PodEvent)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// active is a fingerprint of the pods whose coming and going are pod events that delay consolidation:
// not those of DaemonSets, nor those that ended or are on their way out.
func active(pods []api.PodState) uint64 {
	var uids []string
	for i := range pods {
		p := &pods[i]
		over := p.Terminating || p.Phase == string(corev1.PodSucceeded) || p.Phase == string(corev1.PodFailed)
		if !over && p.Owner != "DaemonSet" {
			uids = append(uids, podKey(p))
		}
	}
	slices.Sort(uids)
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.Join(uids, "\n"))) // never errs
	return h.Sum64()
}
