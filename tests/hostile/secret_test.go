package hostile

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/core/api"
)

var digest = regexp.MustCompile(`digest:[0-9a-f]{16}`)

// hiding is an object with a value of a Secret, and what somebody makes of what a viewer is shown of it.
type hiding struct {
	also   []string // is applied beside it
	object string
	get    api.GetRequest
	// forged is made of the digest that stands in the place of the value.
	forged func(digest string) []string
	// refused says that forged is refused; what is not is shown without the value.
	refused bool
}

const hiddenValue = "aHVudGVyMi1vZi10aGUtaHVi"

func hidings() map[string]hiding {
	const (
		envelope = `{"apiVersion":"placement.kubernetes-fleet.io/v1beta1","kind":"ResourceEnvelope","metadata":{"name":"keys","namespace":"shop"},"data":{"key":`
		secret   = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","namespace":"shop"},"data":{"password":"b3RoZXI="}}`
		config   = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop"},"data":{"leak":"nothing"}}`
		ofSecret = `{"group":"","version":"v1","kind":"Secret","name":"key"}`
	)
	override := func(selectors, path, value string) string {
		return `{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ResourceOverride","metadata":{"name":"eu","namespace":"shop"},"spec":{"resourceSelectors":[` + selectors +
			`],"policy":{"overrideRules":[{"clusterSelector":{"clusterSelectorTerms":[]},"jsonPatchOverrides":[{"op":"add","path":"` + path + `","value":"` + value + `"}]}]}}}`
	}
	ofNamespace := `{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourceOverride","metadata":{"name":"eu"},"spec":{"clusterResourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}],` +
		`"policy":{"overrideRules":[{"clusterSelector":{"clusterSelectorTerms":[]},"jsonPatchOverrides":[{"op":"add","path":"/data/password","value":"` + hiddenValue + `"}]}]}}}`
	wrapped := func(annotation, text string) string {
		whole, _ := json.Marshal(map[string]any{ // which never fails
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"key": text},
			"metadata": map[string]any{"name": "old", "namespace": "shop", "annotations": map[string]any{api.AnnotationEnvelope: annotation}},
		})
		return string(whole)
	}
	overrides := api.GetRequest{APIVersion: "placement.kubernetes-fleet.io/v1", Kind: "ResourceOverride", Namespace: "shop", Name: "eu"}
	return map[string]hiding{
		"a Secret of an envelope that becomes a ConfigMap": {
			object: envelope + `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","namespace":"shop"},"data":{"password":"` + hiddenValue + `"}}}}`,
			get:    api.GetRequest{APIVersion: "placement.kubernetes-fleet.io/v1beta1", Kind: "ResourceEnvelope", Namespace: "shop", Name: "keys"},
			forged: func(digest string) []string {
				return []string{envelope + `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"key","namespace":"shop"},"data":{"password":"` + digest + ` in the place of a Secret"}}}}`}
			},
			refused: true,
		},
		"an override of a Secret that is one of a ConfigMap too": {
			also: []string{secret, config}, object: override(ofSecret, "/data/password", hiddenValue), get: overrides,
			forged: func(digest string) []string {
				return []string{override(ofSecret+`,{"group":"","version":"v1","kind":"ConfigMap","name":"web"}`, "/data/leak", digest)}
			},
			refused: true,
		},
		"a text that is no envelope any more": {
			object:  wrapped("true", `{"apiVersion":"v1","kind":"Sec\u0072et","metadata":{"name":"key","namespace":"shop"},"data":{"password":"`+hiddenValue+`"}}`),
			get:     api.GetRequest{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "old"},
			forged:  func(digest string) []string { return []string{wrapped("false", digest+" in the place of a Secret")} },
			refused: true,
		},
		"a ConfigMap where an override puts values into Secrets": {
			also: []string{secret}, object: ofNamespace, get: api.GetRequest{APIVersion: "placement.kubernetes-fleet.io/v1", Kind: "ClusterResourceOverride", Name: "eu"},
			forged: func(string) []string { return []string{config} },
		},
	}
}

// Nobody who may not read Secrets gets a value of one out of the hub with what is shown in its place.
func TestDigestsGiveNoValueAway(t *testing.T) {
	const placement = `{"apiVersion":"placement.kubernetes-fleet.io/v1beta1","kind":"ClusterResourcePlacement","metadata":{"name":"shop"},"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}],"policy":{"placementType":"PickAll"}}}`
	for name, c := range hidings() {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			g.lives()
			apply := api.ApplyRequest{Request: string(uuid.NewUUID())}
			for _, document := range append(c.also, placement, c.object) {
				apply.Documents = append(apply.Documents, json.RawMessage(document))
			}
			require.NoError(t, bus.Request(t.Context(), g.fleet.Client, api.VerbApply, apply, nil, bus.RequestOptions{}))
			eve := g.person("eve", api.RoleViewer)
			var shown, answer json.RawMessage
			require.NoError(t, bus.Request(t.Context(), eve, api.VerbGet, c.get, &shown, bus.RequestOptions{}))
			require.NotContains(t, string(shown), hiddenValue)
			require.Regexp(t, digest, string(shown))

			require.NoError(t, bus.Request(t.Context(), eve, api.VerbPreview, api.PreviewRequest{Member: victim, Documents: []json.RawMessage{shown}}, &answer, bus.RequestOptions{}), "what is shown is as it was")
			require.NotContains(t, string(answer), hiddenValue)
			request := api.PreviewRequest{Member: victim}
			for _, document := range c.forged(digest.FindString(string(shown))) {
				request.Documents = append(request.Documents, json.RawMessage(document))
			}
			err := bus.Request(t.Context(), eve, api.VerbPreview, request, &answer, bus.RequestOptions{})
			if c.refused {
				require.ErrorContains(t, err, "found a digest, which is shown in the place of a value that whoever asks may not read, expected the object as it is stored, but for metadata; or the role ")
				return
			}
			require.NoError(t, err)
			require.NotContains(t, string(answer), hiddenValue)
			require.Contains(t, string(answer), `"web"`)
			require.NoError(t, bus.Request(t.Context(), g.fleet.Client, api.VerbPreview, request, &answer, bus.RequestOptions{}))
			require.Contains(t, string(answer), hiddenValue, "whoever may read Secrets is shown what becomes of objects")
		})
	}
}
