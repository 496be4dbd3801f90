package show

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func printed(t *testing.T, o Output, single bool, objects ...*unstructured.Unstructured) string {
	t.Helper()
	var out bytes.Buffer
	a := resource.New(session.New(session.Environment{Out: &out, Now: func() time.Time { return clitest.Now }}))
	require.NoError(t, o.PrintObjects(a, objects, single))
	return out.String()
}

// cellOf is the cell of an object in a column.
func cellOf(t *testing.T, obj *unstructured.Unstructured, name string) any {
	t.Helper()
	for _, c := range ColumnsOf(obj.GetKind(), obj, clitest.Now) {
		if c.Name == name {
			return c.cell
		}
	}
	require.Fail(t, "no column "+name)
	return nil
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
		obj := clitest.ObjectsOf(t, "{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin}, status: {credentials: "+status+"}}")[0]
		require.Equal(t, want, cellOf(t, obj, "Credentials"))
	}
}

func TestTables(t *testing.T) {
	members, placements := clitest.ObjectsOf(t, clitest.Berlin, clitest.Oslo), clitest.ObjectsOf(t, clitest.Web, clitest.Everywhere)
	require.Equal(t, `NAME     STATE            AGE   VERSION   NODES   CPU-FREE   MEM-FREE   PLACED   LABELS
berlin   Ready,Cordoned   3h    v1.33.1   7       14         54Gi       3        region=eu,ring=1
oslo     Joining          -     -         2       -          -          0        -
`, printed(t, Output{}, false, members...))
	require.Equal(t, `NAME     STATE            AGE   VERSION   NODES   CPU-FREE   MEM-FREE   PLACED   TAINTS                                                AGENT    HEARTBEAT   CREDENTIALS   LABELS             FLEET-LABELS
berlin   Ready,Cordoned   3h    v1.33.1   7       14         54Gi       3        flotilla.io/cordoned:NoSchedule,gpu=a100:NoSchedule   v0.2.0   12s ago     29d left      region=eu,ring=1   -
`, printed(t, Output{Format: "wide"}, false, members[0]))
	require.Equal(t, `NAME         GEN   WANT   PICKED   APPLIED   AVAILABLE   DRIFT   FAILED   AGE
everywhere   1     all    2        2         2           0       0        60s
web          3     4      4        3         2           0       1        2d
`, printed(t, Output{SortBy: ".status.counts.picked"}, false, placements...))
	require.Equal(t, `web   3     4     4     3     2     0     1     2d    PickN   3     2     RolloutStarted=False   lyon: Deployment shop/cart 0 of 2 available
`, printed(t, Output{Format: "wide", NoHeaders: true}, false, clitest.ObjectsOf(t, clitest.Web)...))
}

func TestEvictionsAndDrainsInTables(t *testing.T) {
	shown := func(output Output, text string) string {
		return printed(t, output, false, clitest.ObjectsOf(t, text)...)
	}
	const eviction = "{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacementEviction, metadata: {name: e}, spec: {placementName: web, clusterName: berlin}"
	require.Equal(t, `NAME   PLACEMENT   MEMBER   VALID   EXECUTED   AGE   MESSAGE
e      web         berlin   -       -          -     -
`, shown(Output{Format: "wide"}, eviction+"}"))
	require.Equal(t, `NAME   PLACEMENT   MEMBER   VALID   EXECUTED   AGE   MESSAGE
e      web         berlin   True    False      -     blocked
`, shown(Output{Format: "wide"}, eviction+", status: {conditions: [{type: Valid, status: 'True', message: valid}, {type: Executed, status: 'False', message: blocked}]}}"))
	require.Equal(t, `NAME   PLACEMENT   MEMBER   VALID   EXECUTED   AGE   MESSAGE
e      web         berlin   False   -          -     no binding
`, shown(Output{Format: "wide"}, eviction+", status: {conditions: [{type: Valid, status: 'False', message: no binding}]}}"))
	require.Equal(t, `NAME   MAX-UNAVAILABLE   MIN-AVAILABLE   AGE
web    25%               -               -
`, shown(Output{}, "{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacementDisruptionBudget, metadata: {name: web}, spec: {maxUnavailable: 25%}}"))
	drained := clitest.ObjectsOf(t, "{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin}, spec: {taints: [{key: flotilla.io/cordoned, value: drain, effect: NoSchedule}]}, status: {state: Ready}}")[0]
	require.Equal(t, "Ready,Draining", cellOf(t, drained, "State"))
}

func TestMachineFormats(t *testing.T) {
	objects := clitest.ObjectsOf(t, clitest.Web, clitest.Berlin)
	require.Equal(t, "clusterresourceplacement.placement.kubernetes-fleet.io/web\nmembercluster.cluster.kubernetes-fleet.io/berlin\n",
		printed(t, Output{Format: "name"}, false, objects...))
	require.Equal(t, "web berlin\n", printed(t, Output{Format: "jsonpath={.items[*].metadata.name}"}, false, objects...))
	require.Equal(t, "4\n", printed(t, Output{Format: "jsonpath={.status.counts.picked}"}, true, objects[0]))
	require.Equal(t, "web", printed(t, Output{Format: "go-template={{.metadata.name}}"}, true, objects[0]))
	require.Equal(t, "NAME     STATE    PICKED\nweb      <none>   4\nberlin   Ready    <none>\n",
		printed(t, Output{Format: "custom-columns=NAME:.metadata.name,STATE:.status.state,PICKED:{.status.counts.picked}"}, false, objects...))
	require.Contains(t, printed(t, Output{Format: "yaml"}, true, objects[1]), "\nkind: MemberCluster\n")
	require.Contains(t, printed(t, Output{Format: "json"}, false, objects...), `"kind": "List"`)
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

func TestWatchedRowsKeepTheirColumns(t *testing.T) {
	var out bytes.Buffer
	a := resource.New(session.New(session.Environment{Out: &out, Now: func() time.Time { return clitest.Now }}))
	w := &WatchPrinter{Client: a, Output: &Output{}, Tables: map[string]*WatchTable{}}
	placements := clitest.ObjectsOf(t, clitest.Web, clitest.Everywhere)
	require.NoError(t, w.Print(placements, false))
	placements[0].SetGeneration(4)
	require.NoError(t, w.Print(placements[:1], false))
	require.Equal(t, `NAME         GEN   WANT   PICKED   APPLIED   AVAILABLE   DRIFT   FAILED   AGE
web          3     4      4        3         2           0       1        2d
everywhere   1     all    2        2         2           0       0        60s
web          4     4      4        3         2           0       1        2d
`, out.String())

	out.Reset()
	only := &WatchPrinter{Client: a, Output: &Output{}, Tables: map[string]*WatchTable{}}
	require.NoError(t, only.Print(placements, true))
	require.Empty(t, out.String())
	require.NoError(t, only.Print(placements[:1], false))
	require.Equal(t, `NAME         GEN   WANT   PICKED   APPLIED   AVAILABLE   DRIFT   FAILED   AGE
web          4     4      4        3         2           0       1        2d
`, out.String())
}

// Who watches for hours sees later rows, with longer cells than any before, still below their heads.
func TestWatchedRowsThatOutgrowTheirHeadGetAWiderOne(t *testing.T) {
	var out bytes.Buffer
	now := clitest.Now
	a := resource.New(session.New(session.Environment{Out: &out, Now: func() time.Time { return now }}))
	watched := func(o *Output) *WatchPrinter {
		out.Reset()
		return &WatchPrinter{Client: a, Output: o, Tables: map[string]*WatchTable{}}
	}
	w := watched(&Output{})
	require.NoError(t, w.Print(clitest.ObjectsOf(t, clitest.Web), false))
	later := clitest.ObjectsOf(t, clitest.Everywhere)
	require.NoError(t, w.Print(later, false))
	require.NoError(t, w.Print(clitest.ObjectsOf(t, clitest.Web), false))
	now = now.Add(time.Hour)
	require.NoError(t, w.Print(later, false))
	require.Equal(t, `NAME   GEN   WANT   PICKED   APPLIED   AVAILABLE   DRIFT   FAILED   AGE
web    3     4      4        3         2           0       1        2d
NAME         GEN   WANT   PICKED   APPLIED   AVAILABLE   DRIFT   FAILED   AGE
everywhere   1     all    2        2         2           0       0        60s
web          3     4      4        3         2           0       1        2d
everywhere   1     all    2        2         2           0       0        61m
`, out.String())

	now = clitest.Now
	w = watched(&Output{NoHeaders: true})
	for _, text := range []string{clitest.Web, clitest.Everywhere, clitest.Web} {
		require.NoError(t, w.Print(clitest.ObjectsOf(t, text), false))
	}
	require.Equal(t, `web   3     4     4     3     2     0     1     2d
everywhere   1     all   2     2     2     0     0     60s
web          3     4     4     3     2     0     1     2d
`, out.String())
}

func TestTheTableOfMembersHasShortLabels(t *testing.T) {
	labels := map[string]any{api.LabelMemberName: "berlin", "region": "eu", api.LabelLocation: "westeurope"}
	labelled := &unstructured.Unstructured{Object: map[string]any{"kind": api.KindMemberCluster, "status": map[string]any{"labels": labels}}}
	require.Equal(t, "region=eu", cellOf(t, labelled, "Labels"))
	require.Equal(t, api.LabelLocation+"=westeurope", cellOf(t, labelled, "Fleet-Labels"))
	member := &unstructured.Unstructured{Object: map[string]any{"kind": api.KindMemberCluster}}
	options := (&Output{ShowLabels: true}).tableOptions([]*unstructured.Unstructured{member}, false)
	require.False(t, options.ShowLabels, "it has a column of labels already")
}

func TestKeysThatPeopleGaveAreDescribedAsTheyAre(t *testing.T) {
	text := DescribeObject(&unstructured.Unstructured{Object: map[string]any{
		"kind": "ConfigMap", "data": map[string]any{"maxConnections": "5"},
		"status": map[string]any{"counts": map[string]any{"want": int64(-1), "picked": int64(3)}},
	}})
	require.Contains(t, text, "  maxConnections:")
	require.Regexp(t, `Want: +all`, text)
	require.Regexp(t, `Picked: +3`, text)
}
