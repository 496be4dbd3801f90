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
