package version_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/version"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]version.Version{
		"1.29.4": {Major: 1, Minor: 29, Patch: 4}, "v1.29.4": {Major: 1, Minor: 29, Patch: 4},
		"1.29": {Major: 1, Minor: 29, Alias: true}, "v0.0.0": {},
	} {
		got, ok := version.Parse(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "v", "1", "1.", "1.29.", "1.29.4.1", " 1.29", "1.29 ", "+1.29", "-1.29", "1.x", "V1.29", "vv1.29", "1.29.99999999999"} {
		_, ok := version.Parse(text)
		require.False(t, ok, "%q", text)
	}
}

func TestMoves(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     version.Move
	}{
		{"1.28.9", "1.28.9", version.MoveAtTarget},
		{"1.28.9", "1.28.15", version.MoveAllowed},
		{"1.28.15", "1.29.0", version.MoveAllowed},
		{"1.28.9", "1.30.0", version.MoveMinorGap},
		{"1.9.9", "1.10.0", version.MoveAllowed},
		{"1.29.9", "1.29.4", version.MoveAhead},
		{"1.30.0", "1.29.9", version.MoveAhead},
		{"1.30.0", "2.0.0", version.MoveMajor},
		{"2.0.0", "1.30.0", version.MoveMajor},
	} {
		from, _ := version.Parse(c.from)
		to, _ := version.Parse(c.to)
		require.Equal(t, c.want, from.MoveTo(to), "%s to %s", c.from, c.to)
	}
}

func TestSkewHolds(t *testing.T) {
	target, _ := version.Parse("1.32.0")
	for pool, want := range map[string]bool{"1.32.0": true, "1.29.9": true, "1.28.15": false, "2.32.0": false} {
		v, _ := version.Parse(pool)
		require.Equal(t, want, version.SkewHolds(target, v), pool)
	}
}

func TestCompareImages(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want version.Relation
	}{
		{"U-202401.09.0", "U-202401.17.1", version.ImageOlder},
		{"U-202401.9.0", "U-202401.09.0", version.ImageEqual},
		{"W-20348.2582.240916", "W-20348.2582.240716", version.ImageNewer},
		{"O-2022.12.13", "O-202212.14.0", version.ImageOlder},
		{"O-2022.13.1", "O-202212.14.0", version.ImageOlder},
		{"U-202401.09.0", "W-20348.2582.240716", version.ImageIncomparable},
		{"U-latest", "U-202401.09.0", version.ImageUnknown},
		{"U-1.2.3.4", "U-1.2.3", version.ImageUnknown},
	} {
		require.Equal(t, c.want, version.CompareImages(c.a, c.b), "%s and %s", c.a, c.b)
	}
}

func TestCatalogs(t *testing.T) {
	_, err := version.NewCatalog(&api.VersionCatalogSpec{Kubernetes: []api.KubernetesRelease{{Version: "1.29"}}})
	require.ErrorContains(t, err, "spec.kubernetes[0].version")
	_, err = version.NewCatalog(&api.VersionCatalogSpec{NodeImages: []api.NodeImageRelease{{Family: "A", Version: "new"}}})
	require.ErrorContains(t, err, "spec.nodeImages[0].version")

	empty, err := version.NewCatalog(&api.VersionCatalogSpec{TrackerURL: "https://example.com"})
	require.NoError(t, err)
	for _, channel := range []string{api.ChannelRapid, api.ChannelStable, api.ChannelTarget, api.ChannelNodeImage} {
		_, ok := empty.ChannelTarget(channel, "one", false)
		require.False(t, ok, channel)
	}
	_, ok := empty.Latest("weu", "A")
	require.False(t, ok)
	require.Equal(t, []api.SelectedImage{{Family: "A"}}, empty.Consistent([]version.Place{{Region: "weu", Family: "A"}}))
	require.Equal(t, "; see https://example.com", empty.Tracker())

	var none *version.Catalog
	v, _ := version.Parse("1.29.9")
	require.True(t, none.Has("weu", v))
	require.True(t, none.HasImage("weu", version.Image{}))
	require.Empty(t, none.Tracker())
	_, ok = none.ChannelTarget(api.ChannelRapid, "", false)
	require.False(t, ok)
	require.Equal(t, []api.SelectedImage{{Family: "A"}}, none.Consistent([]version.Place{{Family: "A"}}))
}

func TestMinorsLeaveOutPreviews(t *testing.T) {
	spec := &api.VersionCatalogSpec{}
	for _, text := range []string{"1.28.9", "1.28.15", "1.29.2", "1.30.3"} {
		spec.Kubernetes = append(spec.Kubernetes, api.KubernetesRelease{Version: text, State: api.ReleaseGA})
	}
	spec.Kubernetes = append(spec.Kubernetes, api.KubernetesRelease{Version: "1.31.0", State: api.ReleasePreview})
	catalog, err := version.NewCatalog(spec)
	require.NoError(t, err)
	require.Equal(t, []string{"1.28", "1.29", "1.30"}, catalog.Minors())
}
