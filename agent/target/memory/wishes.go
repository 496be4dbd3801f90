package memory

import (
	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target/memory/podspec"
)

// wish is what a pod would rather have of its node, and how much; a weight below 0 is what it would rather not have.
type wish struct {
	weight int
	rule   rule
}

// untainted is how much a taint weighs that prefers to have no pods: more than all other wishes.
const untainted = 1 << 20

// spreading is the weight of a spread that is only wished for.
const spreading = 1

// granted is how much of the wishes of a pod a node grants.
func (d *demand) granted(p *pod, n *node) int {
	got := 0
	for _, w := range d.wishes {
		if w.rule(n) {
			got += w.weight
		}
	}
	for _, t := range n.taints {
		if t.Effect == corev1.TaintEffectPreferNoSchedule && !podspec.Tolerated(p.made.Pod.Spec.Tolerations, &t) {
			got -= untainted
		}
	}
	return got
}

func (a *around) wishes(p *pod) []wish {
	var out []wish
	if affinity := p.made.Pod.Spec.Affinity; affinity != nil {
		if at := affinity.NodeAffinity; at != nil {
			for _, t := range at.PreferredDuringSchedulingIgnoredDuringExecution {
				out = append(out, wish{int(t.Weight), func(n *node) bool { return podspec.Satisfies(t.Preference, n.Name, n.Labels) }})
			}
		}
		if near := affinity.PodAffinity; near != nil {
			for i := range near.PreferredDuringSchedulingIgnoredDuringExecution {
				t := &near.PreferredDuringSchedulingIgnoredDuringExecution[i]
				out = append(out, wish{int(t.Weight), a.near(p, &t.PodAffinityTerm)})
			}
		}
		if away := affinity.PodAntiAffinity; away != nil {
			for i := range away.PreferredDuringSchedulingIgnoredDuringExecution {
				t := &away.PreferredDuringSchedulingIgnoredDuringExecution[i]
				out = append(out, wish{int(t.Weight), a.away(p, &t.PodAffinityTerm)})
			}
		}
	}
	for i := range p.made.Pod.Spec.TopologySpreadConstraints {
		if c := &p.made.Pod.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == corev1.ScheduleAnyway {
			out = append(out, wish{spreading, a.spread(p, c)})
		}
	}
	return out
}
