package api

import "strings"

// clusterScoped lists the kinds of Kubernetes, and of envelopes, that lie outside namespaces, by group.
var clusterScoped = map[string]string{
	"": "ComponentStatus Namespace Node PersistentVolume",
	"admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration " +
		"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
	"apiextensions.k8s.io":         "CustomResourceDefinition",
	"apiregistration.k8s.io":       "APIService",
	"certificates.k8s.io":          "CertificateSigningRequest ClusterTrustBundle",
	"flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
	"networking.k8s.io":            "IPAddress IngressClass ServiceCIDR",
	"node.k8s.io":                  "RuntimeClass",
	GroupPlacement:                 KindClusterResourceEnvelope,
	"rbac.authorization.k8s.io":    "ClusterRole ClusterRoleBinding",
	"resource.k8s.io":              "DeviceClass ResourceSlice",
	"scheduling.k8s.io":            "PriorityClass",
	"storage.k8s.io":               "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
}

// namespaced lists the kinds of Kubernetes, and of envelopes, that lie in namespaces, by group.
var namespaced = map[string]string{
	"": "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota " +
		"Secret Service ServiceAccount",
	"apps":                      "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
	"autoscaling":               "HorizontalPodAutoscaler",
	"batch":                     "CronJob Job",
	"coordination.k8s.io":       "Lease",
	"discovery.k8s.io":          "EndpointSlice",
	"events.k8s.io":             "Event",
	"networking.k8s.io":         "Ingress NetworkPolicy",
	GroupPlacement:              KindResourceEnvelope,
	"policy":                    "PodDisruptionBudget",
	"rbac.authorization.k8s.io": "Role RoleBinding",
	"resource.k8s.io":           "ResourceClaim ResourceClaimTemplate",
	"storage.k8s.io":            "CSIStorageCapacity",
}

// scopes maps "group/Kind" of each kind of Kubernetes itself to whether it lies in a namespace.
var scopes = buildScopes()

func buildScopes() map[string]bool {
	all := make(map[string]bool)
	for inNamespace, table := range map[bool]map[string]string{false: clusterScoped, true: namespaced} {
		for group, kinds := range table {
			for kind := range strings.FieldsSeq(kinds) {
				all[group+"/"+kind] = inNamespace
			}
		}
	}
	return all
}

// KindNamespaced reports whether objects of a kind lie in namespaces. Known is false for kinds that
// Kubernetes does not bring itself: of those only the objects tell.
func KindNamespaced(group, kind string) (inNamespace, known bool) {
	inNamespace, known = scopes[group+"/"+kind]
	return inNamespace, known
}
