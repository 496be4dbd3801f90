package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
)

// zoned are nodes a and b in zone z1, c in z2.
func zoned() []target.Node {
	out := nodes("a", "b", "c")
	out[0].Zone, out[1].Zone, out[2].Zone = "z1", "z1", "z2"
	return out
}

// Each table row is a workload that asks for something of its nodes, and where its pods go.
func TestPodsGoWhereTheyMay(t *testing.T) {
	const (
		hard   = "requiredDuringSchedulingIgnoredDuringExecution"
		soft   = "preferredDuringSchedulingIgnoredDuringExecution"
		itself = "labelSelector: {matchLabels: {app: web}}, topologyKey: "
		host   = "kubernetes.io/hostname"
		zone   = "topology.kubernetes.io/zone"
	)
	for name, c := range map[string]struct {
		replicas int
		asks     string
		want     string
		why      string
	}{
		"nothing":             {2, "", "web=a web=a", ""},
		"a selector":          {1, "nodeSelector: {" + zone + ": z2}, ", "web=c", ""},
		"no such node":        {1, "nodeSelector: {disk: ssd}, ", "web?", "3 node selector or affinity not matched"},
		"an affinity":         {1, "affinity: {nodeAffinity: {" + hard + ": {nodeSelectorTerms: [{matchExpressions: [{key: " + zone + ", operator: NotIn, values: [z1]}]}]}}}, ", "web=c", ""},
		"one of two":          {1, "affinity: {nodeAffinity: {" + hard + ": {nodeSelectorTerms: [{matchExpressions: [{key: x, operator: Exists}]}, {matchExpressions: [{key: " + zone + ", operator: In, values: [z2]}]}]}}}, ", "web=c", ""},
		"a preference":        {2, "affinity: {nodeAffinity: {" + soft + ": [{weight: 1, preference: {matchExpressions: [{key: " + zone + ", operator: In, values: [z2]}]}}]}}, ", "web=c web=c", ""},
		"not together":        {4, "affinity: {podAntiAffinity: {" + hard + ": [{" + itself + host + "}]}}, ", "web=a web=b web=c web?", "3 pod affinity or topology spread not satisfied"},
		"rather not together": {4, "affinity: {podAntiAffinity: {" + soft + ": [{weight: 1, podAffinityTerm: {" + itself + host + "}}]}}, ", "web=a web=a web=b web=c", ""},
		"not in one zone":     {3, "affinity: {podAntiAffinity: {" + hard + ": [{" + itself + zone + "}]}}, ", "web=a web=c web?", "3 pod affinity or topology spread not satisfied"},
		"together":            {2, "affinity: {podAffinity: {" + hard + ": [{" + itself + zone + "}]}}, ", "web=a web=a", ""},
		"spread over zones":   {4, "topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, " + itself + zone + "}], ", "web=a web=a web=c web=c", ""},
		"a host port":         {2, "hostPort", "web=a web=b", ""},
		"a missing claim":     {1, "volumes: [{name: v, persistentVolumeClaim: {claimName: none}}], ", "web?", "a volume claim that does not exist"},
		"a volume in a zone":  {1, "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], ", "web=c", ""},
		"too much":            {1, "nodeSelector: {" + zone + ": z1}, big", "web?", "3 insufficient cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := world(t, Options{Nodes: zoned()})
			create(t, m, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}, spec: {volumeName: v1}}")
			create(t, m, "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v1}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "+zone+", operator: In, values: [z2]}]}]}}}}")
			text := app("Deployment", "web", c.replicas, "100m", c.asks)
			switch c.asks {
			case "hostPort":
				text = fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: %d, template: {
spec: {containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 80}]}]}}}}`, c.replicas)
			case "nodeSelector: {" + zone + ": z1}, big":
				text = app("Deployment", "web", 1, "9", "nodeSelector: {"+zone+": z1}, ")
			}
			live := create(t, m, text)
			require.Equal(t, c.want, where(t, m))
			if c.why != "" {
				for _, p := range survey(t, m).Pods {
					if p.Spec.NodeName == "" {
						require.Equal(t, "0/3 nodes are available: "+c.why, conditionOf(p, corev1.PodScheduled).Message)
					}
				}
				_, message := m.census(m.objects[(&stored{Object: live}).id()])
				require.Contains(t, message, "pods wait for room: 3 nodes, "+c.why)
			}
		})
	}
}

// Pods that ask for nothing keep out of the way of those that keep others away, and taints that only
// prefer to have no pods come last.
func TestPlainPodsAreKeptAway(t *testing.T) {
	m, _ := world(t, Options{Nodes: zoned()})
	create(t, m, app("StatefulSet", "alone", 1, "1", "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}]}}, "))
	create(t, m, app("Deployment", "web", 1, "1", ""))
	require.Equal(t, "alone-0=a web=b", where(t, m))
	require.True(t, m.Remove(api.ObjectRef{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "shop", Name: "alone"}))
	require.Zero(t, m.schedule.keepers)
	create(t, m, app("Deployment", "free", 1, "1", ""))
	require.Equal(t, "free=a web=b", where(t, m))
	for _, name := range []string{"a", "b"} {
		require.NoError(t, m.UpdateNode(t.Context(), name, func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}}
		}))
	}
	create(t, m, app("StatefulSet", "more", 3, "2", ""))
	require.Equal(t, "free=a more-0=c more-1=c more-2=a web=b", where(t, m))
}

// The order of nodes: those that are up by name; while a node is on its way out, those launched since
// then; and last those that are not initialized.
func TestOrderOfNodes(t *testing.T) {
	given := nodes("m", "n")
	given[0].NodePool, given[1].NodePool = "general", "general"
	m, clock := world(t, Options{Nodes: given})
	cordon(t, m, "m")
	for _, name := range []string{"a", "b"} {
		l := launch(name)
		l.Taints = nil
		_, err := m.LaunchNode(l)
		require.NoError(t, err)
	}
	clock.Advance(30 * time.Second)
	clock.Advance(20 * time.Second)
	order := func() (out []string) {
		for _, n := range m.inOrder() {
			out = append(out, n.Name)
		}
		return out
	}
	require.Equal(t, []string{"m", "n", "a", "b"}, order())
	create(t, m, app("StatefulSet", "db", 3, "2", ""))
	require.Equal(t, "db-0=n db-1=n db-2?", where(t, m), "nobody registered a and b yet")
	for _, name := range []string{"a", "b"} {
		require.NoError(t, m.UpdateNode(t.Context(), name, func(n *corev1.Node) {
			n.Spec.Taints = nil
			if name == "b" {
				n.Labels[api.LabelInitialized] = "true"
			}
		}))
	}
	require.Equal(t, []string{"m", "n", "b", "a"}, order())
	require.Equal(t, "db-0=n db-1=n db-2=a", where(t, m))
	require.NoError(t, m.DeleteNode(t.Context(), "m", ""))
	require.Equal(t, []string{"b", "n", "a"}, order(), "nothing is on its way out any more")
}

func TestNodesHoldSoManyPodsAndWhatElseTheyHave(t *testing.T) {
	given := nodes("a", "b")
	given[0].Capacity[corev1.ResourcePods] = resource.MustParse("2")
	given[1].Capacity["example.org/gpu"] = resource.MustParse("1")
	m, _ := world(t, Options{Nodes: given})
	create(t, m, app("Deployment", "web", 3, "100m", ""))
	require.Equal(t, "web=a web=a web=b", where(t, m))
	gpu := `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: gpu, namespace: shop}, spec: {replicas: 2, template: {
spec: {containers: [{name: c, image: i, resources: {requests: {example.org/gpu: 1, ephemeral-storage: 1Gi}}}]}}}}`
	live := create(t, m, gpu)
	require.Equal(t, "gpu-0=b gpu-1? web=a web=a web=b", where(t, m))
	require.Equal(t, "0/2 nodes are available: insufficient example.org/gpu", conditionOf(podNamed(t, m, "gpu-1"), corev1.PodScheduled).Message)
	require.Equal(t, "1", requested(t, m, "b", "example.org/gpu"))
	replace(t, m, scaled(live, 0), live)
	require.Equal(t, "0", requested(t, m, "b", "example.org/gpu"))
}

// A pass tries every pod on every node, whatever larger pods had to pass over.
func TestSmallPodsGoWhereLargeOnesCannot(t *testing.T) {
	given := nodes("a", "b")
	given[0].Capacity[corev1.ResourceCPU] = resource.MustParse("2")
	m, _ := world(t, Options{Nodes: given})
	m.SetFaults(faults.Faults{NotReady: []string{"a", "b"}})
	create(t, m, app("Deployment", "big", 1, "3", ""))
	create(t, m, app("Deployment", "small", 2, "1", ""))
	require.Equal(t, "big? small? small?", where(t, m))
	m.SetFaults(faults.Faults{})
	require.Equal(t, "big=b small=a small=a", where(t, m))
}

// What constrained pods see of the member is what it is by now.
func TestConstrainedPodsSeeChanges(t *testing.T) {
	m, clock := world(t, Options{Nodes: zoned()})
	create(t, m, app("Deployment", "web", 3, "1", "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: web}}, topologyKey: topology.kubernetes.io/zone}]}}, "))
	create(t, m, app("Deployment", "ssd", 1, "1", "nodeSelector: {disk: ssd}, "))
	require.Equal(t, "ssd? web=a web=c web?", where(t, m))
	require.NoError(t, m.UpdateNode(t.Context(), "b", func(n *corev1.Node) { n.Labels["disk"] = "ssd" }))
	require.Equal(t, "ssd=b web=a web=c web?", where(t, m))
	require.True(t, m.RemoveNode("c"))
	require.Equal(t, "ssd=b web=a web? web?", where(t, m))
	d := nodes("d")[0]
	d.Zone = "z2"
	m.AddNode(d)
	require.Equal(t, "ssd=b web=a web=d web?", where(t, m), "what ran on a node that is gone is in nobody's way")
	for _, p := range survey(t, m).Pods {
		if p.Spec.NodeName == "a" {
			require.NoError(t, m.Evict(t.Context(), refOf(p)))
		}
	}
	require.Equal(t, "ssd=b web!=a web=d web?", where(t, m))
	clock.Advance(30 * time.Second)
	require.Equal(t, "ssd=b web=a web=d web?", where(t, m))
}

// Daemons run on the nodes that they are for, whatever room there is.
func TestDaemonsRunWhereTheyAreFor(t *testing.T) {
	given := nodes("a", "b", "c")
	given[0].Labels = map[string]string{"disk": "ssd"}
	given[1].Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	for asks, want := range map[string]string{
		"": "log=a log=c", "nodeSelector: {disk: ssd}, ": "log=a", "tolerations: [{operator: Exists}], ": "log=a log=b log=c",
	} {
		m, _ := world(t, Options{Nodes: given})
		create(t, m, app("DaemonSet", "log", 1, "100m", asks))
		require.Equal(t, want, where(t, m))
	}
}
