package resource

import (
	"cmp"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// Type is one kind and the words for it on the command line.
type Type struct {
	APIVersion string
	Kind       string
	Plural     string
	Short      []string
	Namespaced bool
}

// Versions in which KubeFleet's kinds are asked for.
const (
	PlacementVersion = api.GroupPlacement + "/v1"
	ClusterVersion   = api.GroupCluster + "/v1"
)

// Kinds lists what has words of its own. Any other kind that the hub holds is addressed by its name
// in capitals, "Widget", or "Widget.v1.example.com".
var Kinds = []Type{
	{PlacementVersion, api.KindClusterResourcePlacement, "clusterresourceplacements", []string{"crp", "placements", "placement", "p"}, false},
	{PlacementVersion, api.KindResourcePlacement, "resourceplacements", []string{"rp"}, true},
	{ClusterVersion, api.KindMemberCluster, "memberclusters", []string{"mc", "members", "member"}, false},
	{api.VersionFlotilla, api.KindUpdateRun, "updateruns", []string{"ur", "runs", "run"}, false},
	{api.VersionFlotilla, api.KindUpdateStrategy, "updatestrategies", []string{"us", "strategies", "strategy"}, false},
	{api.VersionFlotilla, api.KindAutoUpgradeProfile, "autoupgradeprofiles", []string{"aup", "profiles", "profile"}, false},
	{api.VersionFlotilla, api.KindVersionCatalog, "versioncatalogs", []string{"vc", "catalogs", "catalog"}, false},
	{api.VersionFlotilla, api.KindMemberMaintenance, "membermaintenances", []string{"mm", "maintenance", "maintenances"}, false},
	{api.VersionFlotilla, api.KindGate, "gates", nil, false},
	{api.GroupKarpenter + "/v1", api.KindNodePool, "nodepools", []string{"np", "pools", "pool"}, false},
	{api.VersionFlotilla, api.KindInstanceCatalog, "instancecatalogs", []string{"ic"}, false},
	{api.VersionFlotilla, api.KindMemberNode, "nodes", []string{"node", "no"}, false},
	{api.VersionFlotilla, api.KindNodeDisruption, "disruptions", []string{"disruption"}, false},
	{"v1", "Namespace", "namespaces", []string{"ns"}, false},
	{"v1", "ConfigMap", "configmaps", []string{"cm"}, true},
	{"v1", "Secret", "secrets", nil, true},
	{"v1", "Service", "services", []string{"svc"}, true},
	{"v1", "ServiceAccount", "serviceaccounts", []string{"sa"}, true},
	{"v1", "PersistentVolumeClaim", "persistentvolumeclaims", []string{"pvc"}, true},
	{"v1", "PersistentVolume", "persistentvolumes", []string{"pv"}, false},
	{"v1", "LimitRange", "limitranges", []string{"limits"}, true},
	{"v1", "ResourceQuota", "resourcequotas", []string{"quota"}, true},
	{"v1", "Endpoints", "endpoints", []string{"ep"}, true},
	{"apps/v1", "Deployment", "deployments", []string{"deploy"}, true},
	{"apps/v1", "StatefulSet", "statefulsets", []string{"sts"}, true},
	{"apps/v1", "DaemonSet", "daemonsets", []string{"ds"}, true},
	{"apps/v1", "ReplicaSet", "replicasets", []string{"rs"}, true},
	{"batch/v1", "Job", "jobs", nil, true},
	{"batch/v1", "CronJob", "cronjobs", []string{"cj"}, true},
	{"autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", []string{"hpa"}, true},
	{"policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", []string{"pdb"}, true},
	{"networking.k8s.io/v1", "Ingress", "ingresses", []string{"ing"}, true},
	{"networking.k8s.io/v1", "IngressClass", "ingressclasses", nil, false},
	{"networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", []string{"netpol"}, true},
	{"rbac.authorization.k8s.io/v1", "Role", "roles", nil, true},
	{"rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", nil, true},
	{"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", nil, false},
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", nil, false},
	{"scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", []string{"pc"}, false},
	{"storage.k8s.io/v1", "StorageClass", "storageclasses", []string{"sc"}, false},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", []string{"crd", "crds"}, false},
}

// Known is a kind that has words of its own.
func Known(kind string) Type {
	return Kinds[slices.IndexFunc(Kinds, func(k Type) bool { return k.Kind == kind })]
}

// words returns every word that names the kind.
func (k *Type) words() []string {
	words := []string{k.Plural}
	if singular := strings.ToLower(k.Kind); singular != k.Plural {
		words = append(words, singular)
	}
	return append(words, k.Short...)
}

// Resource is "placements.group" as kubectl prints it before a slash and a name.
func (k *Type) Resource() string {
	if OnMembers(k.Kind) {
		return ShortWord(k.Kind)
	}
	group, _, found := strings.Cut(k.APIVersion, "/")
	if !found {
		return strings.ToLower(k.Kind)
	}
	return strings.ToLower(k.Kind) + "." + group
}

// ShortWord is the word this command line uses for the kind when it tells the user what to type.
func ShortWord(kind string) string {
	switch kind {
	case api.KindClusterResourcePlacement:
		return "placement"
	case api.KindMemberCluster:
		return "member"
	case api.KindResourcePlacement:
		return "rp"
	case api.KindUpdateRun:
		return "run"
	case api.KindUpdateStrategy:
		return "strategy"
	case api.KindAutoUpgradeProfile:
		return "profile"
	case api.KindVersionCatalog:
		return "catalog"
	case api.KindMemberMaintenance:
		return "maintenance"
	case api.KindMemberNode:
		return "node"
	case api.KindNodeDisruption:
		return "disruption"
	}
	return strings.ToLower(kind)
}

// KindByWord resolves a word of the command line: "placements", "crp", "deployments.apps", or the
// name of any kind in capitals.
func KindByWord(word string) (Type, error) {
	lower := strings.ToLower(word)
	base, group, qualified := strings.Cut(lower, ".")
	for i := range Kinds {
		if !slices.Contains(Kinds[i].words(), base) {
			continue
		}
		if !qualified || strings.HasSuffix(groupVersion(group), GroupOf(Kinds[i].APIVersion)) {
			return Kinds[i], nil
		}
	}
	if k, ok := foreignKind(word); ok {
		return k, nil
	}
	if hint, foreign := elsewhere[base]; foreign {
		return Type{}, session.Usagef("%s", hint)
	}
	var all []string
	for i := range Kinds {
		all = append(all, Kinds[i].words()...)
	}
	return Type{}, session.Usagef("unknown kind %q%s", word, cmp.Or(session.Meant(session.Nearest(base, all)), "; a kind without a word of its own is named in capitals, Widget.v1.example.com"))
}

// elsewhere says where to look for what the hub does not hold as objects.
var elsewhere = map[string]string{
	"event": eventsHint, "events": eventsHint, "ev": eventsHint,
	"pod": podsHint, "pods": podsHint, "po": podsHint,
	"all": "there is no kind all: flotilla get placements,members, or flotilla status",
}

const (
	eventsHint = "events are no objects of the hub: flotilla events, or flotilla events placement/NAME"
	podsHint   = "the hub holds no pods: flotilla describe node/NAME -m MEMBER shows those of a node, kubectl on the member shows all"
)

// foreignKind reads Kind or Kind.version.group.
func foreignKind(word string) (Type, bool) {
	if word == "" || word[0] < 'A' || word[0] > 'Z' {
		return Type{}, false
	}
	kind, rest, _ := strings.Cut(word, ".")
	version, group, grouped := strings.Cut(rest, ".")
	apiVersion := version
	if grouped {
		apiVersion = group + "/" + version
	}
	return Type{APIVersion: apiVersion, Kind: kind, Plural: strings.ToLower(kind), Namespaced: true}, true
}

// KindOfObject returns the row of a kind that an object carries.
func KindOfObject(apiVersion, kind string) Type {
	for i := range Kinds {
		if Kinds[i].Kind == kind && GroupOf(Kinds[i].APIVersion) == GroupOf(apiVersion) {
			k := Kinds[i]
			k.APIVersion = apiVersion
			return k
		}
	}
	return Type{APIVersion: apiVersion, Kind: kind, Plural: strings.ToLower(kind), Namespaced: true}
}

// GroupOf is the group of an apiVersion, "" of the core group.
func GroupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// groupVersion turns "v1.apps" into "apps" and leaves "apps" alone.
func groupVersion(s string) string {
	version, group, found := strings.Cut(s, ".")
	if found && len(version) > 1 && version[0] == 'v' && version[1] >= '0' && version[1] <= '9' {
		return group
	}
	return s
}
