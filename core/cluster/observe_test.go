package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
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

// A volume restricts where its pod can run only if it says so.
func TestVolumesThatCanBeAnywhere(t *testing.T) {
	pod := read[corev1.Pod](t, `
metadata: {name: app, namespace: web}
spec: {volumes: [{name: a, persistentVolumeClaim: {claimName: a}}, {name: b, persistentVolumeClaim: {claimName: b}}]}`)
	volumes := &Volumes{
		Claims: map[string]*corev1.PersistentVolumeClaim{
			"web/a": read[corev1.PersistentVolumeClaim](t, `spec: {volumeName: a}`), "web/b": read[corev1.PersistentVolumeClaim](t, `spec: {volumeName: b}`),
		},
		Volumes: map[string]*corev1.PersistentVolume{
			"a": read[corev1.PersistentVolume](t, `spec: {csi: {driver: disk, volumeHandle: h1}}`), "b": read[corev1.PersistentVolume](t, `spec: {nodeAffinity: {}}`),
		},
	}
	require.Equal(t, []api.PodVolume{{Name: "web/a", ID: "h1", Driver: "disk"}, {Name: "web/b", ID: "web/b"}}, ObservePod(pod, volumes).Volumes)
}

// The last a pod did is that it was made, bound, or began to end.
func TestWhenAPodWasLastMoved(t *testing.T) {
	const made = "metadata: {creationTimestamp: \"2026-11-20T11:00:00Z\"%s}\nstatus: {conditions: [{type: PodScheduled, status: %q, lastTransitionTime: \"2026-11-20T%s:00Z\"}]}"
	const ends = `, deletionTimestamp: "2026-11-20T12:00:00Z"`
	for want, text := range map[string]string{
		"11:00": fmt.Sprintf(made, "", "False", "11:10"),
		"11:10": fmt.Sprintf(made, "", "True", "11:10"),
		"11:59": fmt.Sprintf(made, ends+", deletionGracePeriodSeconds: 60", "True", "11:10"),
		"11:20": fmt.Sprintf(made, ends+", deletionGracePeriodSeconds: 3600", "True", "11:20"),
		"11:30": fmt.Sprintf(made, ends, "True", "11:30"),
	} {
		require.Equal(t, want, podEvent(read[corev1.Pod](t, text)).UTC().Format("15:04"), text)
	}
}

func TestCriticalPods(t *testing.T) {
	for class, want := range map[string]bool{"system-cluster-critical": true, "system-node-critical": true, "high": false, "": false} {
		require.Equal(t, want, ObservePod(read[corev1.Pod](t, "spec: {priorityClassName: '"+class+"'}"), nil).Critical, class)
	}
}
