package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/agent/target/memory/podspec"
	"flotilla/core/api"
)

var testNow = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// world is a member on a manual clock with the namespace shop.
func world(t *testing.T, o Options) (*Member, *manualClock) {
	t.Helper()
	clock := &manualClock{now: testNow}
	o.Name, o.Clock = "berlin", clock
	m := New(o)
	create(t, m, shop)
	return m, clock
}

func survey(t *testing.T, m *Member) *target.Survey {
	t.Helper()
	s, err := m.Survey(t.Context())
	require.NoError(t, err)
	return s
}

// where writes every pod with its node, "api-0=a api-1!=b": ! while it ends, ? without a node. Generated
// suffixes are left out.
func where(t *testing.T, m *Member) string {
	t.Helper()
	var out []string
	for _, p := range survey(t, m).Pods {
		name := p.Name
		if o := p.OwnerReferences; len(o) > 0 && o[0].Kind != podspec.KindStatefulSet {
			name = name[:strings.LastIndex(name, "-")]
			if o[0].Kind == podspec.KindReplicaSet && p.Labels["pod-template-hash"] != "" {
				name = strings.TrimSuffix(name, "-"+p.Labels["pod-template-hash"])
			}
		}
		if p.DeletionTimestamp != nil {
			name += "!"
		}
		if p.Spec.NodeName == "" {
			name += "?"
		}
		out = append(out, name+"="+p.Spec.NodeName)
	}
	slices.Sort(out)
	return strings.ReplaceAll(strings.Join(out, " "), "?=", "?")
}

func podNamed(t *testing.T, m *Member, prefix string) *corev1.Pod {
	t.Helper()
	for _, p := range survey(t, m).Pods {
		if strings.HasPrefix(p.Name, prefix) {
			return p
		}
	}
	require.Failf(t, "no pod", "%s in %s", prefix, where(t, m))
	return nil
}

func refOf(p *corev1.Pod) target.PodRef {
	return target.PodRef{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
}

func conditionOf(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

// app is a workload whose pods ask for so much cpu; more is added to their spec.
func app(kind, name string, replicas int, cpu, more string) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, metadata: {name: %s, namespace: shop}, spec: {replicas: %d, template: {
metadata: {labels: {app: %s}}, spec: {%s containers: [{name: c, image: i, resources: {requests: {cpu: %q}}}]}}}}`, kind, name, replicas, name, more, cpu)
}

func TestNodesAsAnAPIServerShowsThem(t *testing.T) {
	m, clock := world(t, Options{Nodes: []target.Node{
		{Name: "own", Capacity: nodes("x")[0].Capacity},
		{
			Name: "pooled", Capacity: nodes("x")[0].Capacity, Zone: "z1", InstanceType: "d4", CapacityType: "spot",
			Template: target.Template{
				NodePool: "general", Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b"}, Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}},
			},
		},
	}})
	seen := survey(t, m).Nodes
	require.Len(t, seen, 2)
	require.Equal(t, map[string]string{corev1.LabelHostname: "own", corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}, seen[0].Labels)
	require.Equal(t, map[string]string{
		corev1.LabelHostname: "pooled", corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", corev1.LabelTopologyZone: "z1", corev1.LabelInstanceTypeStable: "d4",
		api.LabelNodePool: "general", api.LabelCapacityType: "spot", api.LabelRegistered: "true", api.LabelInitialized: "true", "team": "a",
	}, seen[1].Labels)
	require.Equal(t, map[string]string{"note": "b"}, seen[1].Annotations)
	require.Equal(t, []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}, seen[1].Spec.Taints)
	require.NotEqual(t, seen[0].UID, seen[1].UID)
	require.Equal(t, testNow, seen[0].CreationTimestamp.UTC())
	require.EqualValues(t, 110, seen[0].Status.Allocatable.Pods().Value())
	require.Equal(t, "4", seen[0].Status.Capacity.Cpu().String())
	require.Equal(t, "memory://berlin/own", seen[0].Spec.ProviderID)
	require.Equal(t, corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: seconds(testNow),
	}, seen[0].Status.Conditions[0])

	clock.Advance(time.Minute)
	m.SetFaults(faults.Faults{NotReady: []string{"own"}})
	own := survey(t, m).Nodes[0]
	require.Equal(t, corev1.ConditionFalse, own.Status.Conditions[0].Status)
	require.Equal(t, testNow.Add(time.Minute), own.Status.Conditions[0].LastTransitionTime.UTC())
	require.Equal(t, []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}, own.Spec.Taints)
	require.Equal(t, seen[0].UID, own.UID)
	require.Empty(t, seen[0].Spec.Taints, "what was seen does not change")
	create(t, m, app("Deployment", "web", 1, "1", ""))
	require.Equal(t, "web?", where(t, m))
	require.Equal(t, "0/2 nodes are available: untolerated taint k", conditionOf(podNamed(t, m, "web"), corev1.PodScheduled).Message)
	m.SetFaults(faults.Faults{})
	require.Equal(t, "web=own", where(t, m))
	require.Empty(t, survey(t, m).Nodes[0].Spec.Taints)
}

func TestPodsAsAnAPIServerShowsThem(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a", "b"), ReadyAfter: 10 * time.Second})
	create(t, m, app("DaemonSet", "log", 1, "100m", ""))
	create(t, m, app("Deployment", "web", 1, "1", "priorityClassName: high, "))
	create(t, m, app("StatefulSet", "db", 2, "1", ""))
	create(t, m, app("ReplicaSet", "rs", 1, "1", ""))
	create(t, m, "{apiVersion: v1, kind: Pod, metadata: {name: bare, namespace: shop, labels: {app: bare}, annotations: {karpenter.sh/do-not-disrupt: 'true'}}, spec: {nodeName: b, containers: [{name: c, image: i}]}}")
	create(t, m, app("Deployment", "big", 1, "9", ""))
	require.Equal(t, "bare=b big? db-0=a db-1=a log=a log=b rs=b web=a", where(t, m))

	web := podNamed(t, m, "web-")
	require.Regexp(t, `^web-[b-z2-9]{10}-[b-z2-9]{5}$`, web.Name)
	require.Equal(t, web.Labels["pod-template-hash"], strings.Split(web.Name, "-")[1])
	require.Equal(t, "web", web.Labels["app"])
	require.Equal(t, "high", web.Spec.PriorityClassName)
	require.Equal(t, strings.Join(strings.Split(web.Name, "-")[:2], "-"), web.OwnerReferences[0].Name)
	require.Equal(t, podspec.KindReplicaSet, web.OwnerReferences[0].Kind)
	require.True(t, *web.OwnerReferences[0].Controller)
	require.Equal(t, corev1.PodRunning, web.Status.Phase)
	require.Equal(t, testNow, web.Status.StartTime.UTC())
	require.Equal(t, corev1.ConditionTrue, conditionOf(web, corev1.PodScheduled).Status)
	require.Equal(t, corev1.ConditionFalse, conditionOf(web, corev1.PodReady).Status)
	db := podNamed(t, m, "db-1")
	require.Equal(t, podspec.KindStatefulSet, db.OwnerReferences[0].Kind)
	require.Equal(t, "db-1", db.Labels["statefulset.kubernetes.io/pod-name"])
	require.Equal(t, "db-0", podNamed(t, m, "db-0").Labels["statefulset.kubernetes.io/pod-name"])
	require.Equal(t, podspec.KindDaemonSet, podNamed(t, m, "log").OwnerReferences[0].Kind)
	bare := podNamed(t, m, "bare")
	require.Empty(t, bare.OwnerReferences)
	require.Equal(t, map[string]string{"karpenter.sh/do-not-disrupt": "true"}, bare.Annotations)
	live, err := m.Get(t.Context(), api.ObjectRef{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "bare"})
	require.NoError(t, err)
	require.Equal(t, live.GetUID(), bare.UID)
	big := podNamed(t, m, "big")
	require.Equal(t, corev1.PodPending, big.Status.Phase)
	require.Nil(t, big.Status.StartTime)
	require.Equal(t, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "0/2 nodes are available: insufficient cpu", LastTransitionTime: seconds(testNow),
	}, big.Status.Conditions[0])

	clock.Advance(10 * time.Second)
	ready := conditionOf(podNamed(t, m, "web-"), corev1.PodReady)
	require.Equal(t, corev1.ConditionTrue, ready.Status)
	require.Equal(t, testNow.Add(10*time.Second), ready.LastTransitionTime.UTC())
	require.Equal(t, web.UID, podNamed(t, m, "web-").UID)
	web = podNamed(t, m, "web-")
	require.Same(t, web, podNamed(t, m, "web-"), "what did not change is not made anew")
}

func TestSurveysHoldWhatWasApplied(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a"), ReadyAfter: time.Second})
	create(t, m, app("DaemonSet", "log", 1, "100m", ""))
	create(t, m, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: log, namespace: shop}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: log}}}}")
	create(t, m, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}, spec: {volumeName: v1, storageClassName: fast}}")
	create(t, m, "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v1}, spec: {csi: {driver: disk.example.org, volumeHandle: h1}}}")
	create(t, m, "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: disk.example.org}")
	create(t, m, "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: a}, spec: {drivers: [{name: disk.example.org, nodeID: a, allocatable: {count: 2}}]}}")
	create(t, m, app("StatefulSet", "db", 1, "1", "volumes: [{name: d, persistentVolumeClaim: {claimName: data}}], "))
	s := survey(t, m)
	require.Equal(t, []string{"log", "data", "v1", "fast", "a"}, []string{s.DaemonSets[0].Name, s.Claims[0].Name, s.Volumes[0].Name, s.Classes[0].Name, s.CSINodes[0].Name})
	require.Equal(t, map[string]string{"app": "log"}, s.DaemonSets[0].Spec.Template.Labels)
	var spaces []string
	for _, n := range s.Namespaces {
		spaces = append(spaces, n.Labels[corev1.LabelMetadataName])
	}
	require.Equal(t, []string{"default", "kube-node-lease", "kube-public", "kube-system", "shop"}, spaces)
	require.Len(t, s.Attachments, 1)
	require.Equal(t, "a", s.Attachments[0].Spec.NodeName)
	require.Equal(t, "v1", *s.Attachments[0].Spec.Source.PersistentVolumeName)
	require.Zero(t, s.Budgets[0].Status, "its controller did not see it yet")
	clock.Advance(time.Second)
	got := survey(t, m).Budgets[0].Status
	require.Equal(t, []int32{1, 1, 0, 1}, []int32{got.ExpectedPods, got.CurrentHealthy, got.DesiredHealthy, got.DisruptionsAllowed})

	m.SetFaults(faults.Faults{Down: true})
	_, err := m.Survey(t.Context())
	require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
}

func TestScalingDownLosesTheRightPods(t *testing.T) {
	m, _ := world(t, Options{Nodes: nodes("a")})
	web := create(t, m, app("Deployment", "web", 3, "1", ""))
	web = replace(t, m, scaled(web, 5), web)
	first := map[string]bool{}
	require.Equal(t, 1, strings.Count(where(t, m), "?"))
	require.NoError(t, m.DeletePod(t.Context(), refOf(podNamed(t, m, "web")), 0))
	require.Equal(t, 1, strings.Count(where(t, m), "?"), "its successor has its turn")
	for _, p := range survey(t, m).Pods {
		if p.Spec.NodeName != "" {
			first[p.Name] = true
		}
	}
	web = replace(t, m, scaled(web, 4), web)
	require.NotContains(t, where(t, m), "?", "the one that waits goes first, although another is newer")
	newest := podNamed(t, m, "web").Name
	for _, p := range survey(t, m).Pods {
		require.True(t, first[p.Name])
		if m.pods[p.Namespace+"/"+p.Name].UID > m.pods[p.Namespace+"/"+newest].UID {
			newest = p.Name
		}
	}
	web = replace(t, m, scaled(web, 3), web)
	for _, p := range survey(t, m).Pods {
		require.NotEqual(t, newest, p.Name, "the newest goes first")
	}
	replace(t, m, scaled(web, 0), web)
	db := create(t, m, app("StatefulSet", "db", 3, "1", ""))
	replace(t, m, scaled(db, 1), db)
	require.Equal(t, "db-0=a", where(t, m))
}
