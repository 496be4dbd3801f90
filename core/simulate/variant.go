package simulate

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/capacity"
	"flotilla/core/cluster"
)

// Variant is what a pod asks of its node, at one step of dropping soft constraints.
type Variant struct {
	needs       capacity.Needs // with the heaviest preference
	strict      capacity.Needs // without
	tolerations []corev1.Toleration
	own         []*group
	// Softer is the next step, nil when nothing soft is left.
	Softer *Variant
}

// wants are the constraints of a pod while some are being dropped.
type wants struct {
	selector    capacity.Needs
	terms       []capacity.Needs // any of which suffices; tried one after another
	preferred   []capacity.Needs // heaviest first
	affinity    []*corev1.PodAffinityTerm
	softAff     []*corev1.PodAffinityTerm // heaviest first
	anti        []*corev1.PodAffinityTerm
	softAnti    []*corev1.PodAffinityTerm
	spread      []*corev1.TopologySpreadConstraint
	tolerations []corev1.Toleration
	preferTaint bool // PreferNoSchedule may still be tolerated
}

func (x *Index) wantsOf(p *cluster.Pod) *wants {
	s := p.State
	w := &wants{selector: capacity.NeedsOfLabels(s.NodeSelector), tolerations: s.Tolerations, preferTaint: x.preferTaints}
	for i := range s.Volumes {
		w.selector = w.selector.WithAll(volumeNeeds(s.Volumes[i].Terms))
	}
	soft := !x.State.Rules.IgnorePreferences
	if a := s.Affinity; a != nil {
		w.nodeAffinity(a.NodeAffinity, soft)
		if pa := a.PodAffinity; pa != nil {
			w.affinity = pointers(pa.RequiredDuringSchedulingIgnoredDuringExecution)
			w.softAff = weighted(pa.PreferredDuringSchedulingIgnoredDuringExecution, soft)
		}
		if pa := a.PodAntiAffinity; pa != nil {
			w.anti = pointers(pa.RequiredDuringSchedulingIgnoredDuringExecution)
			w.softAnti = weighted(pa.PreferredDuringSchedulingIgnoredDuringExecution, soft)
		}
	}
	for i := range s.Spread {
		if c := &s.Spread[i]; soft || c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			w.spread = append(w.spread, c)
		}
	}
	return w
}

func (w *wants) nodeAffinity(a *corev1.NodeAffinity, soft bool) {
	if a == nil {
		return
	}
	if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		for i := range r.NodeSelectorTerms {
			w.terms = append(w.terms, capacity.NeedsOfTerm(&r.NodeSelectorTerms[i]))
		}
	}
	if !soft {
		return
	}
	preferred := slices.Clone(a.PreferredDuringSchedulingIgnoredDuringExecution)
	slices.SortStableFunc(preferred, func(a, b corev1.PreferredSchedulingTerm) int { return cmp.Compare(b.Weight, a.Weight) })
	for i := range preferred {
		w.preferred = append(w.preferred, capacity.NeedsOfTerm(&preferred[i].Preference))
	}
}

func pointers(terms []corev1.PodAffinityTerm) []*corev1.PodAffinityTerm {
	out := make([]*corev1.PodAffinityTerm, len(terms))
	for i := range terms {
		out[i] = &terms[i]
	}
	return out
}

func weighted(terms []corev1.WeightedPodAffinityTerm, soft bool) []*corev1.PodAffinityTerm {
	if !soft {
		return nil
	}
	sorted := slices.Clone(terms)
	slices.SortStableFunc(sorted, func(a, b corev1.WeightedPodAffinityTerm) int { return cmp.Compare(b.Weight, a.Weight) })
	out := make([]*corev1.PodAffinityTerm, len(sorted))
	for i := range sorted {
		out[i] = &sorted[i].PodAffinityTerm
	}
	return out
}

// volumeNeeds are the labels of the nodes that reach a volume. Several terms about one label are
// joined; of terms that differ in more the first counts, as in Karpenter.
func volumeNeeds(terms []corev1.NodeSelectorTerm) capacity.Needs {
	if len(terms) == 0 {
		return nil
	}
	first := capacity.NeedsOfTerm(&terms[0])
	if len(first) != 1 || first[0].Set.Anything {
		return first
	}
	values := slices.Clone(first[0].Set.Values)
	for i := range terms[1:] {
		other := capacity.NeedsOfTerm(&terms[i+1])
		if len(other) != 1 || other[0].Key != first[0].Key || other[0].Set.Anything {
			return first
		}
		values = append(values, other[0].Set.Values...)
	}
	return capacity.Needs{{Key: first[0].Key, Set: capacity.SetOf("In", values)}}
}

// relax drops the next soft constraint; false when nothing soft is left.
func (w *wants) relax() bool {
	switch {
	case len(w.terms) > 1:
		w.terms = w.terms[1:]
	case len(w.softAff) > 0:
		w.softAff = w.softAff[1:]
	case len(w.softAnti) > 0:
		w.softAnti = w.softAnti[1:]
	case len(w.preferred) > 0:
		w.preferred = w.preferred[1:]
	case slices.ContainsFunc(w.spread, anyway):
		i := slices.IndexFunc(w.spread, anyway)
		w.spread = slices.Delete(slices.Clone(w.spread), i, i+1)
	case w.preferTaint:
		w.preferTaint = false
		w.tolerations = append(slices.Clone(w.tolerations), corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule})
	default:
		return false
	}
	return true
}

func anyway(c *corev1.TopologySpreadConstraint) bool {
	return c.WhenUnsatisfiable == corev1.ScheduleAnyway
}

// variants returns what a pod asks, with every softer step after it.
func (x *Index) variants(p *cluster.Pod) *Variant {
	w := x.wantsOf(p)
	first := x.variant(p, w)
	for last := first; w.relax(); last = last.Softer {
		last.Softer = x.variant(p, w)
	}
	return first
}

func (x *Index) variant(p *cluster.Pod, w *wants) *Variant {
	v := &Variant{strict: w.selector, tolerations: w.tolerations}
	if len(w.terms) > 0 {
		v.strict = v.strict.WithAll(w.terms[0])
	}
	v.needs = v.strict
	if len(w.preferred) > 0 {
		v.needs = v.strict.WithAll(w.preferred[0])
	}
	x.Spend(aPlace + needsCost(len(w.selector), 4))
	for _, c := range w.spread {
		x.Spend(needsCost(len(w.selector), 1+2*len(w.terms)))
		v.own = append(v.own, x.spreadOf(p, c, filterTerms(w)))
	}
	for _, t := range slices.Concat(w.affinity, w.softAff) {
		v.own = append(v.own, x.termGroup(affinityGroup, p, t))
	}
	for _, t := range slices.Concat(w.anti, w.softAnti) {
		v.own = append(v.own, x.termGroup(antiGroup, p, t))
	}
	return v
}

// filterTerms are the nodes that count for a pod's spread: those its selector and one of its required
// terms admit.
func filterTerms(w *wants) []capacity.Needs {
	if len(w.terms) == 0 {
		if len(w.selector) == 0 {
			return nil
		}
		return []capacity.Needs{w.selector}
	}
	out := make([]capacity.Needs, len(w.terms))
	for i, t := range w.terms {
		out[i] = w.selector.WithAll(t)
	}
	return out
}
