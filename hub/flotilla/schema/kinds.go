package schema

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"flotilla/core/api"
	"flotilla/core/validate"
)

// kind is one kind of documents.
type kind struct {
	versions []string // apiVersions, newest first
	of       reflect.Type
	readOnly bool
}

var ownVersions = []string{api.VersionFlotilla}

// kinds are those that Flotilla gives a meaning to, and those of Kubernetes that have words of their own.
var kinds = map[string]kind{
	api.KindMemberNode:     {ownVersions, reflect.TypeFor[api.MemberNode](), true},
	api.KindNodeDisruption: {ownVersions, reflect.TypeFor[api.NodeDisruption](), true},

	"Namespace":               {[]string{"v1"}, reflect.TypeFor[corev1.Namespace](), false},
	"ConfigMap":               {[]string{"v1"}, reflect.TypeFor[corev1.ConfigMap](), false},
	"Secret":                  {[]string{"v1"}, reflect.TypeFor[corev1.Secret](), false},
	"Service":                 {[]string{"v1"}, reflect.TypeFor[corev1.Service](), false},
	"ServiceAccount":          {[]string{"v1"}, reflect.TypeFor[corev1.ServiceAccount](), false},
	"PersistentVolumeClaim":   {[]string{"v1"}, reflect.TypeFor[corev1.PersistentVolumeClaim](), false},
	"PersistentVolume":        {[]string{"v1"}, reflect.TypeFor[corev1.PersistentVolume](), false},
	"LimitRange":              {[]string{"v1"}, reflect.TypeFor[corev1.LimitRange](), false},
	"ResourceQuota":           {[]string{"v1"}, reflect.TypeFor[corev1.ResourceQuota](), false},
	"Endpoints":               {[]string{"v1"}, reflect.TypeFor[corev1.Endpoints](), false}, //nolint:staticcheck // members still hold them
	"Deployment":              {[]string{"apps/v1"}, reflect.TypeFor[appsv1.Deployment](), false},
	"StatefulSet":             {[]string{"apps/v1"}, reflect.TypeFor[appsv1.StatefulSet](), false},
	"DaemonSet":               {[]string{"apps/v1"}, reflect.TypeFor[appsv1.DaemonSet](), false},
	"ReplicaSet":              {[]string{"apps/v1"}, reflect.TypeFor[appsv1.ReplicaSet](), false},
	"Job":                     {[]string{"batch/v1"}, reflect.TypeFor[batchv1.Job](), false},
	"CronJob":                 {[]string{"batch/v1"}, reflect.TypeFor[batchv1.CronJob](), false},
	"HorizontalPodAutoscaler": {[]string{"autoscaling/v2"}, reflect.TypeFor[autoscalingv2.HorizontalPodAutoscaler](), false},
	"PodDisruptionBudget":     {[]string{"policy/v1"}, reflect.TypeFor[policyv1.PodDisruptionBudget](), false},
	"Ingress":                 {[]string{"networking.k8s.io/v1"}, reflect.TypeFor[networkingv1.Ingress](), false},
	"IngressClass":            {[]string{"networking.k8s.io/v1"}, reflect.TypeFor[networkingv1.IngressClass](), false},
	"NetworkPolicy":           {[]string{"networking.k8s.io/v1"}, reflect.TypeFor[networkingv1.NetworkPolicy](), false},
	"Role":                    {[]string{"rbac.authorization.k8s.io/v1"}, reflect.TypeFor[rbacv1.Role](), false},
	"RoleBinding":             {[]string{"rbac.authorization.k8s.io/v1"}, reflect.TypeFor[rbacv1.RoleBinding](), false},
	"ClusterRole":             {[]string{"rbac.authorization.k8s.io/v1"}, reflect.TypeFor[rbacv1.ClusterRole](), false},
	"ClusterRoleBinding":      {[]string{"rbac.authorization.k8s.io/v1"}, reflect.TypeFor[rbacv1.ClusterRoleBinding](), false},
	"PriorityClass":           {[]string{"scheduling.k8s.io/v1"}, reflect.TypeFor[schedulingv1.PriorityClass](), false},
	"StorageClass":            {[]string{"storage.k8s.io/v1"}, reflect.TypeFor[storagev1.StorageClass](), false},
}

func init() {
	for name, k := range validate.Kinds() {
		kinds[name] = kind{k.Versions(), k.Type, name == api.KindGate}
	}
	pool := kinds[api.KindNodePool]
	pool.of = reflect.TypeFor[poolWithStatus]()
	kinds[api.KindNodePool] = pool
}

// poolWithStatus is a NodePool as the hub shows it.
type poolWithStatus struct {
	api.NodePool `json:",inline"`
	Status       *api.NodePoolStatus `json:"status,omitempty"`
}

// meta are the fields of metadata that a document may have; what else the hub sets is ignored.
type meta struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Known reports whether the kind can be described.
func Known(name string) bool { _, known := kinds[name]; return known }

// Root is the whole of a kind.
func Root(name string) Field {
	k := kinds[name]
	return Field{Name: name, Type: "Object", Text: below(name), of: k.of, kind: name, versions: k.versions}
}

// Versions are the apiVersions of a root.
func (f Field) Versions() []string { return f.versions }

// TypeID tells types from each other.
func (f Field) TypeID() string { return element(f.of).String() }
