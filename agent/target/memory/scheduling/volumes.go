package scheduling

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Volumes are what the claims of pods lead to.
type Volumes struct {
	claims  map[string]*corev1.PersistentVolumeClaim // by namespace/name
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
}

// NewVolumes are those of a member.
func NewVolumes(claims []*corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume, classes []*storagev1.StorageClass) *Volumes {
	v := &Volumes{
		claims: map[string]*corev1.PersistentVolumeClaim{}, volumes: map[string]*corev1.PersistentVolume{}, classes: map[string]*storagev1.StorageClass{},
	}
	for _, c := range claims {
		v.claims[c.Namespace+"/"+c.Name] = c
	}
	for _, pv := range volumes {
		v.volumes[pv.Name] = pv
	}
	for _, class := range classes {
		v.classes[class.Name] = class
	}
	return v
}

// Bound is the volume that a claim has, nil for none.
func (v *Volumes) Bound(namespace, claim string) *corev1.PersistentVolume {
	if c := v.claims[namespace+"/"+claim]; c != nil {
		return v.volumes[c.Spec.VolumeName]
	}
	return nil
}

// of are the terms of which a node of a pod must satisfy one, for each volume that says where it can be reached; false
// when a claim is not there.
func (v *Volumes) of(p *Pod) (reach [][]corev1.NodeSelectorTerm, there bool) {
	spec := &p.Template.Pod.Spec
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
		claim := v.claims[p.Namespace+"/"+name]
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
func (v *Volumes) reach(claim *corev1.PersistentVolumeClaim) []corev1.NodeSelectorTerm {
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
