package disruption

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// seedPool is a NodePool that guides print, as it is applied.
func seedPool(t *testing.T, name string) *api.NodePool {
	t.Helper()
	text, err := os.ReadFile("../validate/testdata/nodepools/" + name + ".yaml")
	require.NoError(t, err)
	raw, err := yaml.YAMLToJSON(text)
	require.NoError(t, err)
	decoded, faults := validate.Decode(raw)
	require.Empty(t, faults)
	return validate.As[api.NodePool](&decoded)
}

// seedLimit is what a pool's budgets allow of so many nodes.
func seedLimit(t *testing.T, name string, now time.Time, total int) capacity.Count {
	t.Helper()
	b := capacity.ParseBudgets(seedPool(t, name).Spec.Budgets(), time.LoadLocation)
	require.NoError(t, b.Err())
	return b.Limit(now, total, api.ReasonUnderutilized, capacity.Rules{})
}

// The numbers that guides state of their examples. 16 November 2026 is a Monday.
func TestNumbersOfGuides(t *testing.T) {
	const unbounded = capacity.Unbounded
	for _, row := range []struct {
		pool  string
		now   time.Time
		total int
		want  capacity.Count
	}{
		// Ten percent at once, and none on weekdays from nine for eight hours.
		{"seed-typical", simulatetest.At(16, 8, 59), 30, 3},
		{"seed-typical", simulatetest.At(16, 9, 0), 30, 0},
		{"seed-typical", simulatetest.At(20, 17, 0).Add(-1), 30, 0},
		{"seed-typical", simulatetest.At(20, 17, 0), 30, 3},
		{"seed-typical", simulatetest.At(21, 12, 0), 31, 4}, // Saturday; percentages round up
		// 20 %, and 5 in the first ten minutes of a day.
		{"fragment-config-whenempty", simulatetest.At(16, 0, 0), 100, 5},
		{"fragment-config-whenempty", simulatetest.At(16, 0, 10).Add(-1), 100, 5},
		{"fragment-config-whenempty", simulatetest.At(16, 0, 10), 100, 20},
		{"fragment-config-whenemptyorunderutilized", simulatetest.At(16, 0, 5), 10, 2},
		{"fragment-config-whenemptyorunderutilized", simulatetest.At(16, 12, 0), 19, 4},
		// 20 %, at most 5, none in the first ten minutes: 5 from 21 nodes on, as 20 % of them rounds up.
		{"seed-budgets", simulatetest.At(16, 12, 0), 20, 4},
		{"seed-budgets", simulatetest.At(16, 12, 0), 21, 5},
		{"seed-budgets", simulatetest.At(16, 12, 0), 25, 5},
		{"seed-budgets", simulatetest.At(16, 12, 0), 26, 5},
		{"seed-budgets", simulatetest.At(16, 0, 0), 26, 0},
		{"seed-budgets", simulatetest.At(16, 0, 10), 26, 5},
		// Without budgets it is one of ten percent.
		{"fragment-empty", simulatetest.At(16, 12, 0), 11, 2},
		{"fragment-underutilized", simulatetest.At(16, 12, 0), 1, 1},
		{"seed-grace", simulatetest.At(16, 12, 0), 0, 0},
		// Office hours alone bound nothing outside of them.
		{"fragment-business-hours", simulatetest.At(16, 9, 0), 30, 0},
		{"fragment-business-hours", simulatetest.At(16, 17, 0), 30, unbounded},
		{"fragment-business-hours", simulatetest.At(21, 9, 0), 30, unbounded},
		// Half of the nodes at weekends beside an always-on zero: never any.
		{"fragment-weekend", simulatetest.At(21, 0, 0), 30, 0},
		{"fragment-weekend", simulatetest.At(22, 23, 59), 30, 0},
		{"fragment-weekend", simulatetest.At(18, 12, 0), 30, 0},
		// One from two, three from four for four hours.
		{"fragment-gradual", simulatetest.At(16, 2, 0), 30, 1},
		{"fragment-gradual", simulatetest.At(16, 4, 0).Add(-1), 30, 1},
		{"fragment-gradual", simulatetest.At(16, 4, 0), 30, 3},
		{"fragment-gradual", simulatetest.At(16, 8, 0).Add(-1), 30, 3},
		{"fragment-gradual", simulatetest.At(16, 8, 0), 30, unbounded},
	} {
		require.Equal(t, row.want, seedLimit(t, row.pool, row.now, row.total), "%s at %s of %d", row.pool, row.now, row.total)
	}
}

// What is left is roundup(total * percentage) less those deleting and those not ready.
func TestAllowedIsWhatIsLeft(t *testing.T) {
	pool := seedPool(t, "fragment-config-whenempty")
	for _, row := range []struct {
		nodes, deleting, notReady int
		want                      capacity.Count
	}{
		{19, 0, 0, 4}, {19, 1, 0, 3}, {19, 0, 2, 2}, {19, 1, 2, 1}, {19, 3, 2, 0}, {25, 2, 0, 3}, {26, 2, 0, 4},
	} {
		f := simulatetest.Member{Pools: []*api.NodePool{pool}}
		for i := range row.nodes {
			n := simulatetest.Node("n"+string(rune('a'+i)), "d2", "z-a", "default", simulatetest.Pod("p", 1900))
			n.Deleting, n.Ready = i < row.deleting, i < row.deleting || i >= row.deleting+row.notReady
			f.Nodes = append(f.Nodes, n)
		}
		require.Equal(t, row.want, Decide(f.State()).Budgets[api.ReasonEmpty]["default"], "%+v", row)
	}
}

// The macros and durations that guides name, and that a schedule and a duration belong together.
func TestSchedulesOfGuides(t *testing.T) {
	budget := func(text string) strict.Faults {
		raw, err := json.Marshal(map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "default"},
			"spec": map[string]any{"disruption": map[string]any{"budgets": []json.RawMessage{json.RawMessage(text)}}},
		})
		require.NoError(t, err)
		_, faults := validate.Decode(raw)
		return faults
	}
	for _, schedule := range []string{"@yearly", "@monthly", "@weekly", "@daily", "@hourly", "0 9 * * 1-5"} {
		for _, duration := range []string{"10h5m", "30m", "160h"} {
			require.Empty(t, budget(`{"nodes":"0","schedule":"`+schedule+`","duration":"`+duration+`"}`))
		}
	}
	require.Equal(t, "spec.disruption.budgets[0].duration", budget(`{"nodes":"0","schedule":"@daily"}`)[0].Path)
	require.Equal(t, "spec.disruption.budgets[0].schedule", budget(`{"nodes":"0","duration":"10m"}`)[0].Path)
}

// How long nodes and their pools wait in the examples.
func TestTimesOfGuides(t *testing.T) {
	for name, want := range map[string][3]string{ // policy, consolidateAfter, expireAfter
		"seed-typical":                             {api.WhenEmptyOrUnderutilized, "30s", "168h"},
		"fragment-expire":                          {api.WhenEmptyOrUnderutilized, "0s", "24h"},
		"fragment-config-whenempty":                {api.WhenEmpty, "30s", api.Never},
		"fragment-config-whenemptyorunderutilized": {api.WhenEmptyOrUnderutilized, "30s", api.Never},
		"fragment-underutilized":                   {api.WhenEmptyOrUnderutilized, "0s", api.Never},
		"fragment-empty":                           {api.WhenEmpty, "30s", "720h"},
		"seed-budgets":                             {api.WhenEmptyOrUnderutilized, "0s", "720h"},
	} {
		spec := &seedPool(t, name).Spec
		require.Equal(t, want, [3]string{spec.Policy(), spec.ConsolidateAfter(), spec.ExpireAfter()}, name)
	}
	evening := simulatetest.At(20, 18, 0)
	decide := func(pool string, age, quiet time.Duration, pods ...api.PodState) Decision {
		n := simulatetest.Node("n1", "d2", "z-a", "default", pods...)
		n.Created, n.LastPodEvent = metav1.NewTime(evening.Add(-age)), metav1.NewTime(evening.Add(-quiet))
		f := simulatetest.Member{Nodes: []*api.NodeState{n}, Pools: []*api.NodePool{seedPool(t, pool)}, Change: func(s *simulate.State) { s.Now = evening }}
		return Decide(f.State())
	}
	require.Contains(t, codes(decide("seed-typical", time.Hour, 29*time.Second), "n1"), CodeQuiet)
	require.Equal(t, "delete [n1] by empty", summary(decide("seed-typical", time.Hour, 30*time.Second)))
	full := func() api.PodState { return simulatetest.Pod("p", 1000) }
	require.Equal(t, "replace [n1] by expired with default/f2[] p>new-0", summary(decide("fragment-expire", 24*time.Hour, time.Second, full())))
	require.NotContains(t, summary(decide("fragment-expire", 24*time.Hour-time.Second, time.Second, full())), "expired")
	require.NotContains(t, summary(decide("fragment-underutilized", 10*365*24*time.Hour, time.Second, full())), "expired")
	require.Equal(t, "none", summary(decide("fragment-empty", time.Hour, time.Hour, full())), "WhenEmpty leaves a node with pods")
	require.Equal(t, "delete [n1] by empty", summary(decide("fragment-empty", time.Hour, time.Hour)))
}

// Thirty seconds of grace end every protection; a pool that is annotated protects all its nodes.
func TestGraceAndProtectionOfGuides(t *testing.T) {
	grace := seedPool(t, "seed-grace")
	held := func(p *api.PodState) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} }
	node := simulatetest.Node("n1", "d2", "z-a", "default", simulatetest.Pod("p", 1000, held, func(p *api.PodState) { p.GraceSeconds = new(int64(600)) }))
	node.TerminationGracePeriod = capacity.NewPool(grace, capacity.NewCatalog(simulatetest.Catalog()), capacity.PoolOptions{}).Template().Template.Spec.TerminationGracePeriod
	deadline := DrainDeadline(node, simulatetest.Now)
	require.Equal(t, simulatetest.Now.Add(30*time.Second), deadline)
	step := Drain(DrainInput{Node: node, Began: simulatetest.Now, Deadline: deadline, Now: simulatetest.Now.Add(time.Second)})
	require.Equal(t, []DrainDelete{{"default/p", 29 * time.Second}}, step.Delete, "it goes before the pod's own ten minutes")

	old := simulatetest.Aged(simulatetest.Node("n1", "d2", "z-a", "default"), 2000)
	old.ProviderDrift = "ImageDrifted"
	d := Decide((&simulatetest.Member{Nodes: []*api.NodeState{old}, Pools: []*api.NodePool{seedPool(t, "seed-pool-protected")}}).State())
	require.Equal(t, "none", summary(d))
	require.Contains(t, codes(d, "n1"), CodePoolProtected)
}

// A wider requirement is no drift, a narrower one is; what only steers is none; a changed class is.
func TestDriftOfGuides(t *testing.T) {
	pool := func(types ...string) *api.NodePool {
		return simulatetest.Pool("a", simulatetest.Requiring(corev1.LabelInstanceTypeStable, "In", types...))
	}
	catalog := &api.InstanceCatalog{}
	for _, name := range []string{"Standard_D2s_v3", "Standard_D4s_v3"} {
		catalog.Spec.Types = append(catalog.Spec.Types, api.InstanceType{Name: name, CPU: "2", Memory: "8Gi", Offerings: []api.InstanceOffering{{Zone: "z-a", CapacityType: api.CapacityOnDemand}}})
	}
	hash := func(class string) string {
		h, err := capacity.ClassHash(json.RawMessage(`{"spec":` + class + `}`))
		require.NoError(t, err)
		return h
	}
	was := pool("Standard_D2s_v3")
	node := simulatetest.Node("n1", "d2", "z-a", "a")
	node.Labels[corev1.LabelInstanceTypeStable] = "Standard_D2s_v3"
	node.Annotations = map[string]string{
		api.AnnotationPoolHash: capacity.PoolHash(was), api.AnnotationPoolHashLevel: capacity.PoolHashLevel, api.AnnotationClassHash: hash(`{"imageFamily":"Ubuntu2204","vnetSubnetID":"/a"}`),
	}
	steered := pool("Standard_D2s_v3")
	steered.Spec.Weight, steered.Spec.Limits = new(int32(50)), map[string]strict.Amount{"cpu": "100"}
	steered.Spec.Disruption = &api.PoolDisruption{ConsolidationPolicy: api.WhenEmpty, ConsolidateAfter: "1h", ExpireAfter: "1h", Budgets: []api.DisruptionBudget{}}
	same := `{"vnetSubnetID":"/a","imageFamily":"Ubuntu2204"}`
	for name, row := range map[string]struct {
		pool        *api.NodePool
		class, want string
	}{
		"as it was":                {was, same, ""},
		"In [D2s] to [D2s, D4s]":   {pool("Standard_D2s_v3", "Standard_D4s_v3"), same, ""},
		"In [D2s] to [D4s]":        {pool("Standard_D4s_v3"), same, DriftRequirements},
		"weight limits disruption": {steered, same, ""},
		"imageFamily":              {was, `{"imageFamily":"AzureLinux","vnetSubnetID":"/a"}`, DriftClass},
		"vnetSubnetID":             {was, `{"imageFamily":"Ubuntu2204","vnetSubnetID":"/b"}`, DriftClass},
	} {
		require.Equal(t, row.want, Drifted(node, capacity.NewPool(row.pool, capacity.NewCatalog(catalog), capacity.PoolOptions{ClassHash: hash(row.class)}), simulatetest.Now, capacity.Rules{}), name)
	}
}
