package render_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/render"
	"flotilla/core/seal"
	"flotilla/core/validate"
	"flotilla/tests/scenario"
)

// TestScenarios plays objects, overrides and members, and shows what a member is given.
func TestScenarios(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", func() map[string]scenario.Command {
		w := &world{placement: "web", members: map[string]*api.Member{}, bodies: map[string]map[string]any{}, keys: keys()}
		return map[string]scenario.Command{
			"placement": w.rename, "member": w.member, "object": w.object, "override": w.override, "render": w.render, "shapes": w.shapes, "clashes": w.clashes,
		}
	})
}

func keys() *seal.Keyring {
	return &seal.Keyring{Digests: []byte(strings.Repeat("d", 32)), Content: [][]byte{[]byte(strings.Repeat("c", 32))}}
}

// world is a snapshot of a placement with overrides and members.
type world struct {
	placement string
	members   map[string]*api.Member
	manifests []api.Manifest
	bodies    map[string]map[string]any
	overrides []*render.Override
	keys      *seal.Keyring
}

// placement KEY.
func (w *world) rename(_ *testing.T, args []string) string {
	w.placement = args[0]
	return ""
}

// member NAME [KEY=VALUE…].
func (w *world) member(_ *testing.T, args []string) string {
	m := &api.Member{Name: args[0], Labels: map[string]string{api.LabelMemberName: args[0]}}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		m.Labels[key] = value
	}
	w.members[args[0]] = m
	return ""
}

// object, with a block: adds it to the snapshot.
func (w *world) object(t *testing.T, args []string) string {
	var tree map[string]any
	text, err := yaml.YAMLToJSON([]byte(args[0]))
	require.NoError(t, err)
	require.NoError(t, kjson.Unmarshal(text, &tree))
	made, err := content.New(tree, w.keys)
	require.NoError(t, err)
	digest := made.Head.ManifestDigest()
	w.manifests = content.SortManifests(append(w.manifests, api.Manifest{ObjectRef: made.Head.Object, Digest: digest}))
	w.bodies[digest] = tree
	return ""
}

// override, with a block: adds it, or prints what the door finds wrong with it.
func (w *world) override(t *testing.T, args []string) string {
	text, err := yaml.YAMLToJSON([]byte(args[0]))
	require.NoError(t, err)
	decoded, faults := validate.Decode(text)
	if len(faults) > 0 {
		return faults.Error()
	}
	validate.Fill(&decoded)
	body, err := json.Marshal(decoded.Value)
	require.NoError(t, err)
	o, err := render.Read(&api.Spec{Object: decoded.Object, UID: "u-" + decoded.Object.Name, Generation: 1, Body: body})
	require.NoError(t, err)
	w.overrides = append(w.overrides, o)
	return ""
}

func (w *world) plan() *render.Plan {
	return render.New(w.manifests, render.Touching(w.placement, w.manifests, w.overrides), w.keys)
}

// render MEMBER…: which overrides match, and how what each is given differs from the snapshot.
func (w *world) render(t *testing.T, args []string) string {
	before, err := json.Marshal(w.bodies)
	require.NoError(t, err)
	var out strings.Builder
	for _, name := range args {
		m := w.members[name]
		require.NotNil(t, m, name)
		overrides, _ := w.plan().Outline(m)
		touching := render.Touching(w.placement, w.manifests, w.overrides)
		fmt.Fprintf(&out, "%s:", name)
		for _, at := range overrides {
			fmt.Fprintf(&out, " %s", touching[at])
		}
		out.WriteString("\n" + w.difference(t, m))
	}
	after, err := json.Marshal(w.bodies)
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(after), "what is given is not changed")
	return out.String()
}

func (w *world) difference(t *testing.T, m *api.Member) string {
	result, failure := w.plan().Render(m, w.bodies)
	w.agrees(t, m, result, failure)
	if failure != nil {
		require.Equal(t, m.Name, failure.Member)
		return "  fails: " + failure.Error() + "\n"
	}
	var out strings.Builder
	for _, manifest := range w.manifests {
		i := slices.IndexFunc(result.Manifests, func(r api.Manifest) bool { return r.ObjectRef == manifest.ObjectRef })
		switch {
		case i < 0:
			fmt.Fprintf(&out, "  - %s\n", manifest.ObjectRef)
		case result.Manifests[i].Digest != manifest.Digest:
			fmt.Fprintf(&out, "  ~ %s %s\n", manifest.ObjectRef, result.Bodies[result.Manifests[i].Digest])
		}
	}
	if out.Len() == 0 {
		return "  as it was applied\n"
	}
	return out.String()
}

// agrees holds what Follow tells of single objects against what is rendered of all.
func (w *world) agrees(t *testing.T, m *api.Member, result *render.Result, failure *render.Failure) {
	t.Helper()
	bodies := map[string][]byte{}
	given := 0
	for f := range w.plan().Follow(m, w.bodies) {
		if f.Failure != nil {
			require.NotNil(t, failure)
			require.Contains(t, f.Failure.Error(), f.Failure.Override)
			require.Equal(t, m.Name, f.Failure.Member)
			continue
		}
		if f.Body != nil {
			bodies[f.Manifest.String()] = f.Body
		}
		require.Equal(t, f.LeftOut, len(f.Deeds) > 0 && f.Deeds[len(f.Deeds)-1].What == "leaves it out")
		if !f.LeftOut {
			given++
		}
	}
	if failure != nil {
		return
	}
	require.Len(t, result.Manifests, given)
	for _, r := range result.Manifests {
		require.Equal(t, string(result.Bodies[r.Digest]), string(bodies[r.String()]), r.ObjectRef)
	}
}

// shapes MEMBER…: which of them are given the same.
func (w *world) shapes(_ *testing.T, args []string) string {
	var order []string
	byShape := map[string][]string{}
	for _, name := range args {
		_, shape := w.plan().Outline(w.members[name])
		if byShape[shape] == nil {
			order = append(order, shape)
		}
		byShape[shape] = append(byShape[shape], name)
	}
	var out strings.Builder
	for _, shape := range order {
		fmt.Fprintln(&out, strings.Join(byShape[shape], " "))
	}
	return out.String()
}

// clashes prints what the door refuses of the last override beside those before it.
func (w *world) clashes(*testing.T, []string) string {
	last := len(w.overrides) - 1
	faults := render.Clashes(w.overrides[last:], w.overrides[:last])
	if len(faults) == 0 {
		return "none"
	}
	return faults.Error()
}

// What is rendered does not depend on the order in which overrides are listed, nor on whether it was asked before; members
// of one shape are given the same; and overrides that match nobody change nothing.
func TestRenderingIsTheSameWhateverTheOrder(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := randomWorld(t, rng)
		first := w.plan()
		byShape := map[string]string{}
		for name, m := range w.members {
			result, failure := first.Render(m, w.bodies)
			text := fmt.Sprintf("%v %v", result, failure)
			rng.Shuffle(len(w.overrides), func(i, j int) { w.overrides[i], w.overrides[j] = w.overrides[j], w.overrides[i] })
			again, failed := w.plan().Render(m, w.bodies)
			require.Equal(t, text, fmt.Sprintf("%v %v", again, failed), "seed %d, %s", seed, name)
			overrides, shape := first.Outline(m)
			if known, there := byShape[shape]; there {
				require.Equal(t, known, strings.ReplaceAll(text, name, ""), "seed %d, %s: members of one shape", seed, name)
			}
			byShape[shape] = strings.ReplaceAll(text, name, "")
			if len(overrides) == 0 {
				require.Equal(t, w.manifests, result.Manifests)
				require.Empty(t, result.Bodies)
			}
		}
		require.Equal(t, first.Needs(), w.plan().Needs())
	}
	require.Empty(t, render.New(nil, nil, keys()).Needs())
}

func randomWorld(t *testing.T, rng *rand.Rand) *world {
	w := &world{placement: "web", members: map[string]*api.Member{}, bodies: map[string]map[string]any{}, keys: keys()}
	for i := range 4 {
		w.object(t, []string{fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: shop}, data: {a: x}}", i)})
	}
	for _, name := range []string{"m1", "m2", "m3", "m4", "m5"} {
		w.member(t, []string{name, "region=" + []string{"eu", "us"}[rng.IntN(2)]})
	}
	values := []string{"plain", "${MEMBER-CLUSTER-LABEL-KEY-region}", "${MEMBER-CLUSTER-LABEL-KEY-none}", "of ${MEMBER-CLUSTER-LABEL-KEY-region}!"}
	for i := range 4 {
		rule := fmt.Sprintf("{clusterSelector: {clusterSelectorTerms: [{labelSelector: {matchLabels: {region: %s}}}]}, jsonPatchOverrides: [{op: %s, path: /data/%s, value: %q}]}",
			[]string{"eu", "us", "asia"}[rng.IntN(3)], []string{"add", "replace"}[rng.IntN(2)], []string{"a", "b"}[rng.IntN(2)], values[rng.IntN(len(values))])
		require.Empty(t, w.override(t, []string{fmt.Sprintf("{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceOverride, metadata: {name: o%d, namespace: shop}, "+
			"spec: {resourceSelectors: [{group: '', version: v1, kind: ConfigMap, name: c%d}], policy: {overrideRules: [%s]}}}", i, rng.IntN(4), rule)}))
	}
	return w
}
