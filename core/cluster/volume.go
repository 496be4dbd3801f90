package cluster

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"flotilla/core/api"
)

// Volumes resolves the claims of pods. A nil Volumes knows none and restricts nothing.
type Volumes struct {
	// Claims are by namespace/name, the others by name.
	Claims  map[string]*corev1.PersistentVolumeClaim
	Volumes map[string]*corev1.PersistentVolume
	Classes map[string]*storagev1.StorageClass
}

// of lists the volumes that restrict where a pod can run.
func (v *Volumes) of(p *corev1.Pod) []api.PodVolume {
	if v == nil {
		return nil
	}
	var out []api.PodVolume
	for i := range p.Spec.Volumes {
		s := &p.Spec.Volumes[i]
		switch {
		case s.PersistentVolumeClaim != nil:
			out = append(out, v.claim(p.Namespace, s.PersistentVolumeClaim.ClaimName))
		case s.Ephemeral != nil:
			out = append(out, v.claim(p.Namespace, p.Name+"-"+s.Name))
		}
	}
	return out
}

// claim resolves one claim: a bound one by its volume, one yet to be bound by its storage class.
func (v *Volumes) claim(namespace, name string) api.PodVolume {
	key := namespace + "/" + name
	out := api.PodVolume{Name: key, ID: key}
	c := v.Claims[key]
	if c == nil {
		out.Missing = true
		return out
	}
	if pv := v.Volumes[c.Spec.VolumeName]; pv != nil {
		if a := pv.Spec.NodeAffinity; a != nil && a.Required != nil {
			out.Terms = a.Required.NodeSelectorTerms
		}
		if csi := pv.Spec.CSI; csi != nil {
			out.Driver, out.ID = csi.Driver, csi.VolumeHandle
		}
		return out
	}
	if c.Spec.StorageClassName == nil {
		return out
	}
	class := v.Classes[*c.Spec.StorageClassName]
	if class == nil {
		return out
	}
	out.Driver = class.Provisioner
	for _, t := range class.AllowedTopologies {
		term := corev1.NodeSelectorTerm{}
		for _, e := range t.MatchLabelExpressions {
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: e.Key, Operator: corev1.NodeSelectorOpIn, Values: e.Values})
		}
		out.Terms = append(out.Terms, term)
	}
	return out
}
