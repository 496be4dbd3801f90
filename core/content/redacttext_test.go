package content_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/content"
)

// configOf is a ConfigMap that holds a text, beside one that is nobody's secret.
func configOf(field, text string) string {
	encoded, _ := json.Marshal(text)
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e"},%q:{"s.yaml":%s,"plain":"visible"}}`, field, encoded)
}

// wrapping is an envelope of before there were kinds for them.
func wrapping(text string) string {
	return strings.Replace(configOf("data", text), `{"name":"e"}`, `{"name":"e","annotations":{"kubernetes-fleet.io/envelope-configmap":"true"}}`, 1)
}

// keptOf is an object of which kubectl keeps what was applied as another.
func keptOf(applied string) string {
	kept, _ := json.Marshal(applied)
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%s}},"data":{"plain":"visible"}}`, kept)
}

// hidden are objects that hold a Secret as a text, or put something into one.
func hidden() map[string]string {
	const yaml = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {password: hunter2}\n"
	kept, _ := json.Marshal(secretText)
	objects := map[string]string{
		"YAML among others": configOf("data", "kind: ConfigMap\n---\n"+yaml),
		"a tag":             configOf("data", "kind: !!str 'Secret'\ndata: {a: hunter2}"),
		"flow":              configOf("data", "{kind: Secret, stringData: {a: hunter2}}"),
		"the last line":     configOf("data", "stringData: {a: hunter2}\nkind:\n  Secret"),
		"JSON":              configOf("data", secretText),
		"base64":            configOf("binaryData", base64.StdEncoding.EncodeToString([]byte(yaml))),
		"kept by kubectl":   fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%s}},"data":{"plain":"visible"}}`, kept),
		"kept of an envelope": fmt.Sprintf(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ResourceEnvelope","metadata":{"annotations":{
			"kubectl.kubernetes.io/last-applied-configuration":%s}},"data":{"c":{"apiVersion":"v1","kind":"ConfigMap","data":{"plain":"visible"}}}}`, kept),
		"kept of an envelope of texts": keptOf(wrapping("stringData: {a: hunter2}\nkind: Secret\n")),
		"kept, and no JSON":            `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{hunter2"}},"data":{"plain":"visible"}}`,
		"spelled otherwise":            wrapping("stringData: {a: hunter2}\nkind: \"S\\u0065cret\"\napiVersion: v1\n"),
		"folded":                       wrapping("stringData: {a: hunter2}\nkind: >-\n  Secret\napiVersion: v1\n"),
		"an alias":                     wrapping("metadata: {labels: {k: &k Secret}}\nstringData: {a: hunter2}\nkind: *k\napiVersion: v1\n"),
		"in an envelope":               fmt.Sprintf(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ResourceEnvelope","data":{"c":%s}}`, configOf("data", yaml)),
	}
	for kind, field := range map[string]string{"ClusterResourceOverride": "clusterResourceSelectors", "ResourceOverride": "resourceSelectors"} {
		put := func(path string, value any) string {
			text, _ := json.Marshal(value)
			return fmt.Sprintf(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":%q,"metadata":{"name":"o"},"spec":{%q:[{"group":"","version":"v1","kind":"ConfigMap","name":"key"}],
				"policy":{"overrideRules":[{"jsonPatchOverrides":[{"op":"add","path":"/visible","value":1},{"op":"add","path":%q,"value":%s}]}]}}}`, kind, field, path, text)
		}
		objects[kind+" of a text"] = put("/data/a.yaml", yaml)
		objects[kind+" of bytes"] = put("/binaryData/a", base64.StdEncoding.EncodeToString([]byte(yaml)))
		objects[kind+" of texts"] = put("/data", map[string]any{"a.b": yaml})
		objects[kind+" of lists"] = put("/spec/anything", []any{"x", map[string]any{"y": []any{yaml}}})
		objects[kind+" of what kubectl keeps"] = put("/metadata/annotations", map[string]any{"kubectl.kubernetes.io/last-applied-configuration": secretText})
		objects[kind] = fmt.Sprintf(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":%q,"metadata":{"name":"o"},"spec":{%q:[{"group":"","version":"v1","kind":"Secret","name":"key"}],
			"policy":{"overrideRules":[{"clusterSelector":{"visible":1},"jsonPatchOverrides":[{"op":"remove","path":"/data/b"},{"op":"replace","path":"/data","value":{"a":"hunter2"}}]}]}}}`, kind, field)
	}
	return objects
}

// Secrets are shown as digests where they are texts and patches too, and what is shown stands for what is stored.
func TestSecretsInTextsAndOverridesAreShownAsDigests(t *testing.T) {
	for name, text := range hidden() {
		t.Run(name, func(t *testing.T) {
			object := tree(t, text)
			content.Redact(object, keys)
			shown := shownAs(t, object)
			require.NotContains(t, shown, "hunter2")
			require.NotContains(t, shown, base64.StdEncoding.EncodeToString([]byte("apiVersion"))[:12])
			require.Contains(t, shown, `"digest:`)
			require.Contains(t, shown, "visible")
			require.Empty(t, content.Unredact(object, tree(t, text), keys))
			require.JSONEq(t, text, shownAs(t, object), "and back")
			content.Redact(object, keys)
			require.Len(t, content.Unredact(object, nil, keys), 1, "it stands for nothing else")
		})
	}
}

// What only speaks of Secrets is shown as it is.
func TestTextsThatAreNoSecrets(t *testing.T) {
	for _, text := range []string{
		configOf("data", "kind: SecretStore\nname: a"), configOf("data", "Secret"), configOf("data", "a kind of Secret: none"), configOf("data", "digest:0123456789abcdef"),
		`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ResourceOverride","spec":{"resourceSelectors":[{"kind":"Deployment"}],"policy":{"overrideRules":[{
			"jsonPatchOverrides":[{"op":"replace","path":"/spec/replicas","value":3}]}]}}}`,
		`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ResourceOverride","spec":{"resourceSelectors":[{"kind":"Secret"}],"policy":{"overrideRules":"wrong"}}}`,
	} {
		object := tree(t, text)
		content.Redact(object, keys)
		require.JSONEq(t, text, shownAs(t, object))
		require.Empty(t, content.Unredact(object, nil, keys))
	}
}
