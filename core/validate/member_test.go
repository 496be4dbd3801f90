package validate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/strict"
)

func TestRulesOfMembers(t *testing.T) {
	many := ""
	for i := range 101 {
		many += fmt.Sprintf("{key: k%d, effect: NoSchedule},", i)
	}
	checkRules(t, "apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\n", []rule{
		{"as little as can be", "metadata: {name: berlin}\n", nil},
		{"everything", `metadata:
  name: berlin
  labels: {region: east, kubernetes-fleet.io/member-name: berlin}
  annotations: {flotilla.io/agent-labels: "fleet.azure.com/*, tier,*"}
spec:
  identity: {kind: ServiceAccount, apiGroup: "", name: a, namespace: b}
  heartbeatPeriodSeconds: 600
  taints: [{key: a, effect: NoSchedule}, {key: example.com/a, value: b, effect: NoSchedule}, {key: a, value: c, effect: NoSchedule}]
  deleteOptions: {validationMode: Skip, whenLeaving: Delete}
`, nil},
		{"no name", "spec: {}\n", []string{"metadata.name: found nothing, expected a name"}},
		{"a name with dots", "metadata: {name: a.b}\n", []string{`metadata.name: found "a.b", expected lower-case letters, digits and '-', beginning and ending with a letter or digit`}},
		{"a long name", "metadata: {name: " + strings.Repeat("a", 64) + "}\n", []string{`metadata.name: found "` + strings.Repeat("a", 64) + `", expected at most 63 characters, not 64`}},
		{"a namespace", "metadata: {name: a, namespace: b}\n", []string{`metadata.namespace: found "b", expected nothing: a MemberCluster lies in no namespace`}},
		{"another's name", "metadata: {name: a, labels: {kubernetes-fleet.io/member-name: b}}\n", []string{
			`metadata.labels["kubernetes-fleet.io/member-name"]: found "b", expected the member's own name, "a"`,
		}},
		{"labels of its agent", "metadata: {name: a, annotations: {flotilla.io/agent-labels: \"ok, a b, */*, A B/*\"}}\n", []string{
			`metadata.annotations["flotilla.io/agent-labels"]: found "a b", expected label keys separated by commas, "prefix/*" for all keys of a prefix, or "*"`,
			`metadata.annotations["flotilla.io/agent-labels"]: found "*/*", expected label keys separated by commas, "prefix/*" for all keys of a prefix, or "*"`,
			`metadata.annotations["flotilla.io/agent-labels"]: found "A B/*", expected label keys separated by commas, "prefix/*" for all keys of a prefix, or "*"`,
		}},
		{"heartbeats", "metadata: {name: a}\nspec: {heartbeatPeriodSeconds: 601}\n", []string{"spec.heartbeatPeriodSeconds: found number 601, expected a number from 1 to 600"}},
		{"heartbeats backwards", "metadata: {name: a}\nspec: {heartbeatPeriodSeconds: -1}\n", []string{"spec.heartbeatPeriodSeconds: found number -1, expected a number from 1 to 600"}},
		{"taints", "metadata: {name: a}\nspec: {taints: [{key: \"\", effect: \"\"}, {key: a, value: \"-\", effect: NoExecute}, {key: a}, {key: b, effect: NoSchedule}, {key: b, effect: NoSchedule}]}\n", []string{
			"spec.taints[2].effect: found nothing, expected NoSchedule",
			"spec.taints[0].key: found nothing, expected a name, optionally with a DNS prefix and a slash before it",
			"spec.taints[0].effect: found nothing, expected NoSchedule",
			`spec.taints[1].value: found "-", expected at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit`,
			`spec.taints[1].effect: found "NoExecute", expected NoSchedule`,
			"spec.taints[4]: found the same taint as item 3, expected each taint once",
		}},
		{"too many taints", "metadata: {name: a}\nspec: {taints: [" + many + "]}\n", []string{"spec.taints: found a list of 101, expected at most 100 taints"}},
		{"leaving", "metadata: {name: a}\nspec: {deleteOptions: {validationMode: Lax, whenLeaving: Remove}}\n", []string{
			`spec.deleteOptions.validationMode: found "Lax", expected Strict or Skip`,
			`spec.deleteOptions.whenLeaving: found "Remove", expected Retain or Delete`,
		}},
		{"status is read loosely", "metadata: {name: a}\nstatus: {novelty: 1, resourceUsage: {capacity: {cpu: 4}}, properties: {x: {value: 7}}, agentStatus: [{type: MemberAgent}]}\n", nil},
		{"status that cannot be read", "metadata: {name: a}\nstatus: {agentStatus: [{type: MemberAgent, lastReceivedHeartbeat: soon}]}\n", []string{
			`status.agentStatus[0].lastReceivedHeartbeat: found "soon", expected a time like "2026-11-20T13:00:00Z"`,
		}},
	})
}

func TestStatusOfAMemberIsKeptForPlansAndDroppedByTheHub(t *testing.T) {
	d, faults := decodeYAML(t, `apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: MemberCluster
metadata: {name: a, uid: u, resourceVersion: "7", creationTimestamp: "2026-11-20T13:00:00Z", deletionTimestamp: null, managedFields: [{anything: 1}], finalizers: [x], labels: {a: b}}
status: {resourceUsage: {capacity: {cpu: 4}}, agentStatus: [{type: MemberAgent, lastReceivedHeartbeat: "2026-11-20T13:00:00Z"}]}
`)
	require.Empty(t, faults)
	require.Equal(t, "4", As[api.MemberCluster](&d).Status.ResourceUsage.Capacity["cpu"])
	require.True(t, api.MemberOf(As[api.MemberCluster](&d)).HasAgent)
	require.Equal(t, "u", string(As[api.MemberCluster](&d).UID))
	require.Equal(t, "ignored, because the hub sets it: metadata.creationTimestamp, metadata.finalizers, metadata.managedFields, metadata.resourceVersion, metadata.uid, status", d.DropServerSet())
	require.Equal(t, "7", d.ResourceVersion)
	require.Equal(t, "u", d.UID)
	raw, err := json.Marshal(As[api.MemberCluster](&d))
	require.NoError(t, err)
	require.JSONEq(t, `{"apiVersion":"cluster.kubernetes-fleet.io/v1beta1","kind":"MemberCluster","metadata":{"name":"a","labels":{"a":"b"}}}`, string(raw))
}

func TestRulesOfContent(t *testing.T) {
	checkRules(t, "", []rule{
		{"an object", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a.b, namespace: c, labels: {d: e}, novelty: 1}\ndata: {f: 1}\n", nil},
		{"nothing", "{}\n", []string{"apiVersion: found nothing, expected a string", "kind: found nothing, expected a string"}},
		{"no strings", "apiVersion: 1\nkind: [a]\n", []string{"apiVersion: found number 1, expected a string", "kind: found a list of 1, expected a string"}},
		{"no name", "apiVersion: v1\nkind: ConfigMap\n", []string{"metadata.name: found nothing, expected a name"}},
		{"metadata of another shape", "apiVersion: v1\nkind: ConfigMap\nmetadata: a\n", []string{`metadata: found "a", expected a map with name, namespace, generateName, labels, annotations`}},
		{"a name to be made up", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n", []string{
			`metadata.generateName: found "a-", expected a fixed name in metadata.name: members could not tell generated ones apart`,
			"metadata.name: found nothing, expected a name",
		}},
		{"names", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_b, namespace: c.d}\n", []string{
			`metadata.name: found "A_b", expected at most 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit`,
			`metadata.namespace: found "c.d", expected lower-case letters, digits and '-', beginning and ending with a letter or digit`,
		}},
		{"a namespace is a label", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a.b}\n", []string{
			`metadata.name: found "a.b", expected lower-case letters, digits and '-', beginning and ending with a letter or digit`,
		}},
		{"a role may have colons", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"system:a:B\"}\n", nil},
		{"but no slash", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a/b}\n", []string{
			`metadata.name: found "a/b", expected a name of printable characters without '/' and '%', of at most 253 bytes, and not '.' or '..'`,
		}},
		{"as long as a name may be", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"" + strings.Repeat("A", 253) + "\"}\n", nil},
		{"and longer", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"" + strings.Repeat("A", 254) + "\"}\n", []string{
			"metadata.name: found " + strict.Quote(strings.Repeat("A", 254)) + ", expected a name of printable characters without '/' and '%', of at most 253 bytes, and not '.' or '..'",
		}},
		{"labels and annotations", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {tier: 1, \"a b\": c}, annotations: {x: true}}\n", []string{
			`metadata.annotations.x: found boolean true, expected a string; words like yes, no, on, off, true and false are strings where they stand in quotes`,
			`metadata.labels.tier: found number 1, expected a string, "1"`,
			`metadata.labels["a b"]: found "a b", expected a name of at most 63 letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before it`,
		}},
		{"a list", "apiVersion: v1\nkind: List\nitems: [{}]\n", []string{"items: found a list of 1, expected one object a document; send the items of a list one by one"}},
		{"a list of ours that is none", "apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: a}\nspec: {items: []}\n", nil},
	})
}

func TestContentIsKeptAsItIs(t *testing.T) {
	raw := []byte(`{"kind":"Thing", "apiVersion":"example.com/v1","metadata":{"name":"a"},"spec":{"big":12345678901234567890123}}`)
	d, faults := Decode(raw)
	require.Empty(t, faults)
	require.True(t, d.IsContent())
	require.Equal(t, string(raw), string(d.Body))
	require.Equal(t, api.ObjectRef{APIVersion: "example.com/v1", Kind: "Thing", Name: "a"}, d.Object)
}
