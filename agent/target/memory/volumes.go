package memory

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// volumes are what the claims of pods lead to.
type volumes struct {
	claims  map[string]*corev1.PersistentVolumeClaim // by namespace/name
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
}

func (m *Member) volumes() *volumes {
	v := &volumes{
		claims: map[string]*corev1.PersistentVolumeClaim{}, volumes: map[string]*corev1.PersistentVolume{}, classes: map[string]*storagev1.StorageClass{},
	}
	for _, c := range typed[corev1.PersistentVolumeClaim](m, "PersistentVolumeClaim") {
		v.claims[c.Namespace+"/"+c.Name] = c
	}
	for _, pv := range typed[corev1.PersistentVolume](m, "PersistentVolume") {
		v.volumes[pv.Name] = pv
	}
	for _, class := range typed[storagev1.StorageClass](m, "StorageClass.storage.k8s.io") {
		v.classes[class.Name] = class
	}
	return v
}

// of are the terms of which a node of a pod must satisfy one, for each volume that says where it can be reached; false
// when a claim is not there.
func (v *volumes) of(p *pod) (reach [][]corev1.NodeSelectorTerm, there bool) {
	spec := &p.made.Pod.Spec
	for i := range spec.Volumes {
		name := ""
		switch s := &spec.Volumes[i]; {
		case s.PersistentVolumeClaim != nil:
			name = s.PersistentVolumeClaim.ClaimName
		case s.Ephemeral != nil:
			name = p.Name + "-" + s.Name
		default:
			continue
		}
		claim := v.claims[p.of.Object.GetNamespace()+"/"+name]
		if claim == nil {
			return nil, false
		}
		if terms := v.reach(claim); len(terms) > 0 {
			reach = append(reach, terms)
		}
	}
	return reach, true
}

// reach says where the volume of a claim is, or may come to be.
func (v *volumes) reach(claim *corev1.PersistentVolumeClaim) []corev1.NodeSelectorTerm {
	if pv := v.volumes[claim.Spec.VolumeName]; pv != nil {
		if a := pv.Spec.NodeAffinity; a != nil && a.Required != nil {
			return a.Required.NodeSelectorTerms
		}
		return nil
	}
	if claim.Spec.StorageClassName == nil || v.classes[*claim.Spec.StorageClassName] == nil {
		return nil
	}
	var terms []corev1.NodeSelectorTerm
	for _, allowed := range v.classes[*claim.Spec.StorageClassName].AllowedTopologies {
		term := corev1.NodeSelectorTerm{}
		for _, e := range allowed.MatchLabelExpressions {
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: e.Key, Operator: corev1.NodeSelectorOpIn, Values: e.Values})
		}
		terms = append(terms, term)
	}
	return terms
}
