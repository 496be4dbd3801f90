package simulatetest

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/sim"
)

// shape is what the pods of one application have in common.
type shape struct {
	app         string
	cpu, memory int64
	key         string // the topology key that it is spread or kept apart by
	apart       bool   // no two pods in one domain, else as even as maxSkew 1 has it
	soft        bool   // as far as that goes
	counts      map[string]int
}

var mixedZones = []string{"z-a", "z-b", "z-c"}

// shapesOf are n applications that all ask for other amounts. Of ten, two are spread over zones or hosts, and
// one keeps its pods apart; a third of those only if that is possible.
func shapesOf(n int, r *sim.Source) []*shape {
	out := make([]*shape, n)
	for i := range out {
		cpu := int64(60 + 3*(i%100) + 100*(i%4))
		s := &shape{app: fmt.Sprintf("app-%03d", i), cpu: cpu, memory: cpu*(3000+int64(r.Below(900)))/1000<<20 + int64(i)<<12, counts: map[string]int{}}
		switch i % 10 {
		case 0:
			s.key = corev1.LabelTopologyZone
		case 4:
			s.key = sim.Pick(r, corev1.LabelHostname, corev1.LabelTopologyZone)
		case 7:
			s.key, s.apart = corev1.LabelHostname, true
		}
		s.soft = s.key != "" && r.Below(3) == 0
		out[i] = s
	}
	return out
}

// allows reports whether one more pod in a domain suits what the shape asks, soft or not.
func (s *shape) allows(node, zone string) bool {
	switch s.key {
	case "":
		return true
	case corev1.LabelHostname:
		return s.counts[node] == 0
	}
	for _, z := range mixedZones {
		if s.counts[zone] > s.counts[z] {
			return false
		}
	}
	return true
}

func (s *shape) take(node, zone string) {
	if s.key == corev1.LabelHostname {
		s.counts[node]++
	} else {
		s.counts[zone]++
	}
}

func (s *shape) pod(name string) api.PodState {
	p := Pod(name, s.cpu, Labelled(s.app))
	p.Requests["memory"] = s.memory
	switch {
	case s.key == "":
	case s.apart && s.soft:
		p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: Selecting(s.app), TopologyKey: s.key}},
		}}}
	case s.apart:
		Apart(s.app, s.key)(&p)
	default:
		SpreadOver(s.key, 1, 0)(&p)
		p.Labels, p.Spread[0].LabelSelector = map[string]string{"app": s.app}, Selecting(s.app)
		if s.soft {
			p.Spread[0].WhenUnsatisfiable = corev1.ScheduleAnyway
		}
	}
	return p
}

// Mixed is a member of n nodes of three sizes in three zones, with pods of so many shapes, which lie as those
// ask; made from a seed. Slack nodes are 25 to 65 % full, packed ones have room for hardly any pod.
func Mixed(n, shapes int, packed bool, seed uint64) *Member {
	r := sim.NewSource(seed)
	all := shapesOf(shapes, r)
	f := &Member{Pools: []*api.NodePool{Pool("default")}, Catalog: evenlyPriced()}
	for i := range n {
		name, zone := fmt.Sprintf("node-%05d", i), mixedZones[i%3]
		node := Node(name, []string{"d4", "d8", "d4", "d16"}[i%4], zone, "default")
		node.Created = metav1.NewTime(Now.Add(-time.Duration(2+i%100) * time.Hour))
		node.Since = node.Created
		cpu, memory := node.Allocatable["cpu"], node.Allocatable["memory"]
		if !packed {
			full := 25 + int64(r.Below(41))
			cpu, memory = cpu*full/100, memory*full/100
		}
		for missed := 0; missed < 200; {
			s := all[r.Below(len(all))]
			if s.cpu > cpu || s.memory > memory || !s.allows(name, zone) {
				missed++
				continue
			}
			missed = 0
			cpu, memory = cpu-s.cpu, memory-s.memory
			s.take(name, zone)
			node.Pods = append(node.Pods, s.pod(fmt.Sprintf("%s-%05d-%d", s.app, i, len(node.Pods))))
		}
		f.Nodes = append(f.Nodes, node)
	}
	return f
}

// evenlyPriced is Catalog with one price of a type in all zones: no node is moved to a cheaper zone.
func evenlyPriced() *api.InstanceCatalog {
	c := Catalog()
	for i := range c.Spec.Types {
		offerings := c.Spec.Types[i].Offerings
		for j := range offerings {
			offerings[j].Price = offerings[0].Price
		}
	}
	return c
}
