package memory

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/podspec"
	"flotilla/tests/elsewhen"
)

// full is a member of n nodes with ten plain pods each.
func full(b *testing.B, n int) *Member {
	b.Helper()
	given := make([]target.Node, n)
	for i := range given {
		given[i] = nodes(fmt.Sprintf("n%05d", i))[0]
		given[i].NodePool = "general"
	}
	m := New(Options{Name: "big", Clock: Running(elsewhen.Now), Nodes: given})
	m.Plant(object(b, shop))
	m.Plant(object(b, app("DaemonSet", "log", 1, "10m", "tolerations: [{operator: Exists}], ")))
	for i := range 10 {
		m.Plant(object(b, app("Deployment", fmt.Sprintf("web%d", i), n, "390m", "")))
	}
	return m
}

func BenchmarkMember(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("Fill/%d", n), func(b *testing.B) {
			for b.Loop() {
				full(b, n)
			}
		})
		m := full(b, n)
		b.Run(fmt.Sprintf("Survey/%d", n), func(b *testing.B) {
			for b.Loop() {
				s, err := m.Survey(b.Context())
				require.NoError(b, err)
				require.Len(b, s.Pods, 11*n)
			}
		})
		b.Run(fmt.Sprintf("Finalize/%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				require.NoError(b, m.UpdateNode(b.Context(), "n00042", func(o *corev1.Node) { o.Finalizers = []string{fmt.Sprint(i)} }))
			}
		})
		b.Run(fmt.Sprintf("Taint/%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				require.NoError(b, m.UpdateNode(b.Context(), "n00042", func(o *corev1.Node) {
					o.Spec.Taints = []corev1.Taint{{Key: fmt.Sprint("k", i), Effect: corev1.TaintEffectNoSchedule}}
				}))
			}
		})
		b.Run(fmt.Sprintf("Evict/%d", n), func(b *testing.B) {
			for b.Loop() {
				p := first(b, m)
				require.NoError(b, m.DeletePod(b.Context(), p, 0))
			}
		})
	}
	b.Run("Constrained/1000", func(b *testing.B) {
		m := full(b, 1000)
		m.Plant(object(b, app("StatefulSet", "db", 50, "10m", "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: db}}, topologyKey: kubernetes.io/hostname}]}}, ")))
		for b.Loop() {
			require.NoError(b, m.DeletePod(b.Context(), target.PodRef{Namespace: "shop", Name: "db-7"}, 0))
		}
	})
}

// first is some pod, the same for equal members.
func first(b *testing.B, m *Member) target.PodRef {
	b.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sorted() {
		if s.Object.GetKind() == podspec.KindDeployment {
			return target.PodRef{Namespace: s.Object.GetNamespace(), Name: s.Pods[0].Name}
		}
	}
	b.Fatal("no pods")
	return target.PodRef{}
}
