package content

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/envelope"
)

// overrides are the kinds that change what is placed, and where each names what it changes.
var overrides = map[string]string{"ClusterResourceOverride": "clusterResourceSelectors", "ResourceOverride": "resourceSelectors"}

// secretText finds a document of kind Secret in a text, YAML or JSON, whatever stands around it.
var secretText = regexp.MustCompile(`["']?\bkind["']?\s*:\s*(?:[!&]\S*\s+)*["']?Secret["']?\s*(?:[,}#\n]|$)`)

// textShown follows the digest of a text, so that nobody has written it for something else.
const textShown = " in the place of a Secret"

// textsOf replaces texts of a ConfigMap that are Secrets, as in the envelopes of before there were kinds for them.
func (v *values) textsOf(config map[string]any, prefix string) {
	secret := v.secretIn(config)
	for _, field := range []string{"data", "binaryData"} {
		held, _ := config[field].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(held)) {
			plain := func(text string) string { return text }
			if field == "binaryData" {
				plain = decoded
			}
			held[name] = changeText(prefix+field+"."+name, held[name], func(text string) bool { return secret(plain(text)) }, v.change)
		}
	}
	v.keptText(config, prefix)
}

// secretIn says which texts of a ConfigMap are Secrets. What holds more texts than an envelope is none to whoever opens it; one that lies in
// another is not opened, and may hold any.
func (v *values) secretIn(config map[string]any) func(text string) bool {
	texts, _ := config["data"].(map[string]any)
	binary, _ := config["binaryData"].(map[string]any)
	switch {
	case envelope.Of(config) == envelope.None || len(texts)+len(binary) > envelope.MaxItems:
		return holdsSecret
	case v.inside:
		return func(string) bool { return true }
	}
	return v.wrapsSecret
}

func decoded(text string) string {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return text
	}
	return string(plain)
}

// keptText replaces what kubectl keeps of the last apply, where that holds a Secret.
func (v *values) keptText(object map[string]any, prefix string) {
	if annotations := annotationsOf(object); annotations[lastApplied] != nil {
		annotations[lastApplied] = changeText(prefix+"metadata.annotations."+lastApplied, annotations[lastApplied], v.keepsSecret, v.change)
	}
}

// holdsSecret says that a text reads like a Secret.
func holdsSecret(text string) bool { return secretText.MatchString(text) }

// wrapsSecret says that a text in an envelope is a Secret, however it is spelled, or holds one; what is too large to be read may.
func (v *values) wrapsSecret(text string) bool {
	if holdsSecret(text) {
		return true
	}
	object, found := v.texts.Parse(text)
	return found == envelope.Beyond || found == "" && v.hasSecret(object, true)
}

// keepsSecret says that what kubectl keeps of an object, as JSON, has a Secret in it; what cannot be read may have.
func (v *values) keepsSecret(text string) bool {
	var object map[string]any
	return holdsSecret(text) || kjson.Unmarshal([]byte(text), &object) != nil || v.hasSecret(object, v.inside)
}

// hasSecret says that there are values of Secrets in an object, which may lie inside of an envelope.
func (v *values) hasSecret(object map[string]any, inside bool) (has bool) {
	found := &values{texts: v.texts, inside: inside, change: func(_ string, value any) any {
		has = true
		return value
	}}
	found.below(object, "")
	return has
}

// changeText changes a text that holds a Secret, or a digest that is shown for one.
func changeText(path string, value any, secret func(string) bool, change func(string, any) any) any {
	text, isText := value.(string)
	digest, shown := strings.CutSuffix(text, textShown)
	switch {
	case !isText:
	case shown && redactedValue.MatchString(digest):
		if whole := change(path, digest); whole != digest {
			return whole
		}
	case secret(text):
		if digest := change(path, text); digest != value {
			return fmt.Sprint(digest) + textShown
		}
	}
	return value
}

// patchesOf replaces what an override puts into objects, where Secrets are among those, what it puts where Secrets have their values, where
// they may be: in a Namespace; and in whatever else it puts anywhere, texts that are Secrets.
func (v *values) patchesOf(override map[string]any, prefix string) {
	spec, _ := override["spec"].(map[string]any)
	selectors, _ := spec[overrides[groupKindOf(override).kind]].([]any)
	named := func(kind string) bool {
		return slices.ContainsFunc(selectors, func(s any) bool { selector, _ := s.(map[string]any); return selector["kind"] == kind })
	}
	secrets, namespaces := named("Secret"), named("Namespace")
	policy, _ := spec["policy"].(map[string]any)
	rules, _ := policy["overrideRules"].([]any)
	for i := range rules {
		rule, _ := rules[i].(map[string]any)
		patches, _ := rule["jsonPatchOverrides"].([]any)
		for j := range patches {
			patch, _ := patches[j].(map[string]any)
			path := fmt.Sprintf("%sspec.policy.overrideRules[%d].jsonPatchOverrides[%d].value", prefix, i, j)
			switch {
			case patch["value"] == nil:
			case secrets || namespaces && intoValues(patch["path"]):
				patch["value"] = v.change(path, patch["value"])
			default:
				patch["value"] = secretTextsIn(path, patch["value"], v.change)
			}
		}
	}
}

// secretTextsIn is a value with the texts in it replaced that are Secrets, plain or as a ConfigMap keeps bytes.
func secretTextsIn(path string, value any, change func(string, any) any) any {
	switch held := value.(type) {
	case string:
		return changeText(path, held, func(text string) bool { return holdsSecret(text) || holdsSecret(decoded(text)) }, change)
	case []any:
		for i := range held {
			held[i] = secretTextsIn(fmt.Sprintf("%s[%d]", path, i), held[i], change)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(held)) {
			held[key] = secretTextsIn(path+"."+key, held[key], change)
		}
	}
	return value
}

// intoValues says that a path is where Secrets have their values.
func intoValues(path any) bool {
	text, _ := path.(string)
	return text == "/data" || text == "/stringData" || strings.HasPrefix(text, "/data/") || strings.HasPrefix(text, "/stringData/")
}
