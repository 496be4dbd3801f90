package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestRulesOfNodePools(t *testing.T) {
	for spec, want := range map[string]string{
		`{}`:             "",
		`{replicas: 0}`:  "",
		`{replicas: -1}`: "spec.replicas: found number -1, expected 0 or more",
		`{weight: 1}`:    "",
		`{weight: 0}`:    "spec.weight",
		`{template: {spec: {nodeClassRef: {group: g, kind: K, name: ""}}}}`:                                  "spec.template.spec.nodeClassRef.name: found nothing, expected the name of a node class",
		`{template: {spec: {nodeClassRef: {group: g, kind: K, name: a}}}}`:                                   "",
		`{template: {spec: {taints: [{key: a}]}}}`:                                                           "taints[0].effect: found nothing, expected NoSchedule, PreferNoSchedule or NoExecute",
		`{template: {spec: {startupTaints: [{key: a, effect: NoSchedule}]}}}`:                                "",
		`{template: {spec: {requirements: [{key: a, operator: Exists}]}}}`:                                   "",
		`{template: {spec: {requirements: [{key: a, operator: Exists, values: [b]}]}}}`:                      "requirements[0].values: found a list of 1, expected no values for operator Exists",
		`{template: {spec: {requirements: [{key: a, operator: DoesNotExist, values: [b, c]}]}}}`:             "requirements[0].values: found a list of 2, expected no values for operator DoesNotExist",
		`{template: {spec: {requirements: [{key: a}]}}}`:                                                     "requirements[0].operator: found nothing",
		`{template: {spec: {requirements: [{key: a, operator: In}]}}}`:                                       "requirements[0].values",
		`{template: {spec: {requirements: [{key: a, operator: Gt, values: ["3"]}]}}}`:                        "",
		`{template: {spec: {requirements: [{key: a, operator: Gt, values: ["3", "4"]}]}}}`:                   "requirements[0].values",
		`{disruption: {budgets: [{nodes: "1", reasons: [""]}]}}`:                                             "budgets[0].reasons[0]: found nothing, expected",
		`{disruption: {budgets: [{nodes: "1", reasons: [Empty]}]}}`:                                          "",
		`{disruption: {budgets: [{nodes: "1", schedule: "@daily", duration: 1h, timeZone: Europe/Berlin}]}}`: "",
		`{disruption: {budgets: [{nodes: "1", timeZone: Europe/Berlin}]}}`:                                   `budgets[0].timeZone: found "Europe/Berlin", expected nothing without a schedule`,
	} {
		_, _, faults := poolOf(t, poolHead+"spec: "+spec)
		texts := make([]string, len(faults))
		for i, f := range faults {
			texts[i] = f.String()
		}
		if want == "" {
			require.Empty(t, texts, spec)
			continue
		}
		require.Contains(t, join(texts), want, spec)
	}
}

// The values of a pool are bounded: those of one requirement, and those of all together (H56).
func TestValuesOfRequirementsAreBounded(t *testing.T) {
	faultsOf := func(lengths ...int) []string {
		spec := `{template: {spec: {requirements: [`
		for i, n := range lengths {
			spec += fmt.Sprintf(`{key: k%d, operator: In, values: [%s]},`, i, strings.TrimSuffix(strings.Repeat("v,", n), ","))
		}
		_, _, faults := poolOf(t, poolHead+"spec: "+spec+"]}}}")
		var texts []string
		for i := range faults {
			texts = append(texts, faults[i].String())
		}
		return texts
	}
	const at = "NodePool/default: spec.template.spec.requirements"
	require.Empty(t, faultsOf(1000, 1000, 1000, 1000, 1000))
	require.Equal(t, []string{at + "[1].values: found a list of 1001, expected at most 1000 values"}, faultsOf(1, 1001))
	require.Equal(t, []string{at + ": found requirements with 5001 values, expected at most 5000 values, those of all requirements together"}, faultsOf(1000, 1000, 1000, 1000, 1000, 1))
}

// A run is to be brought to its end unless its document says otherwise, and stages go one member by one.
func TestWhatStagedRunsAreWithout(t *testing.T) {
	run := &api.StagedUpdateRun{}
	defaultStagedRun(run)
	require.Equal(t, api.RunInitialize, run.Spec.State)
	strategy := &api.StagedUpdateStrategy{Spec: api.StagedUpdateStrategySpec{Stages: make([]api.ContentStage, 2)}}
	defaultStagedStrategy(strategy)
	require.Equal(t, "1", strategy.Spec.Stages[1].MaxConcurrency.String())
}

func TestAnnotationsOfStagedRuns(t *testing.T) {
	strategy := func(annotation string) []string {
		return stagedFaults(t, api.KindClusterStagedUpdateStrategy, `"name": "waves", "annotations": {`+annotation+`}`, `{"stages": [{"name": "all", "labelSelector": {}}]}`)
	}
	for value, fine := range map[string]bool{"true": true, "false": true, "yes": false, "": false} {
		require.Equal(t, fine, len(strategy(`"`+api.AnnotationWindows+`": "`+value+`"`)) == 0, value)
	}
	require.Empty(t, strategy(`"`+api.AnnotationRolloutCheck+`": "shop"`))
	require.NotEmpty(t, strategy(`"`+api.AnnotationRolloutCheck+`": "Shop!"`))
}

func TestBoundsOfRolloutChecks(t *testing.T) {
	faults := func(spec string) string {
		_, faults := Decode([]byte(`{"apiVersion": "flotilla.io/v1alpha1", "kind": "RolloutCheck", "metadata": {"name": "a"}, "spec": ` + spec + `}`))
		texts := make([]string, len(faults))
		for i, f := range faults {
			texts[i] = f.String()
		}
		return join(texts)
	}
	query := func(n int) string {
		return `{"checks": [{"name": "a", "prometheus": {"server": "main", "max": 1, "query": "` + strings.Repeat("x", n) + `"}}]}`
	}
	require.Empty(t, faults(query(api.MaxCheckQuery)))
	require.Contains(t, faults(query(api.MaxCheckQuery+1)), "spec.checks[0].prometheus.query: found")
	arguments := func(all ...string) string {
		return `{"checks": [{"name": "a", "webhook": {"webhook": "w", "arguments": {` + strings.Join(all, ",") + `}}}]}`
	}
	most := make([]string, api.MaxCheckArguments)
	for i := range most {
		most[i] = `"a` + strings.Repeat("x", i) + `": "b"`
	}
	require.Empty(t, faults(arguments(most...)))
	require.Contains(t, faults(arguments(append(most, `"b": "c"`)...)), "arguments, expected at most")
	require.Empty(t, faults(arguments(`"a": "`+strings.Repeat("x", api.MaxCheckArgument)+`"`)))
	require.Contains(t, faults(arguments(`"a": "`+strings.Repeat("x", api.MaxCheckArgument+1)+`"`)), "bytes, expected at most")
	require.Contains(t, faults(arguments(`"a b": "c"`)), "a b")
}
