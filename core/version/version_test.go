package version_test

import (
	"slices"
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

// Of what regions have in common the newest is selected. A region that has nothing has no say, and where nothing is
// common the newest that more than half of the members can have is.
func TestOneRegionDoesNotChooseForTheOthers(t *testing.T) {
	catalog := func(offers map[string][]string) *version.Catalog {
		spec := &api.VersionCatalogSpec{}
		for patch, regions := range offers {
			spec.NodeImages = append(spec.NodeImages, api.NodeImageRelease{Family: "U", Version: "202401.0" + patch + ".0", Regions: regions})
			spec.Kubernetes = append(spec.Kubernetes, api.KubernetesRelease{Version: "1.29." + patch, State: api.ReleaseGA, Regions: regions})
		}
		c, err := version.NewCatalog(spec)
		require.NoError(t, err)
		return c
	}
	common := map[string][]string{"1": {"a", "b", "c"}, "2": {"a", "b"}, "3": {"a"}}
	apart := map[string][]string{"1": {"a"}, "2": {"a"}, "3": {"b"}, "4": {"c"}}
	for name, c := range map[string]struct {
		offers       map[string][]string
		regions      []string
		image, patch string
	}{
		"all of one":              {common, []string{"a", "a"}, "3", "3"},
		"newest of two":           {common, []string{"a", "b"}, "2", "2"},
		"newest of three":         {common, []string{"a", "a", "a", "b", "c"}, "1", "1"},
		"a region without any":    {common, []string{"a", "b", "nowhere"}, "2", "2"},
		"many without any":        {common, []string{"a", "nowhere", "nowhere", "elsewhere"}, "3", "3"},
		"nobody but those":        {common, []string{"nowhere"}, "", "3"},
		"no region is any region": {common, []string{"a", "b", ""}, "2", "2"},
		"one against two":         {apart, []string{"a", "a", "b"}, "2", "2"},
		"one against one":         {apart, []string{"a", "b"}, "", "4"},
		"two against two":         {apart, []string{"a", "a", "b", "b"}, "", "4"},
		"half, and some others":   {apart, []string{"a", "a", "b", "c"}, "", "4"},
		"more than half":          {apart, []string{"a", "a", "a", "b", "c", "nowhere", "nowhere"}, "2", "2"},
		"nobody at all":           {common, nil, "", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			var places []version.Place
			for _, region := range c.regions {
				places = append(places, version.Place{Region: region, Family: "U"})
			}
			want := []api.SelectedImage{}
			if c.regions != nil {
				want = append(want, api.SelectedImage{Family: "U"})
			}
			if c.image != "" {
				want[0].Version = "202401.0" + c.image + ".0"
			}
			require.Equal(t, want, catalog(c.offers).Consistent(places))
			minor, _ := version.Parse("1.29")
			patch, found := catalog(c.offers).Alias(minor, version.Voters{Written: c.regions})
			require.True(t, found)
			require.Equal(t, "1.29."+c.patch, patch.String())
		})
	}
}

// A67: written regions choose alone where they are more than half. Otherwise all do, but for a fifth of the members, whose agents
// alone state a region that is behind.
func TestWhatAgentsStateChoosesLittle(t *testing.T) {
	spec := &api.VersionCatalogSpec{}
	for patch, regions := range map[string][]string{"4": {"new", "old"}, "9": {"new"}} {
		spec.NodeImages = append(spec.NodeImages, api.NodeImageRelease{Family: "U", Version: "202401.0" + patch + ".0", Regions: regions})
		spec.Kubernetes = append(spec.Kubernetes, api.KubernetesRelease{Version: "1.29." + patch, State: api.ReleaseGA, Regions: regions})
	}
	catalog, err := version.NewCatalog(spec)
	require.NoError(t, err)
	minor, _ := version.Parse("1.29")
	of := func(n int, region string) []string { return slices.Repeat([]string{region}, n) }
	for name, c := range map[string]struct {
		written, stated []string
		patch           string
	}{
		"one of five":                            {nil, append(of(4, "new"), "old"), "9"},
		"one of four":                            {nil, append(of(3, "new"), "old"), "4"},
		"two of nine":                            {nil, append(of(7, "new"), of(2, "old")...), "4"},
		"two of ten":                             {nil, append(of(8, "new"), of(2, "old")...), "9"},
		"one of five, and some of no region":     {nil, append(of(4, "new"), "old", "nowhere", "nowhere"), "9"},
		"one of four, and some of no region":     {nil, append(of(3, "new"), "old", "nowhere", "nowhere"), "4"},
		"one of five that is written":            {of(1, "old"), of(4, "new"), "4"},
		"most of them, one of theirs is written": {of(1, "new"), of(10, "old"), "4"},
		"one that is written, of many":           {of(1, "new"), append(of(8, "new"), "old"), "9"},
		"written against one":                    {of(2, "new"), of(1, "old"), "9"},
		"written against fewer":                  {of(3, "new"), of(2, "old"), "9"},
		"written against as many":                {of(2, "new"), of(2, "old"), "4"},
		"written against fewer that are ahead":   {of(3, "old"), of(2, "new"), "4"},
	} {
		t.Run(name, func(t *testing.T) {
			patch, _ := catalog.Alias(minor, version.Voters{Written: c.written, Stated: c.stated})
			require.Equal(t, "1.29."+c.patch, patch.String())
			var places []version.Place
			for _, region := range c.written {
				places = append(places, version.Place{Region: region, Family: "U"})
			}
			for _, region := range c.stated {
				places = append(places, version.Place{Region: region, Family: "U", Stated: true})
			}
			require.Equal(t, []api.SelectedImage{{Family: "U", Version: "202401.0" + c.patch + ".0"}}, catalog.Consistent(places))
		})
	}
}
