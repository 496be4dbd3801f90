package clitest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"flotilla/core/api"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Now is the moment of fixtures.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ObjectsOf reads objects from documents of YAML.
func ObjectsOf(t *testing.T, documents ...string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, text := range documents {
		body, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		obj := &unstructured.Unstructured{}
		require.NoError(t, obj.UnmarshalJSON(body))
		objects = append(objects, obj)
	}
	return objects
}

// Berlin is a member that is Ready.
const Berlin = `
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: berlin, creationTimestamp: "2026-03-01T09:00:00Z", labels: {region: eu}}
spec: {taints: [{key: flotilla.io/cordoned, effect: NoSchedule}, {key: gpu, value: a100, effect: NoSchedule}]}
status:
  state: Ready
  kubernetesVersion: v1.33.1
  agentVersion: v0.2.0
  nodes: 9
  placed: 3
  labels: {region: eu, ring: "1", kubernetes-fleet.io/member-name: berlin}
  properties: {kubernetes-fleet.io/node-count: {value: "7"}}
  resourceUsage: {available: {cpu: 14050m, memory: 55398Mi}}
  agentStatus: [{type: MemberAgent, lastReceivedHeartbeat: "2026-03-01T11:59:48Z"}]
  credentials: {state: Valid, ends: "2026-03-30T13:00:00Z"}
`

// Oslo is a member that is cordoned and Unknown.
const Oslo = `
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: oslo}
status: {state: Joining, nodes: 2}
`

// Web is a placement that goes to some members.
const Web = `
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web, generation: 3, creationTimestamp: "2026-02-27T12:00:00Z"}
spec: {policy: {placementType: PickN, numberOfClusters: 4}}
status:
  observedResourceIndex: "2"
  observedGeneration: 3
  counts: {want: 4, picked: 4, current: 3, applied: 3, available: 2, failed: 1, drifted: 0}
  rollout: {snapshot: 2, heldUpTotal: 1, message: "held up by lyon: Deployment shop/cart 0 of 2 available"}
  conditions:
  - {type: ClusterResourcePlacementScheduled, status: "True", observedGeneration: 3}
  - {type: ClusterResourcePlacementRolloutStarted, status: "False", observedGeneration: 3, reason: RolloutNotStartedYet, message: one waits}
`

// Everywhere is a placement that goes to all members.
const Everywhere = `
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: everywhere, generation: 1, creationTimestamp: "2026-03-01T11:59:00Z"}
status:
  observedGeneration: 1
  counts: {want: -1, picked: 2, current: 2, applied: 2, available: 2, failed: 0, drifted: 0}
  conditions:
  - {type: ClusterResourcePlacementScheduled, status: "True", observedGeneration: 1}
  - {type: ClusterResourcePlacementAvailable, status: "True", observedGeneration: 1}
`

// ObjectOf is a value as the hub shows it.
func ObjectOf(t *testing.T, value any, kind, name string) *unstructured.Unstructured {
	t.Helper()
	body, err := json.Marshal(value)
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal(body, &obj.Object))
	obj.SetAPIVersion(api.VersionFlotilla)
	obj.SetKind(kind)
	obj.SetName(name)
	return obj
}

// SpringRun is a run in its second stage of three, with every kind of row.
func SpringRun(t *testing.T) *api.UpdateRun {
	t.Helper()
	var run api.UpdateRun
	require.NoError(t, yaml.UnmarshalStrict([]byte(`
metadata: {name: spring}
spec: {upgrade: {type: Full, kubernetesVersion: "1.31"}}
status:
  run: spring
  status: {state: Running, startTime: "2026-03-01T10:00:00Z"}
  failureCount: 1
  members: 6
  finished: 3
  resolvedKubernetesVersion: 1.31.2
  stages:
  - name: canary
    status: {state: Completed}
    maxConcurrency: 50
    groups:
    - name: canary
      status: {state: Completed}
      maxConcurrency: 1
      members:
      - {name: oslo, attempt: 1, message: upgraded, status: {state: Completed, startTime: "2026-03-01T10:00:00Z", completedTime: "2026-03-01T10:12:00Z"}}
    afterStageWaitStatus: {waitDurationInSeconds: 600, status: {state: Completed}}
  - name: prod
    status: {state: Running}
    maxConcurrency: 4
    maxAllowedFailures: 2
    failureCount: 1
    beforeGates: [{type: Approval, displayName: owners, status: {state: Completed}}]
    groups:
    - name: eu
      status: {state: Running}
      maxConcurrency: 2
      maxAllowedFailures: 2
      failureCount: 1
      members:
      - {name: berlin, attempt: 2, windowClass: 1, fromVersion: 1.30.5, toVersion: 1.31.2, message: 40 % done, status: {state: Running, startTime: "2026-03-01T11:45:00Z"}}
      - {name: dublin, attempt: 1, windowClass: 3, reason: UpgradeFailed, message: no quorum, status: {state: Failed}}
      - {name: lyon, skippedBy: User, reason: SkippedByUser, message: a user skipped the member, status: {state: Skipped}}
      - {name: paris, attempt: 0, windowClass: 4, reason: MaintenanceWindowClosed, nextEligibleTime: "2026-03-02T01:00:00Z", message: "its maintenance window opens at 2026-03-02T01:00:00Z (Mon 02:00 CET)", status: {state: Pending}}
  - name: rest
    status: {state: NotStarted}
    maxConcurrency: 1
    beforeGates: [{type: ScheduledStart, scheduledStart: {startDay: Wednesday, startTime: "02:00", utcOffset: "+01:00"}, absoluteStartTime: "2026-03-04T01:00:00Z", status: {state: Pending}}]
    groups:
    - name: rest
      status: {state: NotStarted}
      maxConcurrency: 1
      members: [{name: tampa, attempt: 0, status: {state: NotStarted}}]
`), &run))
	return &run
}

// Answering is a hub that answers from a table of verbs.
type Answering map[string]func(request any) (any, error)

// Call answers a verb.
func (h Answering) Call(_ context.Context, verb string, request, response any) error {
	answer, err := h[verb](request)
	if err != nil {
		return err
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, response)
}

// Close does nothing.
func (Answering) Close() {}

// CordonedNode is a node that waits for its disruption.
const CordonedNode = `
apiVersion: flotilla.io/v1alpha1
kind: MemberNode
metadata: {name: n1, creationTimestamp: "2026-03-01T09:00:00Z"}
spec: {member: berlin, nodePool: a, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}
status:
  {state: Disrupting, phase: Draining, disruption: x, instanceType: d2, zone: z-a, capacityType: spot, price: 0.1, pods: 3,
   requested: {cpu: 1250, memory: 1073741824}, allocatable: {cpu: 3900, memory: 17179869184}, verdict: {code: Queued, message: it goes}}
`
