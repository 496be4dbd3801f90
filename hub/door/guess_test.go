package door_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

var digestIn = regexp.MustCompile(`digest:[0-9a-f]{16}`)

var uidIn = regexp.MustCompile(`"uid":"[-0-9a-f]+"`)

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// pinText is a Secret as text; pinOdd is one that only what reads it takes for a Secret.
func pinText(pin string) string {
	return "kind: Secret\napiVersion: v1\nmetadata: {name: pin}\nstringData: {pin: \"" + pin + "\"}\n"
}

func pinOdd(pin string) string {
	return `{"apiVersion":"v1","kind":"S\u0065cret","metadata":{"name":"pin","namespace":"shop"},"stringData":{"pin":"` + pin + `"}}`
}

// pinFilled is a text that a label of a member makes a Secret, and labelled the member with that label.
func pinFilled(pin string) string {
	return strings.Replace(pinText(pin), "kind: Secret", "kind: ${MEMBER-CLUSTER-LABEL-KEY-kind}", 1)
}

func labelled(pin string) string {
	return `{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: oslo, labels: {kind: Secret, pin: "` + pin + `"}}}`
}

func jsonOf(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// patching is an override that puts a value at a path of an object of the namespace, or of everything in it.
func patching(kind, name, path string, value any) string {
	head, selectors := `kind: ResourceOverride, metadata: {name: guess-`+strings.ToLower(name)+`, namespace: shop}`, "resourceSelectors"
	if kind == "Namespace" {
		head, selectors = `kind: ClusterResourceOverride, metadata: {name: guess}`, "clusterResourceSelectors"
	}
	return `{apiVersion: placement.kubernetes-fleet.io/v1, ` + head + `, spec: {` + selectors + `: [{group: "", version: v1, kind: ` + kind + `, name: ` + name + `}],
	  policy: {overrideRules: [{clusterSelector: {}, jsonPatchOverrides: [{op: add, path: "` + path + `", value: ` + jsonOf(value) + `}]}]}}}`
}

func configNamed(name string, metadata, data map[string]any) string {
	metadata["name"], metadata["namespace"] = name, "shop"
	return jsonOf(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

func annotated(key, value string) map[string]any {
	return map[string]any{"annotations": map[string]any{key: value}}
}

// pins is a fleet of which a viewer is shown digests of the PIN 4711 in many places.
func pins(t *testing.T) *house {
	t.Helper()
	h := peopled(t)
	h.apply(`{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: oslo, labels: {kind: none, pin: "0000"}}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`,
		configNamed("cfg", map[string]any{}, map[string]any{"s": pinText("4711")}),
		configNamed("plain", map[string]any{}, map[string]any{"s": "x"}),
		configNamed("labelled", map[string]any{}, map[string]any{"s": "x"}),
		configNamed("patched", map[string]any{}, map[string]any{"s": pinOdd("4711")}),
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: bin, namespace: shop}, binaryData: {b: "`+base64.StdEncoding.EncodeToString([]byte(pinText("4711")))+`"}}`,
		patching("ConfigMap", "labelled", "/data/s", pinFilled("${MEMBER-CLUSTER-LABEL-KEY-pin}")),
		`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: shop}, spec: {
		  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}], policy: {placementType: PickFixed, clusterNames: [oslo]}}}`)
	must[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{
		Object: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "patched"},
		Patch:  json.RawMessage(jsonOf(map[string]any{"metadata": annotated(api.AnnotationEnvelope, "true")})),
	})
	_, _, failure := h.put(api.ApplyRequest{Managed: true}, configNamed("kept", annotated(lastApplied, pinOdd("4711")), map[string]any{"s": "x"}))
	require.Nil(t, failure)
	return h
}

// Whatever a viewer has previewed, planned or asked what if, by any document and any path, a right guess of a value of a Secret is
// answered as a wrong one, and no digest is shown of it.
func TestNoGuessOfAViewerIsTold(t *testing.T) {
	h := pins(t)
	viewer := h.add("vera", api.RoleViewer)
	managed := must[json.RawMessage](h, api.VerbGet, api.GetRequest{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "kept", Managed: true})
	require.Contains(t, string(managed), `"digest:`)
	for name, documents := range map[string]func(pin string) []string{
		"the object itself": func(pin string) []string { return []string{patching("ConfigMap", "cfg", "/data/s", pinText(pin))} },
		"another object":    func(pin string) []string { return []string{patching("ConfigMap", "plain", "/data/s", pinText(pin))} },
		"an object of theirs": func(pin string) []string {
			return []string{configNamed("g", map[string]any{}, map[string]any{"s": "x"}), patching("ConfigMap", "g", "/data/s", pinText(pin))}
		},
		"all data": func(pin string) []string {
			return []string{patching("ConfigMap", "cfg", "/data", map[string]any{"s": pinText(pin)})}
		},
		"bytes": func(pin string) []string {
			return []string{patching("Namespace", "shop", "/binaryData/b", base64.StdEncoding.EncodeToString([]byte(pinText(pin))))}
		},
		"all bytes": func(pin string) []string {
			return []string{patching("ConfigMap", "bin", "/binaryData", map[string]any{"b": base64.StdEncoding.EncodeToString([]byte(pinText(pin)))})}
		},
		"what kubectl keeps": func(pin string) []string {
			return []string{patching("ConfigMap", "plain", "/metadata/annotations", map[string]any{lastApplied: pinOdd(pin)})}
		},
		"what kubectl keeps of all": func(pin string) []string {
			return []string{patching("Namespace", "shop", "/metadata/annotations", map[string]any{lastApplied: pinOdd(pin)})}
		},
		"what kubectl keeps, and no JSON": func(pin string) []string {
			return []string{patching("ConfigMap", "plain", "/metadata/annotations", map[string]any{lastApplied: "{" + pin})}
		},
		"an annotation that makes an envelope": func(pin string) []string {
			return []string{
				configNamed("g", map[string]any{}, map[string]any{"s": pinOdd(pin)}),
				patching("ConfigMap", "g", "/metadata/annotations", map[string]any{api.AnnotationEnvelope: "true"}),
			}
		},
		"a label of a member that an override fills in": func(pin string) []string {
			return []string{labelled(pin)}
		},
		"a label of a member that makes a text a Secret": func(pin string) []string {
			return []string{labelled("0000"), patching("ConfigMap", "cfg", "/data/s", pinFilled(pin))}
		},
		"a label of a member that makes one of all texts a Secret": func(pin string) []string {
			return []string{labelled("0000"), patching("ConfigMap", "cfg", "/data", map[string]any{"s": pinFilled(pin)})}
		},
		"an annotation that a patch made": func(pin string) []string {
			return []string{configNamed("patched", map[string]any{}, map[string]any{"s": pinOdd(pin)})}
		},
	} {
		for _, verb := range []string{api.VerbPreview, api.VerbPlan, api.VerbWhatIf} {
			answers := map[string]string{}
			for _, pin := range []string{"4710", "4711"} {
				answers[pin] = answerTo(t, viewer, verb, docs(t, documents(pin)...))
			}
			// The label itself is nobody's secret, and is shown to who wrote it.
			require.Equal(t, strings.ReplaceAll(answers["4710"], "4710", "4711"), answers["4711"], "%s: %s", name, verb)
		}
	}
}

// answerTo is what somebody is answered about documents, a refusal too.
func answerTo(t *testing.T, c *bus.Conn, verb string, documents []json.RawMessage) string {
	t.Helper()
	var request any = api.PlanRequest{Documents: documents}
	if verb == api.VerbPreview {
		request = api.PreviewRequest{Member: "oslo", Placement: &api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "shop"}, Documents: documents}
	}
	var answer json.RawMessage
	if err := bus.Request(bustest.Context(t), c, verb, request, &answer, bus.RequestOptions{}); err != nil {
		return err.Error()
	}
	return uidIn.ReplaceAllString(string(answer), `"uid":"one"`)
}

// A viewer has no digest of a guess beside one that is shown elsewhere, however many objects of theirs they preview at once.
func TestAViewerIsShownNoDigestOfWhatTheyWrote(t *testing.T) {
	h := pins(t)
	viewer := h.add("vera", api.RoleViewer)
	var shown json.RawMessage
	get := api.GetRequest{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "cfg"}
	require.NoError(t, bus.Request(bustest.Context(t), viewer, api.VerbGet, get, &shown, bus.RequestOptions{}))
	digest := digestIn.FindString(string(shown))
	require.NotEmpty(t, digest)
	var texts []string
	filled := []string{labelled("4711")}
	for i := range 20 {
		name, pin := fmt.Sprintf("g%d", i), fmt.Sprint(4700+i)
		own := configNamed(name, map[string]any{}, map[string]any{"s": "x"})
		texts = append(texts, own, patching("ConfigMap", name, "/data/s", pinText(pin)))
		filled = append(filled, own, patching("ConfigMap", name, "/data/s", pinFilled(pin)))
	}
	require.Contains(t, answerTo(t, viewer, api.VerbPreview, docs(t, texts...)), "comparing values of Secrets needs the role operator")
	answer := answerTo(t, viewer, api.VerbPreview, docs(t, filled...))
	require.Equal(t, 21, strings.Count(answer, `"s":"digest:withheld in the place of a Secret"`), "those, and what the label is filled in: %s", answer)
	require.Equal(t, 2, strings.Count(answer, digest), "what is stored is shown as ever, as it was selected and as it is given")
	require.Equal(t, 4, strings.Count(answerTo(t, h.client, api.VerbPreview, docs(t, filled...)), digest), "whoever may read Secrets is told")
}

// What an override puts anywhere is kept as a Secret where it is one as text: viewers are shown digests, which stand for what is stored.
func TestSecretsThatOverridesPutIntoTextsAreKeptAsSecrets(t *testing.T) {
	h := pins(t)
	mine := patching("ConfigMap", "cfg", "/data", map[string]any{"s": pinText("4712"), "open": "9"})
	require.Equal(t, api.ActionCreated, h.apply(mine)[0].Action)
	require.Equal(t, api.ActionUnchanged, h.apply(mine)[0].Action)
	get := api.GetRequest{APIVersion: "placement.kubernetes-fleet.io/v1", Kind: "ResourceOverride", Namespace: "shop", Name: "guess-cfg"}
	shown := must[json.RawMessage](h, api.VerbGet, get)
	require.NotContains(t, string(shown), "4712")
	require.Regexp(t, `"s":"digest:[0-9a-f]{16} in the place of a Secret"`, string(shown))
	require.Contains(t, string(shown), `"open":"9"`)
	require.Equal(t, api.ActionUnchanged, h.apply(string(shown))[0].Action)
	get.ShowSecrets = true
	require.Contains(t, string(must[json.RawMessage](h, api.VerbGet, get)), "4712")
	viewer := h.add("vera", api.RoleViewer)
	for _, asks := range []*bus.Conn{viewer, h.client} {
		answer := answerTo(t, asks, api.VerbPreview, docs(t, configNamed("new", map[string]any{}, map[string]any{"a": "b"})))
		require.NotContains(t, answer, "4712")
		require.Contains(t, answer, `"open":"9"`)
	}
}
