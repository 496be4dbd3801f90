package conformance

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/version"
)

type versionCase struct {
	ID    string          `json:"id"`
	Kind  string          `json:"kind"`
	Note  string          `json:"note"`
	Input versionInput    `json:"input"`
	Want  json.RawMessage `json:"want"`
}

// versionInput holds the inputs of all kinds; each kind reads its own.
type versionInput struct {
	Text            string                  `json:"text"`
	A               string                  `json:"a"`
	B               string                  `json:"b"`
	Current         string                  `json:"current"`
	Target          string                  `json:"target"`
	Kubernetes      []api.KubernetesRelease `json:"kubernetes"`
	NodeImages      []api.NodeImageRelease  `json:"nodeImages"`
	Channel         string                  `json:"channel"`
	TargetVersion   *string                 `json:"targetKubernetesVersion"`
	LongTermSupport bool                    `json:"longTermSupport"`
	Type            string                  `json:"type"`
	Pools           json.RawMessage         `json:"pools"`
	Region          string                  `json:"region"`
	Family          string                  `json:"family"`
	Requested       string                  `json:"requested"`
	Regions         []string                `json:"regions"`
}

func TestVersions(t *testing.T) {
	cases := casesOf[versionCase](t, "versions.jsonl.gz")
	report(t, "versions", judgeEach(cases, func(c *versionCase) outcome { return judgeVersion(t, c) }), nil)
}

func judgeVersion(t *testing.T, c *versionCase) outcome {
	t.Helper()
	var want map[string]any
	require.NoError(t, json.Unmarshal(c.Want, &want), c.ID)
	o := outcome{id: c.ID}
	got := plain(t, versionAnswer(t, *c))
	if diff := cmp.Diff(want, got); diff != "" {
		o.differences = []string{fmt.Sprintf("%s (%s): want -, got +\n%s", c.Kind, c.Note, diff)}
		if c.divides(c.places(t), want, got) {
			o.decision = divided
		}
	}
	return o
}

func versionAnswer(t *testing.T, c versionCase) map[string]any {
	t.Helper()
	catalog, err := version.NewCatalog(&api.VersionCatalogSpec{Kubernetes: c.Input.Kubernetes, NodeImages: c.Input.NodeImages})
	require.NoError(t, err, c.ID)
	switch c.Kind {
	case "parse":
		return parseAnswer(c.Input.Text)
	case "compare":
		return map[string]any{"cmp": parsed(t, c.Input.A).Compare(parsed(t, c.Input.B))}
	case "move":
		return map[string]any{"result": parsed(t, c.Input.Current).MoveTo(parsed(t, c.Input.Target))}
	case "image-compare":
		return map[string]any{"result": version.CompareImages(c.Input.A, c.Input.B)}
	case "channel":
		minor := ""
		if c.Input.TargetVersion != nil {
			minor = *c.Input.TargetVersion
		}
		return versionOrNull(catalog.ChannelTarget(c.Input.Channel, minor, c.Input.LongTermSupport))
	case "alias":
		return versionOrNull(catalog.Alias(parsed(t, c.Input.Requested), version.Voters{Written: c.Input.Regions}))
	case "latest":
		image, ok := catalog.Latest(c.Input.Region, c.Input.Family)
		if !ok {
			return map[string]any{"version": nil}
		}
		return map[string]any{"version": image.Version}
	case "consistent":
		return consistentAnswer(t, catalog, c)
	case "skew":
		return skewAnswer(t, c)
	}
	t.Fatalf("%s: kind %q is not known", c.ID, c.Kind)
	return nil
}

func parseAnswer(text string) map[string]any {
	v, ok := version.Parse(text)
	if !ok {
		return map[string]any{"ok": false}
	}
	answer := map[string]any{"ok": true, "major": v.Major, "minor": v.Minor, "patch": nil, "alias": v.Alias, "normalised": v.String()}
	if !v.Alias {
		answer["patch"] = v.Patch
	}
	return answer
}

func parsed(t *testing.T, text string) version.Version {
	t.Helper()
	v, ok := version.Parse(text)
	require.True(t, ok, "version %q", text)
	return v
}

func versionOrNull(v version.Version, ok bool) map[string]any {
	if !ok {
		return map[string]any{"version": nil}
	}
	return map[string]any{"version": v.String()}
}

func consistentAnswer(t *testing.T, catalog *version.Catalog, c versionCase) map[string]any {
	t.Helper()
	places := c.places(t)
	selected := map[string]any{}
	for _, s := range catalog.Consistent(places) {
		selected[s.Family] = nil
		if s.Version != "" {
			selected[s.Family] = s.Version
		}
	}
	return map[string]any{"selected": selected}
}

// places are the pools of a case that selects images, none of another.
func (c *versionCase) places(t *testing.T) (places []version.Place) {
	t.Helper()
	if c.Kind == "consistent" {
		require.NoError(t, json.Unmarshal(c.Input.Pools, &places), c.ID)
	}
	return places
}

func skewAnswer(t *testing.T, c versionCase) map[string]any {
	t.Helper()
	require.Equal(t, api.UpgradeControlPlaneOnly, c.Input.Type, "%s: the one type whose pools may stay behind", c.ID)
	var pools []string
	require.NoError(t, json.Unmarshal(c.Input.Pools, &pools), c.ID)
	for _, pool := range pools {
		if !version.SkewHolds(parsed(t, c.Input.Target), parsed(t, pool)) {
			return map[string]any{"result": fmt.Sprint(api.ReasonNodeSkewExceeded)}
		}
	}
	return map[string]any{"result": "OK"}
}
