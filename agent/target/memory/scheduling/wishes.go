package scheduling

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

// Granted is how much of what the pod would rather have a node grants.
func (d *Demand) Granted(n *Node) int {
	got := 0
	for _, w := range d.wishes {
		if w.rule(n) {
			got += w.weight
		}
	}
	for _, t := range n.Taints {
		if t.Effect == corev1.TaintEffectPreferNoSchedule && !podspec.Tolerated(d.pod.Template.Pod.Spec.Tolerations, &t) {
			got -= untainted
		}
	}
	return got
}

// Perfect is what a node grants that has all that the pod would rather have.
func (d *Demand) Perfect() int {
	most := 0
	for _, w := range d.wishes {
		most += max(0, w.weight)
	}
	return most
}

func (m *Member) wishes(p *Pod) []wish {
	var out []wish
	if affinity := p.Template.Pod.Spec.Affinity; affinity != nil {
		if at := affinity.NodeAffinity; at != nil {
			for _, t := range at.PreferredDuringSchedulingIgnoredDuringExecution {
				out = append(out, wish{int(t.Weight), func(n *Node) bool { return podspec.Satisfies(t.Preference, n.Name, n.Labels) }})
			}
		}
		if near := affinity.PodAffinity; near != nil {
			for i := range near.PreferredDuringSchedulingIgnoredDuringExecution {
				t := &near.PreferredDuringSchedulingIgnoredDuringExecution[i]
				out = append(out, wish{int(t.Weight), m.near(p, &t.PodAffinityTerm)})
			}
		}
		if away := affinity.PodAntiAffinity; away != nil {
			for i := range away.PreferredDuringSchedulingIgnoredDuringExecution {
				t := &away.PreferredDuringSchedulingIgnoredDuringExecution[i]
				out = append(out, wish{int(t.Weight), m.away(p, &t.PodAffinityTerm)})
			}
		}
	}
	for i := range p.Template.Pod.Spec.TopologySpreadConstraints {
		if c := &p.Template.Pod.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == corev1.ScheduleAnyway {
			out = append(out, wish{spreading, m.spread(p, c)})
		}
	}
	return out
}
