package memory

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target/memory/podspec"
)

// workload reports whether the object runs pods.
func (s *stored) workload() bool {
	switch s.kind() {
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "DaemonSet.apps", "Pod":
		return true
	}
	return false
}

func (s *stored) bare() bool { return s.Object.GetKind() == podspec.KindPod }

// template is what pods of the workload are made from.
func (s *stored) template() *podspec.Template {
	if s.parsed == nil || s.parsedFrom != s.Object {
		s.parsed, s.parsedFrom = podspec.Read(s.Object), s.Object
	}
	return s.parsed
}

func (s *stored) replicas() int64 {
	if s.bare() {
		return 1
	}
	n, ok, err := unstructured.NestedInt64(s.Object.Object, "spec", "replicas")
	if !ok || err != nil {
		return 1
	}
	return max(n, 0)
}
