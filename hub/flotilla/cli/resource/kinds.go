package resource

import (
	"cmp"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// Type is one kind: the words for it on the command line, and what is done with its objects next.
type Type struct {
	APIVersion string
	Kind       string
	Plural     string
	Short      []string
	Namespaced bool
	// Word is the one that is typed in hints, the kind in small letters where it is empty; and List lists objects, Plural
	// where it is empty.
	Word, List string
	// Applied and Described are what to type, behind "flotilla", once an object was applied or described.
	Applied, Described func(Ref) string
}

// Versions in which KubeFleet's kinds are asked for.
const (
	PlacementVersion = api.GroupPlacement + "/v1"
	ClusterVersion   = api.GroupCluster + "/v1"
	EnvelopeVersion  = api.GroupPlacement + "/v1beta1"
)

// Kinds lists what has words of its own. Any other kind that the hub holds is addressed by its name
// in capitals, "Widget", or "Widget.v1.example.com".
var Kinds = []Type{
	{
		APIVersion: PlacementVersion, Kind: api.KindClusterResourcePlacement, Plural: "clusterresourceplacements", Short: []string{"crp", "placements", "placement", "p"},
		Word: "placement", List: "placements", Applied: rollout, Described: why,
	},
	{
		APIVersion: PlacementVersion, Kind: api.KindResourcePlacement, Plural: "resourceplacements", Short: []string{"rp"}, Namespaced: true,
		Word: "rp", List: "rp", Applied: rollout, Described: why,
	},
	{
		APIVersion: PlacementVersion, Kind: api.KindClusterResourceOverride, Plural: "clusterresourceoverrides", Short: []string{"cro", "overrides", "override"},
		Word: "override", Applied: always("get placements"),
	},
	{
		APIVersion: PlacementVersion, Kind: api.KindResourceOverride, Plural: "resourceoverrides", Short: []string{"ro"}, Namespaced: true,
		Word: "ro", Applied: always("get placements"),
	},
	{
		APIVersion: ClusterVersion, Kind: api.KindMemberCluster, Plural: "memberclusters", Short: []string{"mc", "members", "member"},
		Word: "member", List: "members", Applied: always("get members"), Described: named("events --member"),
	},
	{
		APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Plural: "updateruns", Short: []string{"ur", "runs", "run"},
		Word: "run", Applied: named("run start"), Described: named("run status"),
	},
	{
		APIVersion: api.VersionFlotilla, Kind: api.KindUpdateStrategy, Plural: "updatestrategies", Short: []string{"us", "strategies", "strategy"},
		Word: "strategy", Applied: always("run create --help"), Described: always("run create --help"),
	},
	{
		APIVersion: api.VersionFlotilla, Kind: api.KindAutoUpgradeProfile, Plural: "autoupgradeprofiles", Short: []string{"aup", "profiles", "profile"},
		Word: "profile", Applied: always("get autoupgradeprofiles"), Described: named("run generate"),
	},
	{
		APIVersion: api.VersionFlotilla, Kind: api.KindVersionCatalog, Plural: "versioncatalogs", Short: []string{"vc", "catalogs", "catalog"},
		Word: "catalog", Applied: always("get versioncatalogs"),
	},
	{
		APIVersion: api.VersionFlotilla, Kind: api.KindMemberMaintenance, Plural: "membermaintenances", Short: []string{"mm", "maintenance", "maintenances"},
		Word: "maintenance", Applied: named("windows"), Described: named("windows"),
	},
	{APIVersion: api.VersionFlotilla, Kind: api.KindGate, Plural: "gates"},
	{
		APIVersion: api.GroupKarpenter + "/v1", Kind: api.KindNodePool, Plural: "nodepools", Short: []string{"np", "pools", "pool"},
		Applied: always("plan nodes"), Described: named("budgets"),
	},
	{
		APIVersion: api.VersionFlotilla, Kind: api.KindInstanceCatalog, Plural: "instancecatalogs", Short: []string{"ic"},
		Applied: always("plan nodes"),
	},
	{
		APIVersion: api.VersionFlotilla, Kind: api.KindMemberNode, Plural: "nodes", Short: []string{"node", "no"},
		Word: "node", Described: onMember("plan nodes"),
	},
	{
		APIVersion: api.VersionFlotilla, Kind: api.KindNodeDisruption, Plural: "disruptions", Short: []string{"disruption"},
		Word: "disruption", Described: onMember("get disruptions"),
	},
	{APIVersion: EnvelopeVersion, Kind: api.KindResourceEnvelope, Plural: "resourceenvelopes", Short: []string{"re"}, Namespaced: true},
	{APIVersion: EnvelopeVersion, Kind: api.KindClusterResourceEnvelope, Plural: "clusterresourceenvelopes", Short: []string{"cre"}},
	{APIVersion: "v1", Kind: "Namespace", Plural: "namespaces", Short: []string{"ns"}},
	{APIVersion: "v1", Kind: "ConfigMap", Plural: "configmaps", Short: []string{"cm"}, Namespaced: true},
	{APIVersion: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true},
	{APIVersion: "v1", Kind: "Service", Plural: "services", Short: []string{"svc"}, Namespaced: true},
	{APIVersion: "v1", Kind: "ServiceAccount", Plural: "serviceaccounts", Short: []string{"sa"}, Namespaced: true},
	{APIVersion: "v1", Kind: "PersistentVolumeClaim", Plural: "persistentvolumeclaims", Short: []string{"pvc"}, Namespaced: true},
	{APIVersion: "v1", Kind: "PersistentVolume", Plural: "persistentvolumes", Short: []string{"pv"}},
	{APIVersion: "v1", Kind: "LimitRange", Plural: "limitranges", Short: []string{"limits"}, Namespaced: true},
	{APIVersion: "v1", Kind: "ResourceQuota", Plural: "resourcequotas", Short: []string{"quota"}, Namespaced: true},
	{APIVersion: "v1", Kind: "Endpoints", Plural: "endpoints", Short: []string{"ep"}, Namespaced: true},
	{APIVersion: "apps/v1", Kind: "Deployment", Plural: "deployments", Short: []string{"deploy"}, Namespaced: true},
	{APIVersion: "apps/v1", Kind: "StatefulSet", Plural: "statefulsets", Short: []string{"sts"}, Namespaced: true},
	{APIVersion: "apps/v1", Kind: "DaemonSet", Plural: "daemonsets", Short: []string{"ds"}, Namespaced: true},
	{APIVersion: "apps/v1", Kind: "ReplicaSet", Plural: "replicasets", Short: []string{"rs"}, Namespaced: true},
	{APIVersion: "batch/v1", Kind: "Job", Plural: "jobs", Namespaced: true},
	{APIVersion: "batch/v1", Kind: "CronJob", Plural: "cronjobs", Short: []string{"cj"}, Namespaced: true},
	{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler", Plural: "horizontalpodautoscalers", Short: []string{"hpa"}, Namespaced: true},
	{APIVersion: "policy/v1", Kind: "PodDisruptionBudget", Plural: "poddisruptionbudgets", Short: []string{"pdb"}, Namespaced: true},
	{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Plural: "ingresses", Short: []string{"ing"}, Namespaced: true},
	{APIVersion: "networking.k8s.io/v1", Kind: "IngressClass", Plural: "ingressclasses"},
	{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy", Plural: "networkpolicies", Short: []string{"netpol"}, Namespaced: true},
	{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role", Plural: "roles", Namespaced: true},
	{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding", Plural: "rolebindings", Namespaced: true},
	{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Plural: "clusterroles"},
	{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding", Plural: "clusterrolebindings"},
	{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass", Plural: "priorityclasses", Short: []string{"pc"}},
	{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass", Plural: "storageclasses", Short: []string{"sc"}},
	{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Plural: "customresourcedefinitions", Short: []string{"crd", "crds"}},
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
		return k.word()
	}
	group, _, found := strings.Cut(k.APIVersion, "/")
	if !found {
		return strings.ToLower(k.Kind)
	}
	return strings.ToLower(k.Kind) + "." + group
}

// word is the one that this command line uses for the kind when it tells the user what to type.
func (k *Type) word() string { return cmp.Or(k.Word, strings.ToLower(k.Kind)) }

// ShortWord is that of a kind of any group.
func ShortWord(kind string) string {
	k := Type{Kind: kind}
	if i := slices.IndexFunc(Kinds, func(known Type) bool { return known.Kind == kind }); i >= 0 {
		k = Kinds[i]
	}
	return k.word()
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
