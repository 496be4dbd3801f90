package validate

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// contentTypes are the kinds of content whose amounts the API servers of members calculate with.
var contentTypes = map[string]map[string]reflect.Type{
	"v1": {
		"Pod": reflect.TypeFor[corev1.Pod](), "PodTemplate": reflect.TypeFor[corev1.PodTemplate](), "ReplicationController": reflect.TypeFor[corev1.ReplicationController](),
		"PersistentVolume": reflect.TypeFor[corev1.PersistentVolume](), "PersistentVolumeClaim": reflect.TypeFor[corev1.PersistentVolumeClaim](),
		"ResourceQuota": reflect.TypeFor[corev1.ResourceQuota](), "LimitRange": reflect.TypeFor[corev1.LimitRange](),
	},
	"apps/v1": {
		"Deployment": reflect.TypeFor[appsv1.Deployment](), "StatefulSet": reflect.TypeFor[appsv1.StatefulSet](),
		"DaemonSet": reflect.TypeFor[appsv1.DaemonSet](), "ReplicaSet": reflect.TypeFor[appsv1.ReplicaSet](),
	},
	"batch/v1":       {"Job": reflect.TypeFor[batchv1.Job](), "CronJob": reflect.TypeFor[batchv1.CronJob]()},
	"autoscaling/v2": {"HorizontalPodAutoscaler": reflect.TypeFor[autoscalingv2.HorizontalPodAutoscaler]()},
	"node.k8s.io/v1": {"RuntimeClass": reflect.TypeFor[nodev1.RuntimeClass]()},
}

// contentQuantities finds the amounts of content that are beyond their bounds.
func contentQuantities(object api.ObjectRef, raw []byte) rules {
	found := newRules()
	var tree map[string]any
	if t := contentTypes[object.APIVersion][object.Kind]; t != nil && kjson.Unmarshal(raw, &tree) == nil {
		found.also(strict.Quantities(t, tree))
	}
	return found
}
