package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/strict"
)

func poolOf(t *testing.T, text string) (*api.NodePool, []string, strict.Faults) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	d, faults := Decode(raw)
	return As[api.NodePool](&d), d.Notes, faults
}

const poolHead = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\n"

// A pool with faults that have an obvious correction comes back corrected, whole.
func TestCorrectedNodePool(t *testing.T) {
	raw, err := yaml.YAMLToJSON([]byte(poolHead + `spec: {disruption: {consolidationpolicy: WhenEmtpy, budgets: [{nodes: 5, schedule: "0 0 * * 7", duration: 1h}]}}`))
	require.NoError(t, err)
	d, faults := Decode(raw)
	require.Len(t, faults, 4)
	require.Equal(t, `apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  disruption:
    budgets:
    - duration: "1h"
      nodes: "5"
      schedule: "0 0 * * 0"
    consolidationPolicy: WhenEmpty
`, d.Corrected)
	raw, err = yaml.YAMLToJSON([]byte("apiVersion: flotilla.io/v1\nkind: InstanceCatalog\nmetadata: {name: a}\nspec: {types: [{name: d2, cpu: 2, memory: 8Gi, offering: []}]}"))
	require.NoError(t, err)
	d, _ = Decode(raw)
	require.Contains(t, d.Corrected, "offerings: []")
	require.Contains(t, d.Corrected, "apiVersion: flotilla.io/v1alpha1")
}

// What only a cluster or the hub sets is ignored with one note.
func TestExportedNodePool(t *testing.T) {
	raw, err := yaml.YAMLToJSON([]byte(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
  uid: 1-2-3
  generation: 4
  resourceVersion: "77"
  creationTimestamp: "2026-01-01T00:00:00Z"
  annotations: {karpenter.sh/nodepool-hash: "123", karpenter.sh/nodepool-hash-version: v3}
  managedFields: [{manager: kubectl}]
spec: {}
status: {nodes: 3, resources: {cpu: "12"}, conditions: [{type: Ready, status: "True"}]}
`))
	require.NoError(t, err)
	d, faults := Decode(raw)
	require.Empty(t, faults)
	require.Equal(t, "ignored, because the hub sets it: metadata.creationTimestamp, metadata.generation, metadata.managedFields, metadata.resourceVersion, metadata.uid, status", d.DropServerSet())
	require.Empty(t, d.Notes)
	require.Equal(t, metav1.ObjectMeta{Name: "default", Annotations: As[api.NodePool](&d).Annotations}, As[api.NodePool](&d).ObjectMeta)
}

func TestNodeClassRefNames(t *testing.T) {
	class := api.ObjectRef{APIVersion: "karpenter.azure.com/v1beta1", Kind: "AKSNodeClass", Name: "default"}
	for name, row := range map[string]struct {
		ref  *api.NodeClassRef
		want bool
	}{
		"whole":         {&api.NodeClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}, true},
		"by apiVersion": {&api.NodeClassRef{APIVersion: "karpenter.azure.com/v1alpha2", Kind: "AKSNodeClass", Name: "default"}, true},
		"by name":       {&api.NodeClassRef{Name: "default"}, true},
		"another name":  {&api.NodeClassRef{Name: "other"}, false},
		"another group": {&api.NodeClassRef{Group: "karpenter.k8s.aws", Kind: "AKSNodeClass", Name: "default"}, false},
		"another kind":  {&api.NodeClassRef{Group: "karpenter.azure.com", Kind: "EC2NodeClass", Name: "default"}, false},
		"no reference":  {nil, false},
	} {
		require.Equal(t, row.want, row.ref.Names(class), name)
	}
	any := &api.NodeClassRef{Name: "default"}
	require.False(t, any.Names(api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Name: "default"}), "only node classes go by name alone")
	require.False(t, any.Names(api.ObjectRef{APIVersion: "a/v1", Kind: "ANodeClass", Namespace: "x", Name: "default"}))
}

// Every NodePool of the seed documents, whole or wrapped, is accepted as it is; the only one with a
// note is the weekend example.
func TestSeedNodePools(t *testing.T) {
	files, err := filepath.Glob("testdata/nodepools/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 13)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		p, notes, faults := poolOf(t, string(text))
		require.Empty(t, faults, file)
		require.NotEmpty(t, p.Name)
		require.Equal(t, strings.Contains(file, "weekend"), len(notes) > 0, "%s: %v", file, notes)
	}
}

// The weekend example blocks always; its warning shows the budgets that were meant.
func TestWeekendLint(t *testing.T) {
	text, err := os.ReadFile("testdata/nodepools/fragment-weekend.yaml")
	require.NoError(t, err)
	_, notes, _ := poolOf(t, string(text))
	require.Equal(t, []string{`BudgetLint: spec.disruption.budgets[1]: nodes "0" without a schedule blocks every disruption, always: the smallest of the active budgets wins; to allow disruptions only in the window, write:
budgets:
- nodes: "50%"
- nodes: "0"
  schedule: "0 0 * * 1"
  duration: "120h"`}, notes)
}

func TestLintBudgets(t *testing.T) {
	for name, row := range map[string]struct{ budgets, want string }{
		"a date that never comes":       {`[{nodes: "0", schedule: "0 0 31 2 *", duration: 1h}]`, "names a date that never comes"},
		"29 February comes":             {`[{nodes: "0", schedule: "0 0 29 2 *", duration: 1h}]`, ""},
		"no reasons":                    {`[{nodes: "0", reasons: []}]`, "counts for nothing"},
		"zero percent is zero":          {`[{nodes: "0%"}]`, "blocks every disruption, always"},
		"zero for one reason":           {`[{nodes: "00", reasons: [Drifted]}]`, "blocks every disruption for Drifted, always"},
		"a daily window, inverted":      {`[{nodes: "0"}, {nodes: "5", schedule: "30 22 * * *", duration: 90m}]`, "- nodes: \"0\"\n  schedule: \"0 0 * * *\"\n  duration: \"22h30m\""},
		"a window that has no inverse":  {`[{nodes: "0"}, {nodes: "5", schedule: "0 1,5 * * *", duration: 1h}]`, "write the other way round"},
		"a window of two days in a row": {`[{nodes: "0"}, {nodes: "5", schedule: "0 0 * * 1,2", duration: 1h}]`, "write the other way round"},
		"zero within a window":          {`[{nodes: "0", schedule: "@daily", duration: 1h}, {nodes: "5"}]`, ""},
		"windows that touch":            {`[{nodes: "0", schedule: "@daily", duration: 24h}, {nodes: "5"}]`, `budgets[0]: nodes "0" at "@daily" for 24h blocks every disruption, always: each window lasts until the next begins`},
		"windows a minute apart":        {`[{nodes: "0", schedule: "@daily", duration: 23h59m}]`, ""},
		"an hour each hour":             {`[{nodes: "5"}, {nodes: "0%", schedule: "0 * * * *", duration: 60m, reasons: [Drifted]}]`, `budgets[1]: nodes "0%" at "0 * * * *" for 60m blocks every disruption for Drifted, always`},
		"a minute each minute":          {`[{nodes: "0", schedule: "* * * * *", duration: 1m}]`, `at "* * * * *" for 1m blocks every disruption, always`},
		"a week in two parts":           {`[{nodes: "0", schedule: "0 0 * * 6", duration: 48h}, {nodes: "3"}, {nodes: "0", schedule: "0 0 * * 1-5", duration: 24h}]`, `budgets[0]: nodes "0" at "0 0 * * 6" for 48h blocks every disruption, always, together with "0 0 * * 1-5" for 24h: their windows leave no gap`},
		"a week but for Friday":         {`[{nodes: "0", schedule: "0 0 * * 6", duration: 48h}, {nodes: "0", schedule: "0 0 * * 1-4", duration: 24h}]`, ""},
		"parts for different reasons":   {`[{nodes: "0", schedule: "0 0 * * *", duration: 12h, reasons: [Empty]}, {nodes: "0", schedule: "0 12 * * *", duration: 12h, reasons: [Empty, Drifted]}]`, "blocks every disruption for Empty, always, together"},
		"months that touch":             {`[{nodes: "0", schedule: "@monthly", duration: 744h}]`, `at "@monthly" for 744h blocks every disruption, always`},
		"months with a gap":             {`[{nodes: "0", schedule: "@monthly", duration: 720h}]`, ""},
		"years with a leap day":         {`[{nodes: "0", schedule: "@yearly", duration: 8760h}]`, ""},
		"zones apart":                   {`[{nodes: "0", schedule: "0 0 * * *", duration: 12h, timeZone: Europe/Berlin}, {nodes: "0", schedule: "0 12 * * *", duration: 12h}]`, ""},
		"a zone of its own":             {`[{nodes: "0", schedule: "@daily", duration: 24h, timeZone: Europe/Berlin}]`, "blocks every disruption, always"},
		"an always-on zero is enough":   {`[{nodes: "0"}, {nodes: "0", schedule: "@daily", duration: 24h}]`, `budgets[0]: nodes "0" without a schedule`},
		"small numbers are no zeros":    {`[{nodes: "1", schedule: "@daily", duration: 24h}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, notes, faults := poolOf(t, poolHead+"spec: {disruption: {budgets: "+row.budgets+"}}")
			require.Empty(t, faults)
			if row.want == "" {
				require.Empty(t, notes)
				return
			}
			require.Len(t, notes, 1)
			require.Contains(t, notes[0], row.want)
		})
	}
}

// What is wrong with a pool comes back at once, each with its place and what would be accepted.
func TestNodePoolFaults(t *testing.T) {
	requirement := func(fields string) string { return "{template: {spec: {requirements: [{" + fields + "}]}}}" }
	for name, row := range map[string]struct{ spec, path, expected string }{
		"an unknown field":        {`{disruption: {consolidateafter: 1s}}`, "spec.disruption.consolidateafter", "consolidateAfter (did you mean that?)"},
		"a policy":                {`{disruption: {consolidationPolicy: WhenEmtpy}}`, "spec.disruption.consolidationPolicy", "WhenEmptyOrUnderutilized, WhenEmpty, Balanced or WhenUnderutilized"},
		"a duration":              {`{disruption: {consolidateAfter: 1d}}`, "spec.disruption.consolidateAfter", "or Never"},
		"nodes as a number":       {`{disruption: {budgets: [{nodes: 5}]}}`, "spec.disruption.budgets[0].nodes", `a string, "5"`},
		"more than all":           {`{disruption: {budgets: [{nodes: "101%"}]}}`, "spec.disruption.budgets[0].nodes", "a percentage"},
		"nodes that are empty":    {`{disruption: {budgets: [{nodes: ""}]}}`, "spec.disruption.budgets[0].nodes", "a percentage"},
		"a part of a percent":     {`{disruption: {budgets: [{nodes: "5.5%"}]}}`, "spec.disruption.budgets[0].nodes", "a percentage"},
		"less than none":          {`{disruption: {budgets: [{nodes: "-1"}]}}`, "spec.disruption.budgets[0].nodes", "a number of nodes"},
		"a line break in nodes":   {`{disruption: {budgets: [{nodes: "5\n"}]}}`, "spec.disruption.budgets[0].nodes", "a number of nodes"},
		"an empty policy":         {`{disruption: {consolidationPolicy: ""}}`, "spec.disruption.consolidationPolicy", "WhenEmptyOrUnderutilized, WhenEmpty, Balanced or WhenUnderutilized"},
		"an empty quiet time":     {`{disruption: {consolidateAfter: ""}}`, "spec.disruption.consolidateAfter", "or Never"},
		"an empty lifetime":       {`{template: {spec: {expireAfter: ""}}}`, "spec.template.spec.expireAfter", "or Never"},
		"an empty older lifetime": {`{disruption: {expireAfter: ""}}`, "spec.disruption.expireAfter", "or Never"},
		"an empty grace":          {`{template: {spec: {terminationGracePeriod: ""}}}`, "spec.template.spec.terminationGracePeriod", "a duration"},
		"an empty schedule":       {`{disruption: {budgets: [{nodes: "1", schedule: "", duration: 1h}]}}`, "spec.disruption.budgets[0].schedule", "five cron fields"},
		"an empty duration":       {`{disruption: {budgets: [{nodes: "1", schedule: "@daily", duration: ""}]}}`, "spec.disruption.budgets[0].duration", "hours and minutes"},
		"a duration of seconds":   {`{disruption: {budgets: [{nodes: "1", schedule: "@daily", duration: 0s}]}}`, "spec.disruption.budgets[0].duration", "hours and minutes"},
		"minutes before hours":    {`{disruption: {budgets: [{nodes: "1", schedule: "@daily", duration: 5m1h}]}}`, "spec.disruption.budgets[0].duration", "hours and minutes"},
		"too many reasons":        {`{disruption: {budgets: [{nodes: "1", reasons: [` + strings.Repeat("Empty,", 51) + `]}]}}`, "spec.disruption.budgets[0].reasons", "at most 50 reasons"},
		"too many budgets":        {`{disruption: {budgets: [` + strings.Repeat(`{nodes: "1"},`, 51) + `]}}`, "spec.disruption.budgets", "at most 50 budgets"},
		"a schedule alone":        {`{disruption: {budgets: [{nodes: "1", schedule: "@daily"}]}}`, "spec.disruption.budgets[0].duration", "how long"},
		"a duration alone":        {`{disruption: {budgets: [{nodes: "1", duration: 1h}]}}`, "spec.disruption.budgets[0].schedule", "a schedule"},
		"Sunday as 7":             {`{disruption: {budgets: [{nodes: "1", schedule: "0 0 * * 7", duration: 1h}]}}`, "spec.disruption.budgets[0].schedule", "five cron fields"},
		"@every (N18)":            {`{disruption: {budgets: [{nodes: "1", schedule: "@every 5m", duration: 1h}]}}`, "spec.disruption.budgets[0].schedule", "one of @yearly"},
		"a zone in the schedule":  {`{disruption: {budgets: [{nodes: "1", schedule: "TZ=UTC 0 0 * * *", duration: 1h}]}}`, "spec.disruption.budgets[0].schedule", "put the zone in timeZone"},
		"seconds in a duration":   {`{disruption: {budgets: [{nodes: "1", schedule: "@daily", duration: 90s}]}}`, "spec.disruption.budgets[0].duration", "hours and minutes"},
		"a zone":                  {`{disruption: {budgets: [{nodes: "1", schedule: "@daily", duration: 1h, timeZone: "Mars!"}]}}`, "spec.disruption.budgets[0].timeZone", "an IANA time zone"},
		"a reason":                {`{disruption: {budgets: [{nodes: "1", reasons: [Drift]}]}}`, "spec.disruption.budgets[0].reasons[0]", "Empty, Underutilized, Drifted or Expired"},
		"a weight":                {`{weight: 101}`, "spec.weight", "a number from 1 to 100"},
		"grace that never ends":   {`{template: {spec: {terminationGracePeriod: Never}}}`, "spec.template.spec.terminationGracePeriod", "a duration"},
		"an operator":             {`{template: {spec: {requirements: [{key: k, operator: Inn, values: [a]}]}}}`, "spec.template.spec.requirements[0].operator", "In, NotIn"},
		"values that are missing": {`{template: {spec: {requirements: [{key: k, operator: In}]}}}`, "spec.template.spec.requirements[0].values", "at least one value"},
		"minValues beyond values": {`{template: {spec: {requirements: [{key: k, operator: In, values: [a], minValues: 2}]}}}`, "spec.template.spec.requirements[0].minValues", "not above the number of values"},
		"minValues of nothing":    {requirement(`key: k, operator: Exists, minValues: 0`), "spec.template.spec.requirements[0].minValues", "a number from 1 to 50"},
		"minValues above 50":      {requirement(`key: k, operator: Exists, minValues: 51`), "spec.template.spec.requirements[0].minValues", "a number from 1 to 50"},
		"a bound below zero":      {requirement(`key: k, operator: Gt, values: ["-1"]`), "spec.template.spec.requirements[0].values", "one whole number, 0 or more"},
		"a bound that is none":    {requirement(`key: k, operator: Lte, values: [many]`), "spec.template.spec.requirements[0].values", "one whole number, 0 or more"},
		"too many":                {`{template: {spec: {requirements: [` + strings.Repeat("{key: k, operator: Exists},", 101) + `]}}}`, "spec.template.spec.requirements", "at most 100 requirements"},
		"two bounds":              {requirement(`key: k, operator: Lt, values: ["1", "2"]`), "spec.template.spec.requirements[0].values", "one whole number, 0 or more"},
		"no bound":                {requirement(`key: k, operator: Gte`), "spec.template.spec.requirements[0].values", "one whole number, 0 or more"},
		"more nodes than count":   {`{disruption: {budgets: [{nodes: "2147483648"}]}}`, "spec.disruption.budgets[0].nodes", "at most 2147483647 nodes"},
		"an effect":               {`{template: {spec: {taints: [{key: k, effect: Nope}]}}}`, "spec.template.spec.taints[0].effect", "NoSchedule, PreferNoSchedule or NoExecute"},
		"a limit":                 {`{limits: {cpu: many}}`, "spec.limits.cpu", "a quantity"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, faults := poolOf(t, poolHead+"spec: "+row.spec)
			require.Len(t, faults, 1, "%v", faults)
			require.Equal(t, row.path, faults[0].Path)
			require.Contains(t, faults[0].Expected, row.expected)
			require.Equal(t, "NodePool/default", faults[0].Object)
		})
	}
	for _, most := range []string{
		`{disruption: {budgets: [{nodes: "1", reasons: [` + strings.Repeat("Empty,", 50) + `]}]}}`, `{disruption: {budgets: [` + strings.Repeat(`{nodes: "1"},`, 50) + `]}}`,
		requirement(`key: k, operator: Exists, minValues: 1`), requirement(`key: k, operator: Exists, minValues: 50`), requirement(`key: k, operator: Gt, values: ["0"]`),
		`{weight: 1}`, `{weight: 100}`, `{disruption: {budgets: [{nodes: "2147483647"}, {nodes: "100%"}, {nodes: "0%"}]}}`,
	} {
		_, _, faults := poolOf(t, poolHead+"spec: "+most)
		require.Empty(t, faults, most)
	}
	_, _, faults := poolOf(t, "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {weight: 0, disruption: {consolidateAfter: x, budgets: [{nodes: x}]}}")
	require.Len(t, faults, 3)
}

// A number where a text belongs is told what text that is, and not to put quotes around what is refused then.
func TestNodePoolNumbersForText(t *testing.T) {
	for spec, want := range map[string][3]string{
		`{template: {spec: {terminationGracePeriod: 5}}}`:                           {"number 5", `a duration in hours, minutes and seconds, like "30s" or "168h"`, ""},
		`{disruption: {consolidateAfter: 30}}`:                                      {"number 30", `a duration in hours, minutes and seconds, like "30s" or "168h", or Never`, ""},
		`{disruption: {budgets: [{nodes: "1", schedule: "@daily", duration: 8}]}}`:  {"number 8", `hours and minutes, like "8h", "10m" or "5h30m"`, ""},
		`{disruption: {budgets: [{nodes: -1}]}}`:                                    {"number -1", `a number of nodes like "5", or a percentage from "0%" to "100%"`, ""},
		`{disruption: {budgets: [{nodes: 5}]}}`:                                     {"number 5", `a string, "5"`, `nodes: "5"`},
		`{template: {spec: {requirements: [{key: k, operator: In, values: [5]}]}}}`: {"number 5", `a string, "5"`, `- "5"`},
	} {
		_, _, faults := poolOf(t, poolHead+"spec: "+spec)
		require.Len(t, faults, 1, "%s: %v", spec, faults)
		require.Equal(t, want, [3]string{faults[0].Found, faults[0].Expected, faults[0].Fix}, spec)
	}
}

func TestNodePoolAnnotations(t *testing.T) {
	for annotation, ok := range map[string]bool{
		`flotilla.io/members: "env in (a,b)"`: true, `flotilla.io/members: "="`: false, `flotilla.io/expiration: Forceful`: true, `flotilla.io/expiration: Maybe`: false,
		`flotilla.io/fleet-budget: web=10%`: true, `flotilla.io/fleet-budget: web`: false, `flotilla.io/fleet-budget: web=x`: false,
	} {
		_, notes, faults := poolOf(t, "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: a\n  annotations:\n    "+annotation+"\nspec: {}")
		require.Equal(t, ok, len(faults) == 0, "%s: %v", annotation, faults)
		require.Empty(t, notes)
	}
	_, notes, _ := poolOf(t, "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a, annotations: {flotilla.io/member: x}}\nspec: {}")
	require.Equal(t, []string{"metadata.annotations: nothing reads flotilla.io/member; did you mean flotilla.io/members?"}, notes)
}

// The older place and words: v1beta1 as it is, and a warning when both places of expireAfter differ.
func TestOlderNodePools(t *testing.T) {
	p, notes, faults := poolOf(t, "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {disruption: {consolidationPolicy: WhenUnderutilized, expireAfter: 24h}}")
	require.Empty(t, faults)
	require.Equal(t, []string{"spec.disruption.consolidationPolicy: WhenUnderutilized is read as WhenEmptyOrUnderutilized"}, notes)
	require.Equal(t, api.WhenEmptyOrUnderutilized, p.Spec.Policy())
	require.Equal(t, "24h", p.Spec.ExpireAfter())

	_, notes, faults = poolOf(t, "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {kubelet: {maxPods: 20}, nodeClassRef: {name: default}}}}")
	require.Empty(t, faults)
	require.Equal(t, []string{"spec.template.spec.kubelet is ignored: it belongs to the node class, as in karpenter.sh/v1"}, notes)
	_, _, faults = poolOf(t, poolHead+"spec: {template: {spec: {kubelet: {maxPods: 20}}}}")
	require.Equal(t, "spec.template.spec.kubelet", faults[0].Path, "v1 never had it")

	p, notes, _ = poolOf(t, poolHead+"spec: {template: {spec: {expireAfter: 48h}}, disruption: {expireAfter: 24h}}")
	require.Equal(t, "48h", p.Spec.ExpireAfter())
	require.Equal(t, []string{"spec.template.spec.expireAfter 48h goes before spec.disruption.expireAfter 24h"}, notes)

	p, _, _ = poolOf(t, poolHead+"spec: {}")
	require.Equal(t, []any{"720h", "0s", []api.DisruptionBudget{{Nodes: new("10%")}}}, []any{p.Spec.ExpireAfter(), p.Spec.ConsolidateAfter(), p.Spec.Budgets()})
	p, _, faults = poolOf(t, poolHead+"spec: {disruption: {budgets: [{reasons: [Empty]}, {nodes: '05%', schedule: '@daily', duration: 5h30m0s}]}}")
	require.Empty(t, faults)
	require.Equal(t, []string{"10%", "05%"}, []string{p.Spec.Budgets()[0].Limit(), p.Spec.Budgets()[1].Limit()})
	p, _, _ = poolOf(t, poolHead+"spec: {disruption: {budgets: []}}")
	require.Empty(t, p.Spec.Budgets(), "an empty list is no limit")
	_, _, faults = poolOf(t, "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a, namespace: b}\nspec: {}")
	require.Equal(t, "metadata.namespace", faults[0].Path)
	_, _, faults = poolOf(t, "apiVersion: karpenter.sh/v2\nkind: NodePool\nmetadata: {name: a}\nspec: {}")
	require.Equal(t, "karpenter.sh/v1 or karpenter.sh/v1beta1", faults[0].Expected)
}

// Which zones there are only the hub can say.
func TestNodePoolZones(t *testing.T) {
	known := func(name string) bool { return name == "Europe/Berlin" }
	pool := func(zone string) *api.NodePool {
		p, _, faults := poolOf(t, poolHead+`spec: {disruption: {budgets: [{nodes: "1"}, {nodes: "0", schedule: "@daily", duration: 1h, timeZone: `+zone+`}]}}`)
		require.Empty(t, faults)
		return p
	}
	require.Empty(t, NodePoolZones(pool("Europe/Berlin"), known))
	faults := NodePoolZones(pool("Europe/Bonn"), known)
	require.Len(t, faults, 1)
	require.Equal(t, "spec.disruption.budgets[1].timeZone", faults[0].Path)
}

func TestInstanceCatalog(t *testing.T) {
	decode := func(types string) (*api.InstanceCatalog, strict.Faults) {
		raw, err := yaml.YAMLToJSON([]byte("apiVersion: flotilla.io/v1alpha1\nkind: InstanceCatalog\nmetadata: {name: azure}\nspec: {types: " + types + "}"))
		require.NoError(t, err)
		d, faults := Decode(raw)
		return As[api.InstanceCatalog](&d), faults
	}
	c, faults := decode(`[{name: d2, cpu: 2, memory: 8Gi, resources: {nvidia.com/gpu: 1}, offerings: [{zone: z-a, capacityType: spot, price: 0.031}, {zone: z-a, capacityType: on-demand, price: "0.096", available: false}]}]`)
	require.Empty(t, faults)
	d2 := c.Spec.Types[0]
	require.Equal(t, []any{strict.Amount("2"), strict.Amount("8Gi"), strict.Amount("1"), strict.Price(0.031), strict.Price(0.096)}, []any{d2.CPU, d2.Memory, d2.Resources["nvidia.com/gpu"], d2.Offerings[0].Price, d2.Offerings[1].Price})
	require.True(t, d2.Offerings[0].IsAvailable())
	require.False(t, d2.Offerings[1].IsAvailable())
	for types, path := range map[string]string{
		`[{name: a, cpu: 2, memory: 1Gi, offerings: [{zone: z, capacityType: cheap, price: 1}]}]`:        "spec.types[0].offerings[0].capacityType",
		`[{name: a, cpu: 2, memory: 1Gi, offerings: [{zone: z, capacityType: spot, price: -1}]}]`:        "spec.types[0].offerings[0].price",
		`[{name: a, cpu: two, memory: 1Gi, offerings: []}]`:                                              "spec.types[0].cpu",
		`[{name: a, cpu: 2, memory: 1Gi, offerings: []}, {name: a, cpu: 2, memory: 1Gi, offerings: []}]`: "spec.types[1].name",
		`[{cpu: 2, memory: 1Gi, offerings: []}]`:                                                         "spec.types[0].name",
	} {
		_, faults := decode(types)
		require.Len(t, faults, 1, types)
		require.Equal(t, path, faults[0].Path)
	}
}
