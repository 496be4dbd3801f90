package api

// Words are what a kind is called where people type it.
type Words struct {
	APIVersion string
	Kind       string
	Plural     string
	Short      []string
	Namespaced bool
}

// Versions in which KubeFleet's kinds are asked for.
const (
	PlacementVersion = GroupPlacement + "/v1"
	ClusterVersion   = GroupCluster + "/v1"
	EnvelopeVersion  = GroupPlacement + "/v1beta1"
)

// NamedKinds are the kinds that have words of their own, in the order in which a word that several have means one.
var NamedKinds = []Words{
	{APIVersion: PlacementVersion, Kind: KindClusterResourcePlacement, Plural: "clusterresourceplacements", Short: []string{"crp", "placements", "placement", "p"}},
	{APIVersion: PlacementVersion, Kind: KindResourcePlacement, Plural: "resourceplacements", Short: []string{"rp"}, Namespaced: true},
	{APIVersion: PlacementVersion, Kind: KindClusterResourceOverride, Plural: "clusterresourceoverrides", Short: []string{"cro", "overrides", "override"}},
	{APIVersion: PlacementVersion, Kind: KindResourceOverride, Plural: "resourceoverrides", Short: []string{"ro"}, Namespaced: true},
	{APIVersion: PlacementVersion, Kind: KindEviction, Plural: "clusterresourceplacementevictions", Short: []string{"crpe", "evictions", "eviction"}},
	{APIVersion: PlacementVersion, Kind: KindDisruptionBudget, Plural: "clusterresourceplacementdisruptionbudgets", Short: []string{"crpdb", "disruptionbudgets", "disruptionbudget"}},
	{APIVersion: ClusterVersion, Kind: KindMemberCluster, Plural: "memberclusters", Short: []string{"mc", "members", "member"}},
	{APIVersion: PlacementVersion, Kind: KindClusterStagedUpdateRun, Plural: "clusterstagedupdateruns", Short: []string{"csur", "stagedruns", "stagedrun"}},
	{APIVersion: PlacementVersion, Kind: KindStagedUpdateRun, Plural: "stagedupdateruns", Short: []string{"sur"}, Namespaced: true},
	{APIVersion: PlacementVersion, Kind: KindClusterStagedUpdateStrategy, Plural: "clusterstagedupdatestrategies", Short: []string{"csus"}},
	{APIVersion: PlacementVersion, Kind: KindStagedUpdateStrategy, Plural: "stagedupdatestrategies", Short: []string{"sus"}, Namespaced: true},
	{APIVersion: PlacementVersion, Kind: KindClusterApprovalRequest, Plural: "clusterapprovalrequests", Short: []string{"careq"}},
	{APIVersion: PlacementVersion, Kind: KindApprovalRequest, Plural: "approvalrequests", Short: []string{"areq"}, Namespaced: true},
	{APIVersion: VersionFlotilla, Kind: KindUpdateRun, Plural: "updateruns", Short: []string{"ur", "runs", "run"}},
	{APIVersion: VersionFlotilla, Kind: KindUpdateStrategy, Plural: "updatestrategies", Short: []string{"us", "strategies", "strategy"}},
	{APIVersion: VersionFlotilla, Kind: KindAutoUpgradeProfile, Plural: "autoupgradeprofiles", Short: []string{"aup", "profiles", "profile"}},
	{APIVersion: VersionFlotilla, Kind: KindVersionCatalog, Plural: "versioncatalogs", Short: []string{"vc", "catalogs", "catalog"}},
	{APIVersion: VersionFlotilla, Kind: KindMemberMaintenance, Plural: "membermaintenances", Short: []string{"mm", "maintenance", "maintenances"}},
	{APIVersion: VersionFlotilla, Kind: KindRolloutCheck, Plural: "rolloutchecks", Short: []string{"rc", "checks", "check"}},
	{APIVersion: VersionFlotilla, Kind: KindGate, Plural: "gates"},
	{APIVersion: GroupKarpenter + "/v1", Kind: KindNodePool, Plural: "nodepools", Short: []string{"np", "pools", "pool"}},
	{APIVersion: VersionFlotilla, Kind: KindInstanceCatalog, Plural: "instancecatalogs", Short: []string{"ic"}},
	{APIVersion: VersionFlotilla, Kind: KindMemberNode, Plural: "nodes", Short: []string{"node", "no"}},
	{APIVersion: VersionFlotilla, Kind: KindNodeDisruption, Plural: "disruptions", Short: []string{"disruption"}},
	{APIVersion: EnvelopeVersion, Kind: KindResourceEnvelope, Plural: "resourceenvelopes", Short: []string{"re"}, Namespaced: true},
	{APIVersion: EnvelopeVersion, Kind: KindClusterResourceEnvelope, Plural: "clusterresourceenvelopes", Short: []string{"cre"}},
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
