package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
)

var tableNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func objectsOf(t *testing.T, documents ...string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, text := range documents {
		body, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		obj, err := decodeObject(body)
		require.NoError(t, err)
		objects = append(objects, obj)
	}
	return objects
}

const berlin = `
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: berlin, creationTimestamp: "2026-03-01T09:00:00Z", labels: {region: eu}}
spec: {taints: [{key: flotilla.io/cordoned, effect: NoSchedule}, {key: gpu, value: a100, effect: NoSchedule}]}
status:
  state: Ready
  kubernetesVersion: v1.33.1
  agentVersion: v0.2.0
  nodes: 9
  placed: 3
  labels: {region: eu, ring: "1", kubernetes-fleet.io/member-name: berlin}
  properties: {kubernetes-fleet.io/node-count: {value: "7"}}
  resourceUsage: {available: {cpu: 14050m, memory: 55398Mi}}
  agentStatus: [{type: MemberAgent, lastReceivedHeartbeat: "2026-03-01T11:59:48Z"}]
  credentials: {state: Valid, ends: "2026-03-30T13:00:00Z"}
`

const oslo = `
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: oslo}
status: {state: Joining, nodes: 2}
`

const web = `
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web, generation: 3, creationTimestamp: "2026-02-27T12:00:00Z"}
spec: {policy: {placementType: PickN, numberOfClusters: 4}}
status:
  observedResourceIndex: "2"
  observedGeneration: 3
  counts: {want: 4, picked: 4, current: 3, applied: 3, available: 2, failed: 1, drifted: 0}
  rollout: {snapshot: 2, heldUpTotal: 1, message: "held up by lyon: Deployment shop/cart 0 of 2 available"}
  conditions:
  - {type: ClusterResourcePlacementScheduled, status: "True", observedGeneration: 3}
  - {type: ClusterResourcePlacementRolloutStarted, status: "False", observedGeneration: 3, reason: RolloutNotStartedYet, message: one waits}
`

const everywhere = `
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: everywhere, generation: 1, creationTimestamp: "2026-03-01T11:59:00Z"}
status:
  observedGeneration: 1
  counts: {want: -1, picked: 2, current: 2, applied: 2, available: 2, failed: 0, drifted: 0}
  conditions:
  - {type: ClusterResourcePlacementScheduled, status: "True", observedGeneration: 1}
  - {type: ClusterResourcePlacementAvailable, status: "True", observedGeneration: 1}
`

func printed(t *testing.T, o output, single bool, objects ...*unstructured.Unstructured) string {
	t.Helper()
	var out bytes.Buffer
	a := &app{Environment: Environment{Out: &out, Now: func() time.Time { return tableNow }}}
	require.NoError(t, a.printObjects(&o, objects, single))
	return out.String()
}

func TestCredentialsInTables(t *testing.T) {
	for want, status := range map[string]string{
		"29d left":                 `{state: Valid, ends: "2026-03-30T13:00:00Z"}`,
		"RenewalOverdue, 25h left": `{state: RenewalOverdue, ends: "2026-03-02T13:00:00Z"}`,
		"CredentialsEnded":         `{state: CredentialsEnded, ends: "2026-03-01T11:00:00Z"}`,
		"AgentRevoked":             "{state: AgentRevoked}",
		"Valid":                    "{state: Valid}",
		"-":                        "{}",
	} {
		obj := objectsOf(t, "{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin}, status: {credentials: "+status+"}}")[0]
		require.Equal(t, want, memberCredentials(view{object: obj, now: tableNow}))
	}
}

func TestTables(t *testing.T) {
	members, placements := objectsOf(t, berlin, oslo), objectsOf(t, web, everywhere)
	require.Equal(t, `NAME     STATE            AGE   VERSION   NODES   CPU-FREE   MEM-FREE   PLACED   LABELS
berlin   Ready,Cordoned   3h    v1.33.1   7       14         54Gi       3        region=eu,ring=1
oslo     Joining          -     -         2       -          -          0        -
`, printed(t, output{}, false, members...))
	require.Equal(t, `NAME     STATE            AGE   VERSION   NODES   CPU-FREE   MEM-FREE   PLACED   TAINTS                                                AGENT    HEARTBEAT   CREDENTIALS   LABELS             FLEET-LABELS
berlin   Ready,Cordoned   3h    v1.33.1   7       14         54Gi       3        flotilla.io/cordoned:NoSchedule,gpu=a100:NoSchedule   v0.2.0   12s ago     29d left      region=eu,ring=1   -
`, printed(t, output{format: "wide"}, false, members[0]))
	require.Equal(t, `NAME         GEN   WANT   PICKED   APPLIED   AVAILABLE   DRIFT   FAILED   AGE
everywhere   1     all    2        2         2           0       0        60s
web          3     4      4        3         2           0       1        2d
`, printed(t, output{sortBy: ".status.counts.picked"}, false, placements...))
	require.Equal(t, `web   3     4     4     3     2     0     1     2d    PickN   3     2     RolloutStarted=False   lyon: Deployment shop/cart 0 of 2 available
`, printed(t, output{format: "wide", noHeaders: true}, false, objectsOf(t, web)...))
}

func TestMachineFormats(t *testing.T) {
	objects := objectsOf(t, web, berlin)
	require.Equal(t, "clusterresourceplacement.placement.kubernetes-fleet.io/web\nmembercluster.cluster.kubernetes-fleet.io/berlin\n",
		printed(t, output{format: "name"}, false, objects...))
	require.Equal(t, "web berlin\n", printed(t, output{format: "jsonpath={.items[*].metadata.name}"}, false, objects...))
	require.Equal(t, "4\n", printed(t, output{format: "jsonpath={.status.counts.picked}"}, true, objects[0]))
	require.Equal(t, "web", printed(t, output{format: "go-template={{.metadata.name}}"}, true, objects[0]))
	require.Equal(t, "NAME     STATE    PICKED\nweb      <none>   4\nberlin   Ready    <none>\n",
		printed(t, output{format: "custom-columns=NAME:.metadata.name,STATE:.status.state,PICKED:{.status.counts.picked}"}, false, objects...))
	require.Contains(t, printed(t, output{format: "yaml"}, true, objects[1]), "\nkind: MemberCluster\n")
	require.Contains(t, printed(t, output{format: "json"}, false, objects...), `"kind": "List"`)
}

func TestSortByComparesQuantitiesAsSuch(t *testing.T) {
	var objects []*unstructured.Unstructured
	for _, cpu := range []string{"10", "900m", "2"} {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{"cpu": cpu}})
	}
	objects = append(objects, &unstructured.Unstructured{Object: map[string]any{}})
	require.NoError(t, sortObjects(objects, "cpu"))
	var order []any
	for _, obj := range objects {
		order = append(order, obj.Object["cpu"])
	}
	require.Equal(t, []any{nil, "900m", "2", "10"}, order)
	require.ErrorContains(t, sortObjects(objects, "memory"), "no object has such a field")
}

func TestRolloutEndsWhereMembersAreMissing(t *testing.T) {
	short := objectsOf(t, everywhere)[0]
	require.NoError(t, unstructured.SetNestedField(short.Object, int64(5), "status", "counts", "want"))
	require.NoError(t, unstructured.SetNestedSlice(short.Object, []any{map[string]any{
		"type": "ClusterResourcePlacementScheduled", "status": "False", "reason": "SchedulingPolicyUnfulfilled",
		"observedGeneration": int64(1), "message": "found 2",
	}}, "status", "conditions"))
	_, done := rolloutLine(short)
	require.False(t, done)
	require.True(t, lacksMembers(short))

	require.NoError(t, unstructured.SetNestedField(short.Object, int64(1), "status", "counts", "available"))
	require.False(t, lacksMembers(short), "the members it has are not done yet")
}

func TestRolloutLineIsDoneOnlyWhenEverythingIs(t *testing.T) {
	objects := objectsOf(t, web, everywhere)
	line, done := rolloutLine(objects[0])
	require.False(t, done)
	require.Equal(t, "placement/web: 3 of 4 current, 3 applied, 2 available, 1 failed; held up by lyon: Deployment shop/cart 0 of 2 available", line)

	line, done = rolloutLine(objects[1])
	require.True(t, done)
	require.Equal(t, "placement/everywhere: rolled out, 2 of 2 current, 2 applied, 2 available", line)

	objects[1].SetGeneration(2)
	line, done = rolloutLine(objects[1])
	require.False(t, done)
	require.Equal(t, "placement/everywhere: waiting for the hub to look at generation 2", line)
}

func TestProgressIsABarOnATerminalOnly(t *testing.T) {
	placement := objectsOf(t, web)[0]
	shown := func(terminal bool) string {
		var out bytes.Buffer
		a := &app{Environment: Environment{Out: &out, Terminal: terminal}}
		a.progress(placement, "half", "", false)
		a.progress(placement, "half", "half", true)
		return out.String()
	}
	require.Equal(t, "half\n", shown(false))
	require.Equal(t, "\r\033[K[##########----------] half\r\033[K[##########----------] half\n", shown(true))
	require.Equal(t, "[--------------------]", bar(0, 0))
	require.Equal(t, "[####################]", bar(9, 3))
}

func TestConditionsOfWait(t *testing.T) {
	placement := objectsOf(t, web)[0]
	for _, c := range []struct {
		value string
		met   bool
		found string
	}{
		{"condition=Scheduled", true, "True"},
		{"condition=ClusterResourcePlacementScheduled", true, "True"},
		{"condition=RolloutStarted", false, "False RolloutNotStartedYet, one waits"},
		{"condition=RolloutStarted=false", true, "False"},
		{"condition=Applied", false, "no such condition"},
		{"jsonpath={.status.counts.picked}=4", true, "4"},
		{"jsonpath={.status.counts.picked}=5", false, "4"},
		{"jsonpath=.status.counts.failed", true, "1"},
		{"jsonpath={.status.nothing}", false, "no such field"},
	} {
		want, err := parseFor(c.value)
		require.NoError(t, err, c.value)
		met, found := want(placement)
		require.Equal(t, c.met, met, c.value)
		require.Equal(t, c.found, found, c.value)
	}
	placement.SetGeneration(4)
	met, found := conditionTest("Scheduled", "True")(placement)
	require.False(t, met, "a condition observed on an older generation does not count")
	require.Contains(t, found, "observed on generation 3, the object has 4")
}

func TestWatchedRowsKeepTheirColumns(t *testing.T) {
	var out bytes.Buffer
	a := &app{Environment: Environment{Out: &out, Now: func() time.Time { return tableNow }}}
	w := &watchPrinter{app: a, output: &output{}, tables: map[string]*watchTable{}}
	placements := objectsOf(t, web, everywhere)
	require.NoError(t, w.print(placements, false))
	placements[0].SetGeneration(4)
	require.NoError(t, w.print(placements[:1], false))
	require.Equal(t, `NAME         GEN   WANT   PICKED   APPLIED   AVAILABLE   DRIFT   FAILED   AGE
web          3     4      4        3         2           0       1        2d
everywhere   1     all    2        2         2           0       0        60s
web          4     4      4        3         2           0       1        2d
`, out.String())

	out.Reset()
	only := &watchPrinter{app: a, output: &output{}, tables: map[string]*watchTable{}}
	require.NoError(t, only.print(placements, true))
	require.Empty(t, out.String())
	require.NoError(t, only.print(placements[:1], false))
	require.Equal(t, `NAME         GEN   WANT   PICKED   APPLIED   AVAILABLE   DRIFT   FAILED   AGE
web          4     4      4        3         2           0       1        2d
`, out.String())
}

// Who watches for hours sees later rows, with longer cells than any before, still below their heads.
func TestWatchedRowsThatOutgrowTheirHeadGetAWiderOne(t *testing.T) {
	var out bytes.Buffer
	now := tableNow
	a := &app{Environment: Environment{Out: &out, Now: func() time.Time { return now }}}
	watched := func(o *output) *watchPrinter {
		out.Reset()
		return &watchPrinter{app: a, output: o, tables: map[string]*watchTable{}}
	}
	w := watched(&output{})
	require.NoError(t, w.print(objectsOf(t, web), false))
	later := objectsOf(t, everywhere)
	require.NoError(t, w.print(later, false))
	require.NoError(t, w.print(objectsOf(t, web), false))
	now = now.Add(time.Hour)
	require.NoError(t, w.print(later, false))
	require.Equal(t, `NAME   GEN   WANT   PICKED   APPLIED   AVAILABLE   DRIFT   FAILED   AGE
web    3     4      4        3         2           0       1        2d
NAME         GEN   WANT   PICKED   APPLIED   AVAILABLE   DRIFT   FAILED   AGE
everywhere   1     all    2        2         2           0       0        60s
web          3     4      4        3         2           0       1        2d
everywhere   1     all    2        2         2           0       0        61m
`, out.String())

	now = tableNow
	w = watched(&output{noHeaders: true})
	for _, text := range []string{web, everywhere, web} {
		require.NoError(t, w.print(objectsOf(t, text), false))
	}
	require.Equal(t, `web   3     4     4     3     2     0     1     2d
everywhere   1     all   2     2     2     0     0     60s
web          3     4     4     3     2     0     1     2d
`, out.String())
}

func TestWatchedMembersThatOutgrowTheirHeadGetAWiderOne(t *testing.T) {
	var out bytes.Buffer
	now := tableNow
	a := &app{Environment: Environment{Out: &out, Now: func() time.Time { return now }}}
	lines := &lineTable{app: a}
	berlin := memberLine{member: "berlin", snapshot: "1", state: "Applied", since: tableNow.Add(-time.Minute)}
	require.NoError(t, lines.print([]memberLine{berlin}))
	require.NoError(t, lines.print([]memberLine{{member: "johannesburg", snapshot: "1", state: "Withdrawing", since: tableNow}}))
	now = now.Add(48 * time.Hour)
	require.NoError(t, lines.print([]memberLine{berlin}))
	require.Equal(t, `MEMBER   SNAPSHOT   STATE     SINCE   MESSAGE
berlin   1          Applied   60s     -
MEMBER         SNAPSHOT   STATE         SINCE   MESSAGE
johannesburg   1          Withdrawing   0s      -
berlin         1          Applied       2d      -
`, out.String())
}

func TestTheTableOfMembersHasShortLabels(t *testing.T) {
	v := view{object: &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"labels": map[string]any{
		api.LabelMemberName: "berlin", "region": "eu", api.LabelLocation: "westeurope",
	}}}}}
	require.Equal(t, "region=eu", memberLabels(v))
	require.Equal(t, api.LabelLocation+"=westeurope", fleetLabels(v))
	member := &unstructured.Unstructured{Object: map[string]any{"kind": api.KindMemberCluster}}
	options := (&output{showLabels: true}).tableOptions([]*unstructured.Unstructured{member}, false)
	require.False(t, options.ShowLabels, "it has a column of labels already")
}

func TestKeysThatPeopleGaveAreDescribedAsTheyAre(t *testing.T) {
	text := describeObject(&unstructured.Unstructured{Object: map[string]any{
		"kind": "ConfigMap", "data": map[string]any{"maxConnections": "5"},
		"status": map[string]any{"counts": map[string]any{"want": int64(-1), "picked": int64(3)}},
	}})
	require.Contains(t, text, "  maxConnections:")
	require.Regexp(t, `Want: +all`, text)
	require.Regexp(t, `Picked: +3`, text)
}
