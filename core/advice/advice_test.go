package advice

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/upgrade"
)

func pool(name string, annotations map[string]string) *api.NodePool {
	return &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
}

func catalog(name, members string) *api.InstanceCatalog {
	c := &api.InstanceCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if members != "" {
		c.Annotations = map[string]string{api.AnnotationMembers: members}
	}
	return c
}

// provisioning has berlin in prod and oslo in test.
func provisioning(catalogs ...*api.InstanceCatalog) *disruption.Provisioning {
	return &disruption.Provisioning{Catalogs: catalogs, Members: map[string]map[string]string{"oslo": {"env": "test"}, "berlin": {"env": "prod"}}}
}

func TestPool(t *testing.T) {
	for _, c := range []struct {
		what         string
		provisioning *disruption.Provisioning
		pool         *api.NodePool
		record       *api.PoolRecord
		want         []string
	}{
		{"of a fleet with prices", provisioning(catalog("all", "")), pool("a", nil), nil, nil},
		{"of nobody", provisioning(catalog("all", "")), pool("a", map[string]string{api.AnnotationMembers: "env=none"}), nil, []string{`no member matches flotilla.io/members "env=none" yet`}},
		{"of a fleet without members", &disruption.Provisioning{}, pool("a", nil), nil, []string{"there is no InstanceCatalog yet: " + unpricedMeans}},
		{"of a fleet without prices", provisioning(), pool("a", nil), nil, []string{"no InstanceCatalog is for berlin, oslo: " + unpricedMeans}},
		{"of which one member has prices", provisioning(catalog("one", "env=prod")), pool("a", nil), nil, []string{"no InstanceCatalog is for oslo: " + unpricedMeans}},
		{
			"of which one has nodes", provisioning(), pool("a", nil),
			&api.PoolRecord{Members: []api.PoolMember{{Member: "berlin"}, {Member: "oslo", Unknown: "away"}}},
			[]string{"no InstanceCatalog is for oslo: " + unpricedMeans},
		},
	} {
		require.Equal(t, c.want, Pool(c.provisioning, c.pool, c.record), c.what)
	}
}

// Pools that share a budget and state another amount for it are named, all of them.
func TestPoolsThatDisagreeAboutABudget(t *testing.T) {
	budget := func(text string) map[string]string { return map[string]string{api.AnnotationFleetBudget: text} }
	m := provisioning(catalog("all", ""))
	m.Pools = []*api.NodePool{pool("a", budget("shared=2")), pool("b", budget("shared=10%")), pool("c", budget("other=3")), pool("d", budget("shared=4"))}
	require.Equal(t, []string{api.AnnotationFleetBudget + ": this pool says shared=2, b says 10%, d says 4; what allows least counts"}, Pool(m, m.Pools[0], nil))
	require.Empty(t, Pool(m, m.Pools[2], nil))
}

func TestPoolChange(t *testing.T) {
	before, after := pool("a", nil), pool("a", nil)
	record := &api.PoolRecord{Members: []api.PoolMember{{Member: "berlin", Nodes: 2}, {Member: "oslo", Nodes: 1}, {Member: "rome"}}}
	require.Empty(t, PoolChange(before, after, record))
	after.Spec.Template.Metadata.Labels = map[string]string{"tier": "web"}
	template := ": of its 3 nodes on 2 members those that carry " + api.AnnotationPoolHash + " drift (NodePoolDrifted) and are replaced, within its budgets"
	require.Equal(t, []string{"its template changes" + template}, PoolChange(before, after, record))
	require.Contains(t, PoolChange(before, after, nil)[0], "of its nodes those", "nothing is known of its nodes")
	require.Empty(t, PoolChange(before, after, &api.PoolRecord{Members: record.Members[2:]}), "it has none")
	require.NotEmpty(t, PoolChange(before, after, &api.PoolRecord{Members: []api.PoolMember{{Member: "rome", Unknown: "away"}}}))
	after = pool("a", nil)
	after.Spec.Template.Spec.Requirements = []api.NodeRequirement{{}}
	require.Equal(t, []string{
		"its requirements change: of its 3 nodes on 2 members those that do not satisfy them drift (RequirementsDrifted) and are replaced, within its budgets",
	}, PoolChange(before, after, record))
}

func TestCatalog(t *testing.T) {
	m := provisioning(catalog("a", "env=prod"), catalog("b", "env=prod"), catalog("c", ""))
	for name, want := range map[string][]string{
		"a": nil, "b": {"no member buys from it: of the catalogs that match a member the first by name counts"}, "c": nil,
	} {
		at := map[string]int{"a": 0, "b": 1, "c": 2}[name]
		require.Equal(t, want, Catalog(m, m.Catalogs[at]), name)
	}
	require.Equal(t, []string{`no member matches flotilla.io/members "env=none" yet`}, Catalog(m, catalog("d", "env=none")))
	require.Empty(t, Catalog(&disruption.Provisioning{}, catalog("d", "")), "there is no member yet")
}

// Pools lose the prices of a catalog where no other is for the member, and where nobody can say for whom.
func TestCatalogGone(t *testing.T) {
	prod, rest := catalog("a", "env=prod"), catalog("z", "env=test")
	m := provisioning(rest)
	m.Pools = []*api.NodePool{pool("x", nil), pool("y", map[string]string{api.AnnotationMembers: "env=test"})}
	require.Equal(t, []string{"NodePool x loses its prices on berlin: " + unpricedMeans}, CatalogGone(m, []*api.InstanceCatalog{prod}, prod))
	pools := m.Pools
	m = provisioning(rest, catalog("all", ""))
	m.Pools = pools
	require.Empty(t, CatalogGone(m, []*api.InstanceCatalog{prod}, prod), "another is for berlin")
	nobody := &disruption.Provisioning{Pools: m.Pools}
	require.Len(t, CatalogGone(nobody, []*api.InstanceCatalog{prod}, prod), 2)
	nobody = &disruption.Provisioning{Pools: pools, Catalogs: m.Catalogs}
	require.Empty(t, CatalogGone(nobody, []*api.InstanceCatalog{prod}, prod))
}

func TestClasses(t *testing.T) {
	ref := &api.NodeClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}
	object := api.ObjectRef{APIVersion: "karpenter.azure.com/v1beta1", Kind: "AKSNodeClass", Name: "default"}
	require.Equal(t, []string{"a", "b"}, Classes{"b": ref, "a": ref, "c": {Kind: "AKSNodeClass", Name: "other"}, "d": nil}.Naming(object))
	require.Equal(t, []string{"changes of it are no drift for NodePool/a, NodePool/b until it is applied again"}, ClassGone([]string{"a", "b"}))
	require.Empty(t, ClassGone(nil))

	p := pool("a", nil)
	held := func(of api.ObjectRef) bool { return of.APIVersion == "karpenter.azure.com/v1" && of.Name == "held" }
	require.Empty(t, ClassMissing(p, held))
	p.Spec.Template.Spec.NodeClassRef = ref
	require.Equal(t, []string{"the hub does not hold AKSNodeClass default: apply it too, or changes of it are not seen as drift"}, ClassMissing(p, held))
	p.Spec.Template.Spec.NodeClassRef = &api.NodeClassRef{APIVersion: "karpenter.azure.com/v1beta1", Kind: "AKSNodeClass", Name: "held"}
	require.Empty(t, ClassMissing(p, held))
}

func TestClassChangeOf(t *testing.T) {
	body := func(family string) []byte {
		return []byte(`{"kind":"AKSNodeClass","spec":{"imageFamily":"` + family + `"}}`)
	}
	object := api.ObjectRef{Kind: "AKSNodeClass", Name: "default"}
	change, notes, err := ClassChangeOf(object, []string{"a"}, body("Ubuntu"), body("Azure"))
	require.NoError(t, err)
	require.NotEqual(t, change.Before, change.After)
	require.Equal(t, "its spec changes: the nodes of NodePool/a drift (NodeClassDrifted) and are replaced, within their budgets", notes[0])
	change, notes, err = ClassChangeOf(object, []string{"a"}, body("Ubuntu"), body("Ubuntu"))
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Equal(t, change.Before, change.After)
	change, notes, err = ClassChangeOf(object, []string{"a"}, nil, body("Ubuntu"))
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Empty(t, change.Before)
}

// Missing prices are told at the pool and at the catalog that lacks them, drift of many nodes at the pool, else at the first
// edit that is no pool.
func TestEffects(t *testing.T) {
	effects := []disruption.Effect{
		{Pool: "a", Nodes: 9, Members: 1, Unlisted: map[string]disruption.Unlisted{"azure": {Nodes: 1, Example: "d2"}}},
		{Pool: "b", Nodes: 9, Members: 1, Drift: map[string]int{"NodePoolDrifted": 3}},
		{Pool: "c", Nodes: 9, Members: 1, Drift: map[string]int{"NodePoolDrifted": 1}},
	}
	ref := func(kind, name string) api.ObjectRef { return api.ObjectRef{Kind: kind, Name: name} }
	tell := func(edits ...api.ObjectRef) (told []string) {
		Effects(effects, edits, func(at api.ObjectRef, note string) { told = append(told, at.String()+": "+note) })
		return told
	}
	unlisted, drift := effects[0].UnlistedNote("azure"), effects[1].DriftNote()
	require.Equal(t, []string{"NodePool/a: " + unlisted, "InstanceCatalog/azure: " + unlisted, "NodePool/b: " + drift},
		tell(ref(api.KindNodePool, "a"), ref(api.KindNodePool, "b"), ref(api.KindInstanceCatalog, "azure")))
	require.Equal(t, []string{"InstanceCatalog/other: " + drift}, tell(ref(api.KindNodePool, "z"), ref(api.KindInstanceCatalog, "other")))
	require.Equal(t, []string{"NodePool/z: " + drift}, tell(ref(api.KindNodePool, "z")))
}

func TestUpgrades(t *testing.T) {
	u := &Upgrades{Strategies: map[string]*api.UpdateStrategy{"waves": {}}, View: upgrade.View{Fleet: upgrade.NewFleet(time.LoadLocation)}}
	require.NoError(t, u.View.Fleet.Set(upgrade.MemberFacts{Name: "berlin"}))
	at := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	profile := func(strategy string) *api.AutoUpgradeProfile {
		return &api.AutoUpgradeProfile{ObjectMeta: named("weekly"), Spec: api.AutoUpgradeProfileSpec{Channel: "Stable", StrategyName: strategy}}
	}
	require.Empty(t, u.Judge(&api.MemberMaintenance{ObjectMeta: named("berlin")}, at))
	require.Equal(t, []string{"there is no member oslo yet"}, u.Judge(&api.MemberMaintenance{ObjectMeta: named("oslo")}, at).Notes)
	require.Empty(t, u.Judge(profile("waves"), at))
	require.Equal(t, []string{"there is no UpdateStrategy none yet: until there is one, no run can be made"}, u.Judge(profile("none"), at).Notes)
	wrong := profile("waves")
	wrong.Spec.Channel = "Sometimes"
	require.Equal(t, api.CodeInvalidArgument, u.Judge(wrong, at).Refusal.Code)
	run := &api.UpdateRun{ObjectMeta: named("spring"), Spec: api.UpdateRunSpec{StrategyName: "none"}}
	require.NotNil(t, u.Judge(run, at).Refusal)
	require.Nil(t, OfNoProfile(run))
	run.Spec.AutoUpgradeProfile = "weekly"
	require.Equal(t, "spec.autoUpgradeProfile", OfNoProfile(run).Faults[0].Path)
	require.Empty(t, u.Judge(&api.VersionCatalog{}, at))
}
