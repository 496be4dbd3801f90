package content

import (
	"strings"

	"flotilla/core/api"
)

// neverGroups are api groups of which nothing leaves the hub.
var neverGroups = map[string]bool{
	api.GroupCluster:      true,
	api.GroupFlotilla:     true,
	"events.k8s.io":       true,
	"coordination.k8s.io": true,
	"metrics.k8s.io":      true,
}

// neverKinds are kinds that only mean something where they were made.
var neverKinds = map[groupKind]bool{
	{"", "Pod"}:  true,
	{"", "Node"}: true,
	{"networking.fleet.azure.com", "ServiceImport"}:         true,
	{"networking.fleet.azure.com", "TrafficManagerProfile"}: true,
	{"networking.fleet.azure.com", "TrafficManagerBackend"}: true,
}

// placeable are the kinds of the placement group that hold what members are to see; all others steer the hub.
var placeable = map[string]bool{api.KindResourceEnvelope: true, api.KindClusterResourceEnvelope: true}

// neverSelected reports whether no object of the kind is ever selected.
func neverSelected(gk groupKind) bool {
	if gk.group == api.GroupPlacement {
		return !placeable[gk.kind]
	}
	return neverGroups[gk.group] || neverKinds[gk]
}

// isReserved reports whether a namespace belongs to Kubernetes or to the fleet, or was reserved. In flotilla-system an agent keeps what it
// knows of its member.
func (x *Index) isReserved(namespace string) bool {
	return x.reserved[namespace] || namespace == "default" || namespace == "flotilla-system" || strings.HasPrefix(namespace, "kube-") || strings.HasPrefix(namespace, "fleet-")
}

// excluded says why an object is never selected whatever its kind, or "" when it may be. The one rule
// that needs another object, Endpoints of a Service, is the Index's.
func excluded(document map[string]any) string {
	ref := RefOf(document)
	metadata, _ := document["metadata"].(map[string]any)
	owners, _ := metadata["ownerReferences"].([]any)
	switch groupKindOf(document) {
	case groupKind{"apps", "ReplicaSet"}, groupKind{"apps", "ControllerRevision"}:
		if len(owners) > 0 {
			return "its owner makes it"
		}
	case groupKind{"", "ConfigMap"}:
		if ref.Name == "kube-root-ca.crt" {
			return "each member publishes its own"
		}
	case groupKind{"", "ServiceAccount"}:
		if ref.Name == "default" {
			return "each namespace has its own"
		}
	case groupKind{"", "Secret"}:
		switch document["type"] {
		case "kubernetes.io/service-account-token":
			return "it belongs to a service account of another cluster"
		case "helm.sh/release.v1":
			return "Helm keeps its books in it"
		}
	case groupKind{"discovery.k8s.io", "EndpointSlice"}:
		if labelsOf(document)["endpointslice.kubernetes.io/managed-by"] != "" {
			return "its controller makes it"
		}
	}
	return ""
}
