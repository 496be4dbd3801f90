package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReady(t *testing.T) {
	for name, c := range map[string]struct {
		live    string
		want    Readiness
		message string
	}{
		"deployment done": {
			live: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 2}, " +
				"status: {observedGeneration: 2, availableReplicas: 2, updatedReplicas: 2}}",
			want: Available,
		},
		"deployment without replicas wants one": {
			live:    "{apiVersion: apps/v1, kind: Deployment, status: {}}",
			want:    NotYet,
			message: "0 of 1 available, 0 updated",
		},
		"deployment scaled to nothing": {
			live: "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0}}",
			want: Available,
		},
		"deployment not seen by its controller": {
			live:    "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 3}, status: {observedGeneration: 2, availableReplicas: 1, updatedReplicas: 1}}",
			want:    NotYet,
			message: notObserved,
		},
		"deployment with an old replica left says what its controller says": {
			live: "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {availableReplicas: 2, updatedReplicas: 2, unavailableReplicas: 1, " +
				"conditions: [{type: Progressing, status: 'True', message: fine}, {type: Available, status: 'False', message: insufficient cpu}]}}",
			want:    NotYet,
			message: "2 of 2 available: insufficient cpu",
		},
		"stateful set done": {
			live: "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2}, " +
				"status: {availableReplicas: 2, currentReplicas: 2, updatedReplicas: 2, currentRevision: a, updateRevision: a}}",
			want: Available,
		},
		"stateful set between revisions": {
			live: "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2}, " +
				"status: {availableReplicas: 2, currentReplicas: 1, updatedReplicas: 1, currentRevision: a, updateRevision: b}}",
			want:    NotYet,
			message: "2 of 2 available, 1 updated",
		},
		"stateful set with replicas of another revision": {
			live: "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2}, " +
				"status: {availableReplicas: 2, currentReplicas: 1, updatedReplicas: 2, currentRevision: a, updateRevision: a}}",
			want: NotYet, message: "2 of 2 available",
		},
		"stateful set with one that is not available": {
			live: "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2}, " +
				"status: {availableReplicas: 1, currentReplicas: 2, updatedReplicas: 2, currentRevision: a, updateRevision: a}}",
			want: NotYet, message: "1 of 2 available",
		},
		"stateful set not seen by its controller": {
			live: "{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, status: {observedGeneration: 1}}", want: NotYet, message: notObserved,
		},
		"daemon set not seen by its controller": {
			live: "{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}, status: {observedGeneration: 1}}", want: NotYet, message: notObserved,
		},
		"daemon set done": {
			live: "{apiVersion: apps/v1, kind: DaemonSet, status: {desiredNumberScheduled: 3, numberAvailable: 3, currentNumberScheduled: 3, updatedNumberScheduled: 3}}",
			want: Available,
		},
		"daemon set under way": {
			live:    "{apiVersion: apps/v1, kind: DaemonSet, status: {desiredNumberScheduled: 3, numberAvailable: 2, currentNumberScheduled: 3, updatedNumberScheduled: 3}}",
			want:    NotYet,
			message: "2 of 3 available",
		},
		"service":           {live: "{apiVersion: v1, kind: Service, spec: {clusterIP: 10.0.0.1}}", want: Available},
		"headless service":  {live: "{apiVersion: v1, kind: Service, spec: {clusterIP: None}}", want: Available},
		"node port service": {live: "{apiVersion: v1, kind: Service, spec: {type: NodePort}}", want: NotYet, message: "no cluster IP yet"},
		"external name": {
			live: "{apiVersion: v1, kind: Service, spec: {type: ExternalName}}", want: NotTrackable,
			message: "availability of a Service of type ExternalName cannot be tracked",
		},
		"load balancer waiting": {
			live: "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}}", want: NotYet,
			message: "no ingress IP or hostname yet",
		},
		"load balancer": {
			live: "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{hostname: a.example}]}}}", want: Available,
		},
		"budget": {
			live: "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, " +
				"status: {observedGeneration: 1, conditions: [{type: DisruptionAllowed, status: 'False'}]}}",
			want: Available,
		},
		"budget not seen": {
			live: "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}}", want: NotYet,
			message: "allowed disruptions are not computed yet",
		},
		"definition": {
			live: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, " +
				"status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]}}",
			want: Available,
		},
		"definition with a name in use": {
			live: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, " +
				"status: {conditions: [{type: NamesAccepted, status: 'False'}, {type: Established, status: 'True'}]}}",
			want: NotYet, message: "the kind is not established yet",
		},
		"namespace": {live: "{apiVersion: v1, kind: Namespace}", want: Available},
		"role":      {live: "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role}", want: Available},
		"job": {
			live: "{apiVersion: batch/v1, kind: Job}", want: NotTrackable,
			message: "availability of Job.batch cannot be tracked",
		},
		"job under way": {
			live: "{apiVersion: batch/v1, kind: Job, status: {startTime: '2026-11-23T10:00:00Z', active: 1}}", want: Available,
		},
		"job that failed": {
			live: "{apiVersion: batch/v1, kind: Job, spec: {backoffLimit: 1}, status: {startTime: '2026-11-23T10:00:00Z', failed: 2, " +
				"conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: too many}]}}",
			want: NotYet, message: "Job Failed. failed: 2/1",
		},
		"claim that waits": {
			live: "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}", want: NotYet, message: "PVC is not Bound. phase: Pending",
		},
		"claim that is bound": {live: "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}}", want: Available},
		"custom resource that says it is ready": {
			live: "{apiVersion: example.org/v1, kind: Widget, metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}}",
			want: Available,
		},
		"custom resource that says why it is not": {
			live: "{apiVersion: example.org/v1, kind: Widget, status: {conditions: [{type: Ready, status: 'False', reason: NoDisk, message: the disk is full}]}}",
			want: NotYet, message: "the disk is full",
		},
		"custom resource that its controller has not seen": {
			live: "{apiVersion: example.org/v1, kind: Widget, metadata: {generation: 3}, status: {observedGeneration: 2}}",
			want: NotYet, message: "Widget generation is 3, but latest observed generation is 2",
		},
		"custom resource that stalled": {
			live: "{apiVersion: example.org/v1, kind: Widget, status: {conditions: [{type: Stalled, status: 'True', message: gave up}]}}",
			want: NotYet, message: "gave up",
		},
		"custom resource that says nothing": {
			live: "{apiVersion: example.org/v1, kind: Widget, status: {things: 3}}", want: NotTrackable,
			message: "availability of Widget.example.org cannot be tracked",
		},
		"custom resource with a status that is none": {
			live: "{apiVersion: example.org/v1, kind: Widget, status: {observedGeneration: 1, conditions: text}}", want: NotTrackable,
			message: "availability of Widget.example.org cannot be tracked",
		},
		"deployment that may make no pods": {
			live: "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {availableReplicas: 1, updatedReplicas: 2, " +
				"conditions: [{type: Available, status: 'False', message: too few}, " +
				"{type: ReplicaFailure, status: 'True', message: 'pods \"web-x8k\" is forbidden: exceeded quota: q, used: pods=1'}]}}",
			want: NotYet, message: "1 of 2 available: exceeded quota: q, used: pods=1",
		},
		"a service of another group": {
			live: "{apiVersion: serving.knative.dev/v1, kind: Service}", want: NotTrackable,
			message: "availability of Service.serving.knative.dev cannot be tracked",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, message := Ready(object(t, c.live))
			require.Equal(t, c.want, got)
			require.Equal(t, c.message, message)
		})
	}
}
