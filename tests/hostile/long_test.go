package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
)

// long is a name with which no subject is short enough for a server, where nothing bounds it.
var long = strings.Repeat("x", 5000)

// longNames are requests of every verb that names something.
func longNames() []change {
	type fields = map[string]any
	placement := fields{"apiVersion": web.APIVersion, "kind": web.Kind, "name": long}
	document := func(version, kind, namespace string) []any {
		return []any{fields{"apiVersion": version, "kind": kind, "metadata": fields{"name": long, "namespace": namespace}}}
	}
	return []change{
		{api.VerbEvents, fields{"object": "run/" + long}},
		{api.VerbHistory, fields{"object": placement}},
		{api.VerbGet, fields{"kind": web.Kind, "name": long}},
		{api.VerbGet, fields{"kind": long, "name": long, "apiVersion": long}},
		{api.VerbGet, fields{"kind": "Secret", "apiVersion": "v1", "name": long, "namespace": long}},
		{api.VerbList, fields{"kind": long, "continue": long}},
		{api.VerbRaw, fields{"bucket": subjects.State, "key": long}},
		{api.VerbRaw, fields{"bucket": subjects.Result, "key": long}},
		{api.VerbRaw, fields{"bucket": long, "key": "a"}},
		{api.VerbApply, fields{"documents": document("v1", "ConfigMap", "shop")}},
		{api.VerbApply, fields{"documents": document("rbac.authorization.k8s.io/v1", "ClusterRole", "")}},
		{api.VerbApply, fields{"documents": document(long+".k8s.io/v1", long, long)}},
		{api.VerbApply, fields{"set": long, "prune": true, "documents": []any{}}},
		{api.VerbPatch, fields{"object": placement, "patch": fields{}}},
		{api.VerbDelete, fields{"object": placement}},
		{api.VerbDelete, fields{"objects": []any{placement}}},
		{api.VerbRolloutUndo, fields{"object": placement}},
		{api.VerbRolloutPause, fields{"object": placement}},
		{api.VerbRolloutRestart, fields{"object": placement}},
		{api.VerbApproveWithdrawal, fields{"object": placement, "placement": long, "member": long, "name": long, "scope": long}},
		{api.VerbRunStart, fields{"run": long}},
		{api.VerbRunApprove, fields{"run": long, "gate": long}},
		{api.VerbRunGenerate, fields{"profile": long, "name": long}},
		{api.VerbDeleteNode, fields{"member": victim, "node": long}},
		{api.VerbWhyNode, fields{"member": victim, "node": long}},
		{api.VerbDisruptions, fields{"member": long, "name": long}},
		{api.VerbBudgets, fields{"member": long, "pool": long}},
		{api.VerbPreview, fields{"member": victim, "placement": placement}},
		{api.VerbWhy, fields{"placement": long}},
		{api.VerbFreeze, fields{"scope": "member/" + long, "reason": long}},
		{api.VerbMemberRevoke, fields{"name": long}},
		{api.VerbEnrol, fields{"name": long}},
		{api.VerbAdmit, fields{"name": long}},
		{api.VerbUserRevoke, fields{"name": long}},
	}
}

// A server ends a connection over which too long a line comes: no name that somebody sends becomes one of the hub's.
func TestNoNameIsTooLongForTheHub(t *testing.T) {
	g := newGround(t)
	for i, c := range longNames() {
		text, err := json.Marshal(c.request)
		require.NoError(t, err)
		answer, code := g.raw(g.fleet.Client, c.verb, fmt.Sprint("r", i), text)
		require.NotEqual(t, api.CodeInternal, code, "%s %.100s: %.100s", c.verb, text, answer)
	}
	// A read of the longest subject that a server takes from the member.
	subject := subjects.DirectGet(g.names.Stream(subjects.Events), g.names.NodeEvent(attacker, ""))
	inbox := subjects.Inbox(attacker)
	subject += strings.Repeat("n", 4090-len(inbox)-len(subject)-len("PUB   0"))
	conn := connectRaw(t.Context(), strings.TrimPrefix(g.fleet.Hub.Server().URL(), "nats://"), g.creds, inbox+".*")
	require.NotNil(t, conn)
	_, err := fmt.Fprintf(conn, "PUB %s %s.a 0\r\n\r\n", subject, inbox)
	require.NoError(t, err)
	oslo := g.connect(g.fleet.Hub.Server(), victim)
	content := bustest.StoreContent(g, g.hub, 100)
	for range 20 {
		found, err := oslo.Request(subjects.DirectGet(g.names.BucketStream(subjects.Content), content), nil, 5*time.Second)
		require.NoError(t, err)
		require.Empty(t, found.Header.Get(bus.HeaderStatus))
	}
	g.lives()
}
