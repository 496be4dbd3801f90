package content_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/content"
	"flotilla/core/seal"
)

const secretText = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","annotations":{"a":"b",
	"kubectl.kubernetes.io/last-applied-configuration":"hunter2"}},"type":"Opaque","data":{"one":"aHVudGVyMg==","two":"aHVudGVyMw=="},"stringData":{"raw":"hunter2","n":7}}`

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &object))
	return object
}

func shownAs(t *testing.T, object map[string]any) string {
	t.Helper()
	text, err := json.Marshal(object)
	require.NoError(t, err)
	return string(text)
}

// In the place of every value of a Secret stands a digest, also where it is in an envelope, and nothing else is changed.
func TestValuesOfSecretsAreShownAsDigests(t *testing.T) {
	envelope := `{"apiVersion":"placement.kubernetes-fleet.io/v1beta1","kind":"ResourceEnvelope","metadata":{"name":"e"},"data":{"s":` + secretText +
		`,"c":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"plain"},"data":{"k":"visible"}}}}`
	for name, text := range map[string]string{
		"a Secret": secretText, "an envelope": envelope, "values that are no map": `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key"},"data":"hunter2"}`,
	} {
		t.Run(name, func(t *testing.T) {
			object := tree(t, text)
			content.Redact(object, keys)
			shown := shownAs(t, object)
			for _, value := range []string{"hunter2", "aHVudGVyMg==", "aHVudGVyMw==", ":7"} {
				require.NotContains(t, shown, value)
			}
			if strings.Contains(text, "visible") {
				require.Contains(t, shown, "visible")
			}
			require.Empty(t, content.Unredact(object, tree(t, text), keys))
			require.JSONEq(t, text, shownAs(t, object), "and back")
		})
	}
	plain := tree(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"key"},"data":{"one":"digest:0123456789abcdef"}}`)
	before := shownAs(t, plain)
	content.Redact(plain, keys)
	require.Empty(t, content.Unredact(plain, nil, keys), "what is no Secret may hold anything")
	require.Equal(t, before, shownAs(t, plain))
}

// A digest tells whether a value changed, and of which name it is, and nothing without the keys.
func TestDigestsOfValues(t *testing.T) {
	value := func(keys *seal.Keyring, name, text string) any {
		object := map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{name: base64.StdEncoding.EncodeToString([]byte(text))}}
		content.Redact(object, keys)
		return object["data"].(map[string]any)[name]
	}

	other := &seal.Keyring{Digests: make([]byte, seal.KeyBytes), Content: keys.Content}
	require.Regexp(t, `^digest:[0-9a-f]{16}$`, value(keys, "one", "x"))
	first, again := value(keys, "one", "x"), value(keys, "one", "x")
	require.Equal(t, first, again)
	require.NotEqual(t, value(keys, "one", "x"), value(keys, "one", "y"))
	require.NotEqual(t, value(keys, "one", "x"), value(keys, "two", "x"), "equal passwords are not to be seen")
	require.NotEqual(t, value(keys, "one", "x"), value(other, "one", "x"))
}

// A digest stands for the value that is stored under its name, and for no other.
func TestADigestOfAnotherValueIsNotTakenForOne(t *testing.T) {
	stored := tree(t, secretText)
	object := tree(t, secretText)
	content.Redact(object, keys)
	data := object["data"].(map[string]any)
	data["one"], data["two"], data["new"] = data["two"], "aHVudGVyNA==", "digest:0123456789abcdef"
	require.Equal(t, []string{"data.new", "data.one"}, content.Unredact(object, stored, keys))
	require.Equal(t, "aHVudGVyNA==", data["two"], "a new value stays")
	require.Equal(t, "hunter2", object["stringData"].(map[string]any)["raw"])
	require.JSONEq(t, secretText, shownAs(t, stored), "what is stored is not changed")
}

// Whoever may not see values has them put back where they stay hidden, and nowhere else: what comes of it would show them.
func TestValuesArePutBackWhereTheyStayHidden(t *testing.T) {
	const (
		inEnvelope = `{"apiVersion":"placement.kubernetes-fleet.io/v1beta1","kind":"ResourceEnvelope","metadata":{"name":"e"},"data":{"s":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key"},"data":{"one":"aHVudGVyMg=="}}}}`
		inText     = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e","annotations":{"kubernetes-fleet.io/envelope-configmap":"true"}},"data":{"s":"{\"apiVersion\":\"v1\",\"kind\":\"Sec\\u0072et\",\"metadata\":{\"name\":\"key\"},\"data\":{\"one\":\"aHVudGVyMg==\"}}"}}`
		inOverride = `{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ResourceOverride","metadata":{"name":"o"},"spec":{"resourceSelectors":[{"kind":"Secret","name":"key"}],"policy":{"overrideRules":[{"jsonPatchOverrides":[{"op":"add","path":"/data/one","value":"aHVudGVyMg=="}]}]}}}`
	)
	metadata := func(object map[string]any) map[string]any { return object["metadata"].(map[string]any) }
	data := func(object map[string]any) map[string]any { return object["data"].(map[string]any) }
	for name, c := range map[string]struct {
		stored string
		change func(object map[string]any)
		left   []string
	}{
		"a Secret that changes": {secretText, func(object map[string]any) { object["type"], data(object)["one"] = "kubernetes.io/tls", "bmV3" }, nil},
		"a digest of another value": {secretText, func(object map[string]any) { data(object)["one"] = data(object)["two"] }, []string{
			"data.one", "data.two", "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration", "stringData.n", "stringData.raw",
		}},
		"an envelope as it is":         {inEnvelope, func(map[string]any) {}, nil},
		"with a label":                 {inEnvelope, func(object map[string]any) { metadata(object)["labels"] = map[string]any{"a": "b"} }, nil},
		"a Secret that is one no more": {inEnvelope, func(object map[string]any) { data(object)["s"].(map[string]any)["kind"] = "ConfigMap" }, nil},
		"a Secret that is a text now": {inEnvelope, func(object map[string]any) {
			inner := data(object)["s"].(map[string]any)
			inner["kind"], data(inner)["one"] = "ConfigMap", data(inner)["one"].(string)+" in the place of a Secret"
		}, []string{"data.s.data.one"}},
		"an envelope with more":         {inEnvelope, func(object map[string]any) { data(object)["t"] = map[string]any{} }, []string{"data.s.data.one"}},
		"a text as it is":               {inText, func(map[string]any) {}, nil},
		"a text in no envelope":         {inText, func(object map[string]any) { delete(metadata(object), "annotations") }, []string{"data.s"}},
		"an override as it is":          {inOverride, func(map[string]any) {}, nil},
		"an override of something else": {inOverride, func(object map[string]any) { object["spec"].(map[string]any)["placement"] = "web" }, []string{"spec.policy.overrideRules[0].jsonPatchOverrides[0].value"}},
	} {
		t.Run(name, func(t *testing.T) {
			object := tree(t, c.stored)
			content.Redact(object, keys)
			c.change(object)
			given := shownAs(t, object)
			require.Equal(t, c.left, content.UnredactHidden(object, tree(t, c.stored), keys))
			if c.left != nil {
				require.JSONEq(t, given, shownAs(t, object), "nothing is put back")
			}
			content.Redact(object, keys)
			require.NotContains(t, shownAs(t, object), "aHVudGVyMg==")
		})
	}
}

// An override that is followed to show objects keeps the keys of what it puts into Secrets.
func TestHiddenValuesKeepTheirKeys(t *testing.T) {
	override := tree(t, `{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourceOverride","metadata":{"name":"o"},"spec":{"clusterResourceSelectors":[{"kind":"Namespace","name":"shop"}],
		"policy":{"overrideRules":[{"jsonPatchOverrides":[{"op":"add","path":"/data","value":{"one":"aHVudGVyMg=="}},{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]}]}}}`)
	content.Hide(override, keys)
	shown := shownAs(t, override)
	require.Regexp(t, `"value":\{"one":"digest:[0-9a-f]{16}"\}`, shown)
	require.Contains(t, shown, `"value":{"a":"b"}`)
}

// Of an object that somebody wrote to who may not see values, digests are shown of what was hidden before and stands apart from what they
// wrote, whatever path they came by.
func TestNoDigestIsShownOfAGuess(t *testing.T) {
	const config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"kind: Secret","a.b":"kind: Secret","ab":"kind: Secret","plain":"x"}}`
	for place, want := range map[string]string{
		"data.a":               `{"a":"withheld","a.b":"withheld","ab":"digest","plain":"withheld"}`,
		"data.a.b":             `{"a":"withheld","a.b":"withheld","ab":"digest","plain":"withheld"}`,
		"data.ab":              `{"a":"digest","a.b":"digest","ab":"withheld","plain":"withheld"}`,
		"data":                 `{"a":"withheld","a.b":"withheld","ab":"withheld","plain":"withheld"}`,
		"metadata.annotations": `{"a":"digest","a.b":"digest","ab":"digest","plain":"withheld"}`,
	} {
		object := tree(t, config)
		object["data"].(map[string]any)["plain"] = "kind: Secret"
		content.RedactGuesses(object, tree(t, config), []string{place}, keys)
		shown := object["data"].(map[string]any)
		for key, value := range shown {
			if shown[key] = "digest"; strings.HasPrefix(value.(string), "digest:withheld") {
				shown[key] = "withheld"
			}
		}
		require.JSONEq(t, want, shownAs(t, shown), place)
	}
}

// Values of Secrets are a document's own where it says something of them, however little makes them Secrets.
func TestValuesAreThoseOfADocument(t *testing.T) {
	whole := `{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ResourceOverride","metadata":{"name":"o"},"spec":{"resourceSelectors":[{"kind":"Secret","name":"key"}],
		"policy":{"overrideRules":[{},{"jsonPatchOverrides":[{"op":"remove"},{"op":"add","path":"/data/one","value":"aHVudGVyMg=="}]}]}}}`
	at := []string{"spec.policy.overrideRules[1].jsonPatchOverrides[1].value"}
	require.Equal(t, at, content.ValuesOf(tree(t, whole), tree(t, whole)))
	require.Empty(t, content.ValuesOf(tree(t, `{"kind":"ResourceOverride","spec":{"policy":{"overrideRules":[{}]}}}`), tree(t, whole)))
	envelope := `{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ResourceEnvelope","data":{"a.b":{"apiVersion":"v1","kind":"Secret","data":{"c.d":"eA==","e":"eA=="}}}}`
	require.Equal(t, []string{"data.a.b.data.c.d"}, content.ValuesOf(tree(t, `{"data":{"a.b":{"data":{"c.d":"eA=="}}}}`), tree(t, envelope)))
	require.Empty(t, content.ValuesOf(tree(t, `{"data":{"a.b":{"data":{"c":"eA=="}}}}`), tree(t, envelope)))
}
