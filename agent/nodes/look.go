package nodes

import (
	"cmp"
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/cluster"
)

// look is the member at one moment, laid out for carrying out. It is shared and must not be changed.
type look struct {
	nodes    map[string]*corev1.Node
	pods     map[string][]*corev1.Pod // by node
	machines map[string]*corev1.Node  // by provider id
	launched map[string]*corev1.Node  // by the name of the launch that they are annotated with
	volumes  *cluster.Volumes
	attached map[string][]string // what is attached to each node, as api.PodVolume.ID
	claimed  map[string]bool     // nodes whose NodeClaims have Karpenter's hash
}

func newLook(s *target.Survey) *look {
	l := &look{
		nodes: map[string]*corev1.Node{}, machines: map[string]*corev1.Node{}, launched: map[string]*corev1.Node{},
		pods: map[string][]*corev1.Pod{}, attached: map[string][]string{},
	}
	for _, n := range s.Nodes {
		l.nodes[n.Name] = n
		if n.Spec.ProviderID != "" {
			l.machines[n.Spec.ProviderID] = n
		}
		if name := n.Annotations[api.AnnotationLaunch]; name != "" {
			l.launched[name] = n
		}
	}
	for _, p := range s.Pods {
		if p.Spec.NodeName != "" {
			l.pods[p.Spec.NodeName] = append(l.pods[p.Spec.NodeName], p)
		}
	}
	l.claimed = cluster.Claimed(s.Nodes, s.NodeClaims)
	l.volumes = listing(s).Resolve()
	for _, a := range s.Attachments {
		l.attached[a.Spec.NodeName] = append(l.attached[a.Spec.NodeName], l.volume(a))
	}
	return l
}

// volume is what pods call the volume of an attachment.
func (l *look) volume(a *storagev1.VolumeAttachment) string {
	source := &a.Spec.Source
	if in := source.InlineVolumeSpec; in != nil && in.CSI != nil {
		return in.CSI.VolumeHandle
	}
	if source.PersistentVolumeName == nil {
		return a.Name
	}
	pv := l.volumes.Volumes[*source.PersistentVolumeName]
	switch {
	case pv == nil:
		return *source.PersistentVolumeName
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.VolumeHandle
	case pv.Spec.ClaimRef != nil:
		return pv.Spec.ClaimRef.Namespace + "/" + pv.Spec.ClaimRef.Name
	}
	return pv.Name
}

// made is the node that a launch brought about, nil while there is none. It may be there before the
// provider's answer is: then it shows by its own name or annotation. That of another launch is not it,
// though it has the name or the machine that was used before.
func (l *look) made(one *launch) *corev1.Node {
	m := one.machine()
	for _, n := range []*corev1.Node{l.nodes[m.Node], l.machines[m.ProviderID], l.launched[m.Launch], l.nodes[m.Launch]} {
		if n != nil && cmp.Or(n.Annotations[api.AnnotationLaunch], m.Launch) == m.Launch {
			return n
		}
	}
	return nil
}

// looker surveys the member when something changed on it, once for all who ask.
type looker struct {
	target target.Nodes
	now    func() time.Time

	mu   sync.Mutex
	last *look
	at   time.Time

	spoiling sync.Mutex
	spoilt   bool
}

// lookAge is how old a look may be when nothing is known to have changed: changes may be missed.
const lookAge = time.Second

func newLooker(t target.Nodes, now func() time.Time) *looker {
	return &looker{target: t, now: now}
}

// spoil makes the next look a new one.
func (l *looker) spoil() {
	l.spoiling.Lock()
	defer l.spoiling.Unlock()
	l.spoilt = true
}

// taken reports whether the last look is spoilt, and takes notice of it.
func (l *looker) taken() bool {
	l.spoiling.Lock()
	defer l.spoiling.Unlock()
	was := l.spoilt
	l.spoilt = false
	return was
}

// look is the member as it is now, or was when nothing is known to have changed since.
func (l *looker) look(ctx context.Context) (*look, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.taken() && l.last != nil && l.now().Sub(l.at) < lookAge {
		return l.last, nil
	}
	at := l.now()
	s, err := l.target.Survey(ctx)
	if err != nil {
		l.spoil()
		return nil, err
	}
	l.last, l.at = newLook(s), at
	return l.last, nil
}
