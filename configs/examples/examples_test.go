package examples_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/configs"
	"flotilla/configs/examples"
	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

func text(t *testing.T, name string) []byte {
	t.Helper()
	out, err := fs.ReadFile(examples.Files, name)
	require.NoError(t, err)
	return out
}

func documents(t *testing.T, name string) []configs.Document {
	t.Helper()
	docs, err := configs.Parse(name, text(t, name))
	require.NoError(t, err)
	require.NotEmpty(t, docs)
	return docs
}

// decode reads the one document of a file.
func decode(t *testing.T, name string) (validate.Decoded, strict.Faults) {
	t.Helper()
	docs := documents(t, name)
	require.Len(t, docs, 1)
	return validate.Decode(docs[0].JSON)
}

func names(t *testing.T, pattern string) []string {
	t.Helper()
	out, err := fs.Glob(examples.Files, pattern)
	require.NoError(t, err)
	require.NotEmpty(t, out)
	return out
}

func TestEveryExampleIsAcceptedWithoutARemark(t *testing.T) {
	seen := map[string]string{}
	for _, name := range names(t, "*.yaml") {
		for _, d := range documents(t, name) {
			decoded, faults := validate.Decode(d.JSON)
			require.NoError(t, faults.Err(), d.Where())
			require.Empty(t, decoded.Notes, d.Where())
			require.Empty(t, decoded.DropServerSet(), d.Where())
			require.Equal(t, validate.Known(decoded.Object.APIVersion, decoded.Object.Kind), !decoded.IsContent(), d.Where())
			ref := decoded.Object.String()
			require.Empty(t, seen[ref], "%s stands in %s too", ref, name)
			seen[ref] = name
		}
	}
}

func TestEveryPlacementHasContentOfItsOwn(t *testing.T) {
	workloads := map[string]int{}
	for _, name := range names(t, "content-*.yaml") {
		space := strings.TrimSuffix(strings.TrimPrefix(name, "content-"), ".yaml")
		for i, d := range documents(t, name) {
			decoded, _ := validate.Decode(d.JSON)
			if i == 0 {
				require.Equal(t, "Namespace/"+space, decoded.Object.String())
				continue
			}
			require.Equal(t, space, decoded.Object.Namespace, d.Where())
			if kind := decoded.Object.Kind; kind == "Deployment" || kind == "DaemonSet" {
				workloads[space]++
			}
		}
	}
	placed := map[string]bool{}
	for _, name := range append(names(t, "000-*.yaml"), names(t, "004-*.yaml")...) {
		decoded, _ := decode(t, name)
		require.NotNil(t, validate.As[api.Placement](&decoded), name)
		require.Len(t, validate.As[api.Placement](&decoded).Spec.ResourceSelectors, 1)
		space := validate.As[api.Placement](&decoded).Spec.ResourceSelectors[0].Name
		require.Positive(t, workloads[space], "%s places namespace %s, which holds no workload", name, space)
		require.False(t, placed[space], "two examples place namespace %s", space)
		placed[space] = true
	}
	require.Len(t, placed, len(workloads))
}

// seeds maps each complete YAML of the tutorials, as they print it, to its example.
var seeds = map[string]string{
	"000-1": "000-pickall-node-count.yaml",
	"000-2": "000-pickall-region-node-count.yaml",
	"000-3": "000-pickn-node-count-sorter.yaml",
	"000-4": "000-pickn-prod-cpu-sorter.yaml",
	"004-1": "004-pickfixed.yaml",
	"004-2": "004-pickall-production.yaml",
	"004-3": "refused/004-pickn-affinity.yaml",
	"004-4": "refused/004-pickn-spread.yaml",
	"004-5": "004-pickall-node-count.yaml",
	"004-6": "004-rolling-update.yaml",
}

func TestExamplesAreTheTutorialsButForTheirDots(t *testing.T) {
	for _, seed := range seedNames(t) {
		t.Run(seed, func(t *testing.T) {
			require.Contains(t, seeds, seed)
			want, got := generic(t, seedDocument(t, seed).JSON), generic(t, documents(t, seeds[seed])[0].JSON)
			want["metadata"].(map[string]any)["name"] = got["metadata"].(map[string]any)["name"]
			fillDots(want, got)
			require.Equal(t, want, got)
		})
	}
	require.Len(t, seedNames(t), len(seeds))
}

func seedNames(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("testdata/seeds")
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

func seedDocument(t *testing.T, seed string) configs.Document {
	t.Helper()
	file, err := os.ReadFile("testdata/seeds/" + seed + ".yaml")
	require.NoError(t, err)
	docs, err := configs.Parse(seed, file)
	require.NoError(t, err)
	require.Len(t, docs, 1)
	return docs[0]
}

func generic(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// fillDots puts into want, where it says "...", what got says there.
func fillDots(want, got any) {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for key, value := range w {
			if value == "..." {
				w[key] = g[key]
				continue
			}
			fillDots(value, g[key])
		}
	case []any:
		g, _ := got.([]any)
		for i := range w {
			if i >= len(g) {
				return
			}
			if w[i] == "..." {
				w[i] = g[i]
				continue
			}
			fillDots(w[i], g[i])
		}
	}
}

const preferred = "spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution"

var affinityFaults = []strict.Fault{
	{
		Kind: strict.FaultType, Path: preferred, Found: "a map (weight, preference)", Expected: "a list, each item a map with weight, preference",
		Fix: `preferredDuringSchedulingIgnoredDuringExecution:
- weight: 20
  preference:
    labelSelector:
      matchLabels:
        critical-level: "1"`,
	},
	{
		Kind: strict.FaultType, Path: preferred + "[0].preference", Found: "a list of 1",
		Expected: "a map with labelSelector, propertySelector, propertySorter, metricSorter, not a list",
		Fix: `preference:
  labelSelector:
    matchLabels:
      critical-level: "1"`,
	},
	{
		Kind: strict.FaultType, Path: preferred + "[0].preference.labelSelector.matchLabels.critical-level", Found: "number 1",
		Expected: `a string, "1"`, Fix: `critical-level: "1"`,
	},
}

var spreadFault = strict.Fault{
	Kind: strict.FaultMissing, Path: "spec.policy.numberOfClusters", Found: "nothing",
	Expected: "the number of members wanted, 0 or more, because placementType is PickN",
	Fix:      "numberOfClusters: 2 # choose how many members you want",
}

func of(object string, faults ...strict.Fault) strict.Faults {
	out := append(strict.Faults{}, faults...)
	for i := range out {
		out[i].Object = object
	}
	return out
}

func TestRefusedFormsAreCorrectedIntoTheExamples(t *testing.T) {
	refused, faults := decode(t, "refused/004-pickn-affinity.yaml")
	require.Equal(t, of("ClusterResourcePlacement/crp-pickn-01", affinityFaults...), faults)
	require.Equal(t, accepted(t, "004-pickn-affinity.yaml"), reread(t, refused.Corrected))

	refused, faults = decode(t, "refused/004-pickn-spread.yaml")
	require.Equal(t, of("ClusterResourcePlacement/crp-pickn-02", spreadFault), faults)
	want, got := accepted(t, "004-pickn-spread.yaml"), reread(t, refused.Corrected)
	require.Equal(t, int32(2), *got.Spec.Policy.NumberOfClusters)
	got.Spec.Policy.NumberOfClusters = want.Spec.Policy.NumberOfClusters
	require.Equal(t, want, got)
}

func TestTutorialsAsPrintedNameTheirDotsToo(t *testing.T) {
	dots := strict.Fault{
		Kind: strict.FaultType, Path: "spec.resourceSelectors[0]", Found: `"..."`,
		Expected: "a map with group, version, kind, name, labelSelector, selectionScope",
	}
	decoded, faults := validate.Decode(seedDocument(t, "004-3").JSON)
	require.Equal(t, of("ClusterResourcePlacement/crp-pickn-01", append([]strict.Fault{dots}, affinityFaults...)...), faults)
	require.Empty(t, decoded.Corrected, "nobody knows what the dots stand for")
	_, faults = validate.Decode(seedDocument(t, "004-4").JSON)
	require.Equal(t, of("ClusterResourcePlacement/crp-pickn-02", dots, spreadFault), faults)
}

func accepted(t *testing.T, name string) *api.Placement {
	t.Helper()
	decoded, faults := decode(t, name)
	require.NoError(t, faults.Err())
	return validate.As[api.Placement](&decoded)
}

func reread(t *testing.T, corrected string) *api.Placement {
	t.Helper()
	docs, err := configs.Parse("corrected", []byte(corrected))
	require.NoError(t, err)
	require.Len(t, docs, 1)
	decoded, faults := validate.Decode(docs[0].JSON)
	require.NoError(t, faults.Err())
	return validate.As[api.Placement](&decoded)
}

// member gathers what the files say of one member.
type member struct {
	spec, exported *api.MemberCluster
	agent          configs.Agent
}

func members(t *testing.T) map[string]*member {
	t.Helper()
	all := map[string]*member{}
	for _, d := range documents(t, "members.yaml") {
		decoded, _ := validate.Decode(d.JSON)
		all[decoded.Object.Name] = &member{spec: validate.As[api.MemberCluster](&decoded)}
	}
	for _, d := range documents(t, "fleet/members.yaml") {
		decoded, faults := validate.Decode(d.JSON)
		require.NoError(t, faults.Err(), d.Where())
		require.Contains(t, all, decoded.Object.Name)
		all[decoded.Object.Name].exported = validate.As[api.MemberCluster](&decoded)
	}
	for _, name := range names(t, "agents/*.yaml") {
		agent, err := configs.LoadAgent(name, text(t, name))
		require.NoError(t, err)
		require.Equal(t, agent.Member+".yaml", path.Base(name))
		require.Contains(t, all, agent.Member)
		all[agent.Member].agent = agent
	}
	require.Len(t, all, 8)
	return all
}

func TestFilesOfOneMemberAgree(t *testing.T) {
	for name, m := range members(t) {
		t.Run(name, func(t *testing.T) {
			require.NotNil(t, m.exported)
			require.Equal(t, m.spec.Spec.Taints, m.exported.Spec.Taints)
			require.Equal(t, m.spec.Labels, m.agent.Labels)
			want := m.agent.AllLabels()
			want[api.LabelMemberName] = name
			require.Equal(t, want, m.exported.Labels)

			nodes := m.agent.Target.Memory.Nodes
			require.Len(t, nodes, 1)
			require.Equal(t, m.spec.Labels["zone"], nodes[0].Zone)
			require.Equal(t, json.Number(m.exported.Status.Properties[api.PropertyNodeCount].Value), json.Number(jsonOf(t, nodes[0].Count)))
			for of, each := range map[string]string{"cpu": nodes[0].CPU, "memory": nodes[0].Memory} {
				total := resource.MustParse(each)
				total.Mul(int64(nodes[0].Count))
				usage := m.exported.Status.ResourceUsage
				require.Zero(t, total.Cmp(resource.MustParse(usage.Capacity[of])), of)
				allocatable, available := resource.MustParse(usage.Allocatable[of]), resource.MustParse(usage.Available[of])
				require.Negative(t, allocatable.Cmp(total), of)
				require.Negative(t, available.Cmp(allocatable), of)
			}
		})
	}
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	require.NoError(t, err)
	return string(out)
}

func TestFleetHasWhatTheExamplesAskFor(t *testing.T) {
	all := members(t)
	require.Contains(t, all, "cluster1")
	require.Contains(t, all, "cluster2")
	tainted, east, production, critical, prod := 0, 0, 0, 0, 0
	for _, m := range all {
		tainted += len(m.spec.Spec.Taints)
		for label, count := range map[string]*int{
			"region=east": &east, "environment=production": &production, "critical-allowed=true": &critical, "env=prod": &prod,
		} {
			key, value, _ := strings.Cut(label, "=")
			if m.spec.Labels[key] == value {
				*count++
			}
		}
	}
	require.Equal(t, 1, tainted)
	require.GreaterOrEqual(t, east, 2)
	require.GreaterOrEqual(t, production, 3)
	require.GreaterOrEqual(t, critical, 4)
	require.GreaterOrEqual(t, prod, 3)
}

func TestEveryExampleIsListed(t *testing.T) {
	listed, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, pattern := range []string{"*.yaml", "fleet/*.yaml", "nodes/*.yaml", "refused/*.yaml", "upgrades/*.yaml"} {
		for _, name := range names(t, pattern) {
			require.Contains(t, string(listed), "| "+name+" |")
		}
	}
	for _, name := range append(names(t, "000-*.yaml"), names(t, "004-*.yaml")...) {
		decoded, _ := decode(t, name)
		content := "content-" + validate.As[api.Placement](&decoded).Spec.ResourceSelectors[0].Name + ".yaml"
		require.Contains(t, string(listed), "| "+decoded.Object.Name+" | "+name+" | "+content+" |")
	}
}
