package nodes

import (
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/disk"
	"flotilla/core/api"
)

// recollection is what is known of a node that a look at it does not tell.
type recollection struct {
	UID string `json:"uid"`
	// Initialized is since when it is, zero while it is not.
	Initialized time.Time `json:"initialized,omitzero"`
	// PodEvent is when a pod was last bound to it, ended, or began to terminate.
	PodEvent time.Time `json:"podEvent,omitzero"`
	// Active is a fingerprint of the pods that were neither ended nor terminating.
	Active uint64 `json:"active"`
}

// recollections are those of all nodes, by name. They are kept in a file, which may be some seconds
// behind.
type recollections struct {
	path  string
	nodes map[string]recollection
	dirty bool
}

// recall opens the file of the folder. When there is none, or none that can be read, nothing is known;
// the error says why.
func recall(folder string) (*recollections, error) {
	r := &recollections{path: filepath.Join(folder, "seen.json"), nodes: map[string]recollection{}}
	err := disk.Read(r.path, &r.nodes)
	if os.IsNotExist(err) {
		err = nil
	}
	if err != nil || r.nodes == nil {
		r.nodes = map[string]recollection{}
	}
	return r, err
}

// complete puts into a state what is remembered of the node, and remembers the state.
func (r *recollections) complete(n *api.NodeState, now time.Time) {
	was, known := r.nodes[n.Name]
	known = known && was.UID == n.UID
	is := recollection{UID: n.UID, PodEvent: n.LastPodEvent.Time, Active: active(n.Pods)}
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
		r.nodes[n.Name], r.dirty = is, true
	}
}

// only forgets the nodes that are not among those named.
func (r *recollections) only(states []api.NodeState) {
	if len(r.nodes) == len(states) {
		return // complete has just put each of them in
	}
	there := make(map[string]bool, len(states))
	for i := range states {
		there[states[i].Name] = true
	}
	maps.DeleteFunc(r.nodes, func(name string, _ recollection) bool { return !there[name] })
	r.dirty = true
}

// snapshot is what is to be written, nil when the file says it already.
func (r *recollections) snapshot() map[string]recollection {
	if !r.dirty {
		return nil
	}
	r.dirty = false
	return maps.Clone(r.nodes)
}

func (r recollection) equal(o recollection) bool {
	return r.UID == o.UID && r.Active == o.Active && r.Initialized.Equal(o.Initialized) && r.PodEvent.Equal(o.PodEvent)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// active is a fingerprint of the pods whose coming and going are pod events (disruption.md section 5):
// not those of DaemonSets, nor those that ended or are on their way out.
func active(pods []api.PodState) uint64 {
	var uids []string
	for i := range pods {
		p := &pods[i]
		over := p.Terminating || p.Phase == string(corev1.PodSucceeded) || p.Phase == string(corev1.PodFailed)
		if !over && p.Owner != "DaemonSet" {
			uids = append(uids, p.UID+"/"+p.Namespace+"/"+p.Name)
		}
	}
	slices.Sort(uids)
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.Join(uids, "\n"))) // never errs
	return h.Sum64()
}
