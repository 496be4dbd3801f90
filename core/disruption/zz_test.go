package disruption

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestZZ(t *testing.T) {
	for _, packed := range []bool{false, true} {
		s := benchState(2000, packed)
		for i, name := range s.Cluster.Names() {
			n, _ := s.Cluster.Node(name)
			for j := range n.Pods {
				p := &n.Pods[j]
				app := fmt.Sprintf("app-%d", (i*10+j)%200)
				p.Labels = map[string]string{"app": app}
				if j%2 == 0 {
					p.Spread = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selecting(app)}}
				} else {
					apart(app, corev1.LabelHostname)(p)
				}
			}
			s.Cluster.Set(n)
		}
		t0 := time.Now()
		x := NewIndex(s)
		t1 := time.Now()
		for i := range 100 {
			x.simulate([]*inode{x.nodes[i*20]}, true)
		}
		t.Log(packed, "index", t1.Sub(t0), "groups", len(x.groups), "sim", time.Since(t1)/100)
	}
}
