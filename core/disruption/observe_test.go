package disruption

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
)

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), out))
	return out
}

// A pod takes what its largest moment takes: init containers, sidecars, overhead, a resize.
func TestRequests(t *testing.T) {
	for name, row := range map[string]struct {
		spec string
		want api.Amounts
	}{
		"containers":              {`spec: {containers: [{name: a, resources: {requests: {cpu: 100m, memory: 1Gi}}}, {name: b, resources: {requests: {cpu: 200m, nvidia.com/gpu: 1}}}]}`, api.Amounts{"cpu": 300, "memory": 1 << 30, "nvidia.com/gpu": 1}},
		"a larger init container": {`spec: {initContainers: [{name: i, resources: {requests: {cpu: 500m}}}], containers: [{name: a, resources: {requests: {cpu: 100m}}}]}`, api.Amounts{"cpu": 500}},
		"a sidecar":               {`spec: {initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 50m}}}], containers: [{name: a, resources: {requests: {cpu: 100m}}}]}`, api.Amounts{"cpu": 150}},
		"init beside a sidecar":   {`spec: {initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 50m}}}, {name: i, resources: {requests: {cpu: 120m}}}], containers: [{name: a, resources: {requests: {cpu: 100m}}}]}`, api.Amounts{"cpu": 170}},
		"overhead":                {`spec: {overhead: {cpu: 10m}, containers: [{name: a, resources: {requests: {cpu: 100m}}}]}`, api.Amounts{"cpu": 110}},
		"a resize downwards":      {"spec: {containers: [{name: a, resources: {requests: {cpu: 100m}}}]}\nstatus: {containerStatuses: [{name: a, ready: true, restartCount: 0, image: x, imageID: x, allocatedResources: {cpu: 300m}}]}", api.Amounts{"cpu": 300}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, row.want, Requests(read[corev1.Pod](t, row.spec))) })
	}
}

// A node and its pods as kubectl prints them.
func TestObserveNode(t *testing.T) {
	node := read[corev1.Node](t, `
metadata:
  name: n1
  creationTimestamp: "2026-11-20T10:00:00Z"
  labels: {karpenter.sh/nodepool: default, karpenter.sh/initialized: "true"}
  annotations: {karpenter.sh/do-not-disrupt: "true", other: x}
spec: {unschedulable: true}
status:
  capacity: {cpu: "4", memory: 16Gi, pods: "110"}
  allocatable: {cpu: 3900m, memory: 15Gi, pods: "110"}
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-11-20T10:05:00Z"}]`)
	app := read[corev1.Pod](t, `
metadata:
  name: app
  namespace: web
  creationTimestamp: "2026-11-20T11:00:00Z"
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: app-1, uid: u, controller: true}]
spec:
  priorityClassName: system-cluster-critical
  priority: 5
  containers: [{name: a, ports: [{containerPort: 80, hostPort: 8080}], resources: {requests: {cpu: 100m}}}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}, {name: e, emptyDir: {}}]
status:
  phase: Running
  startTime: "2026-11-20T11:00:05Z"
  conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-11-20T11:00:01Z"}, {type: Ready, status: "False"}]`)
	volumes := &Volumes{
		Claims:  map[string]*corev1.PersistentVolumeClaim{"web/data": read[corev1.PersistentVolumeClaim](t, `spec: {volumeName: pv}`)},
		Volumes: map[string]*corev1.PersistentVolume{"pv": read[corev1.PersistentVolume](t, `spec: {csi: {driver: disk, volumeHandle: h1}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z-a]}]}]}}}`)},
	}
	s := ObserveNode(node, []*corev1.Pod{app}, volumes, map[string]int{"disk": 8})
	require.True(t, s.Managed && s.Initialized && s.Ready)
	require.Equal(t, map[string]string{api.AnnotationDoNotDisrupt: "true"}, s.Annotations)
	require.Equal(t, []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}, s.Taints)
	require.Equal(t, api.Amounts{"cpu": 3900, "memory": 15 << 30, "pods": 110}, s.Allocatable)
	require.Equal(t, "2026-11-20T10:05:00Z", s.Since.UTC().Format(time.RFC3339))
	require.Equal(t, "2026-11-20T11:00:01Z", s.LastPodEvent.UTC().Format(time.RFC3339))
	require.Len(t, s.Pods, 1)
	p := s.Pods[0]
	require.Equal(t, []any{"ReplicaSet", "app-1", true, true, int32(5)}, []any{p.Owner, p.OwnerName, p.Critical, p.NotReady, p.Priority})
	require.Equal(t, []api.HostPort{{Port: 8080}}, p.Ports)
	require.Len(t, p.Volumes, 1)
	require.Equal(t, "h1", p.Volumes[0].ID)
	require.Equal(t, 8, s.AttachLimits["disk"])
}

// Claims that are not bound take the topology of their class; those that do not exist are missing.
func TestVolumeClaims(t *testing.T) {
	v := &Volumes{
		Claims:  map[string]*corev1.PersistentVolumeClaim{"web/data": read[corev1.PersistentVolumeClaim](t, `spec: {storageClassName: fast}`)},
		Classes: map[string]*storagev1.StorageClass{"fast": read[storagev1.StorageClass](t, `{provisioner: disk, allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [z-a, z-b]}]}]}`)},
	}
	fast := v.claim("web", "data")
	require.Equal(t, "disk", fast.Driver)
	require.Equal(t, needs{{corev1.LabelTopologyZone, setOf("In", []string{"z-a", "z-b"})}}, volumeNeeds(fast.Terms))
	require.True(t, v.claim("web", "other").Missing)
	require.Nil(t, (*Volumes)(nil).of(&corev1.Pod{}))
}

func TestProvisionable(t *testing.T) {
	pending := `status: {conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}`
	for text, want := range map[string]bool{
		pending: true,
		`status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}`: false,
		"spec: {nodeName: n}\n" + pending: false,
		`status: {nominatedNodeName: n, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}`:           false,
		"metadata: {ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u, controller: true}]}\n" + pending: false,
	} {
		require.Equal(t, want, Provisionable(read[corev1.Pod](t, text)), text)
	}
}

func TestObserveBudget(t *testing.T) {
	b := ObserveBudget(read[policyv1.PodDisruptionBudget](t, `{metadata: {name: b, namespace: web}, spec: {maxUnavailable: 0%, selector: {matchLabels: {app: x}}, unhealthyPodEvictionPolicy: AlwaysAllow}, status: {disruptionsAllowed: 1, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0}}`))
	parsed := newPodBudget(&b)
	require.Equal(t, "web/b", parsed.name)
	require.True(t, parsed.full && parsed.alwaysAllow)
	require.Equal(t, 1, parsed.allowed)
}

func TestNodeClass(t *testing.T) {
	class := func(spec string) []byte {
		raw, err := yaml.YAMLToJSON([]byte("apiVersion: karpenter.azure.com/v1beta1\nkind: AKSNodeClass\nmetadata: {name: default}\nspec: " + spec))
		require.NoError(t, err)
		return raw
	}
	hash := func(raw []byte) string {
		h, err := ClassHash(raw)
		require.NoError(t, err)
		return h
	}
	base := class(`{imageFamily: Ubuntu, vnetSubnetID: /a}`)
	require.Equal(t, hash(base), hash([]byte(`{"spec":{"vnetSubnetID":"/a", "imageFamily":"Ubuntu"},"metadata":{"name":"x"}}`)))
	require.NotEqual(t, hash(base), hash(class(`{imageFamily: AzureLinux, vnetSubnetID: /a}`)))
	require.Empty(t, ClassNotes(base, class(`{imageFamily: AzureLinux, vnetSubnetID: /a}`)))
	require.Contains(t, ClassNotes(base, class(`{vnetSubnetID: /b}`))[0], "moving between valid subnets is unsupported")
	_, err := ClassHash([]byte("x"))
	require.Error(t, err)
}

// A pod costs at most 2 KB, what its event brought included.
func TestMemoryOfPods(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	c := NewCluster()
	for i := range 500 {
		c.Set(benchNode(i, false))
	}
	perPod := (heap() - before) / uint64(c.Pods())
	require.Equal(t, 5000, c.Pods())
	require.Less(t, perPod, uint64(2048))
	t.Logf("%d bytes a pod", perPod)
	require.Equal(t, 500, c.Len())
}
