package content_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
)

// sized are manifests by "name:bytes" or "name=version:bytes"; equal texts are equal bodies.
func sized(text string) (manifests []api.Manifest, sizes map[string]int) {
	sizes = map[string]int{}
	for one := range strings.FieldsSeq(text) {
		named, bytes, _ := strings.Cut(one, ":")
		name, _, _ := strings.Cut(named, "=")
		m := manifest("v1 ConfigMap shop " + name)
		m.Digest = keys.Digest([]byte(named))
		manifests = append(manifests, m)
		sizes[m.Digest], _ = strconv.Atoi(bytes)
	}
	return manifests, sizes
}

func planOf(limit int, sizes map[string]int, earlier ...content.Earlier) *content.Plan {
	plan := &content.Plan{Keys: keys, Limit: limit, Size: func(m api.Manifest) int { return sizes[m.Digest] }}
	for _, one := range earlier {
		plan.Earlier = append(plan.Earlier, []content.Earlier{one})
	}
	return plan
}

// laid says which bodies each bundle carries, and of which packs it is the head.
func laid(bundles []content.Bundle) (lines []string) {
	number := map[string]string{}
	for i := range bundles {
		number[bundles[i].Digest] = fmt.Sprint("part ", i)
	}
	for _, b := range bundles {
		var own, packs []string
		for _, m := range b.Work.Manifests {
			if m.Pack == 0 {
				own = append(own, m.Name)
			}
		}
		for _, pack := range b.Work.Packs {
			packs = append(packs, "+ "+cmp.Or(number[pack.Digest], "earlier"))
		}
		lines = append(lines, strings.Join(append(own, packs...), " "))
	}
	return lines
}

func TestBundles(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		earlier, now string
		want         []string
	}{
		"nothing":                     {"", "", []string{""}},
		"all of it in one":            {"", "a:1000 b:2000 c:900000", []string{"a b c"}},
		"no more than fits":           {"", "a:600000 b:600000 c:600000 d:100", []string{"a", "b", "c d + part 0 + part 1"}},
		"an object larger than it is": {"", "a:2000000 b:1", []string{"a", "b + part 0"}},
		"little changed":              {"a=1:1000 b:9000 c:3000", "a=2:1000 b:9000 c:3000", []string{"a + earlier"}},
		"one went":                    {"a:1000 b:9000", "b:9000", []string{"+ earlier"}},
		"one came":                    {"b:9000", "a:1000 b:9000", []string{"a + earlier"}},
		"most changed":                {"a=1:9000 b:5000", "a=2:9000 b:5000", []string{"a b"}},
		"not worth a second question": {"a=1:100 b:3000", "a=2:100 b:3000", []string{"a b"}},
		"what came does not fit":      {"b:900000", "a:500000 b:900000 c:500000 d:500000", []string{"a c", "d + earlier + part 0"}},
	} {
		before, sizes := sized(c.earlier)
		now, after := sized(c.now)
		maps.Copy(sizes, after)
		p := planOf(mib, sizes)
		if c.earlier != "" {
			p.Earlier = [][]content.Earlier{{{Work: "stored", Manifests: before}}}
		}
		bundles, err := p.Bundles(now)
		require.NoError(t, err)
		require.Equal(t, c.want, laid(bundles), name)
	}
}

// Whatever is bundled, each body is where the work says, no bundle takes more than a message unless for one body alone,
// and every bundle but the work is carried whole.
func TestEveryBodyIsWhereTheWorkSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		sizes := map[string]int{}
		draw := func(n int) (manifests []api.Manifest) {
			for i := range n {
				m := manifest(fmt.Sprintf("v1 ConfigMap shop c%d", i))
				m.Digest = keys.Digest(fmt.Appendf(nil, "%d %d", i, random.IntN(3)))
				sizes[m.Digest] = 1 << random.IntN(17)
				manifests = append(manifests, m)
			}
			return manifests
		}
		var earlier []content.Earlier
		for i := range random.IntN(3) {
			earlier = append(earlier, content.Earlier{Work: fmt.Sprint("earlier ", i), Manifests: draw(random.IntN(30))})
		}
		const limit = 128 << 10
		now := draw(random.IntN(60))
		bundles, err := planOf(limit, sizes, earlier...).Bundles(now)
		require.NoError(t, err)
		carried := map[string][]string{}
		for _, e := range earlier {
			for _, m := range e.Manifests {
				carried[e.Work] = append(carried[e.Work], m.Digest)
			}
		}
		for i, b := range bundles {
			bytes := 0
			for _, m := range b.Work.Manifests {
				bytes += 64
				if m.Pack == 0 {
					require.Equal(t, len(carried[b.Digest]), m.Frame, "round %d", round)
					carried[b.Digest] = append(carried[b.Digest], m.Digest)
					bytes += sizes[m.Digest]
				}
			}
			require.True(t, bytes <= limit || len(carried[b.Digest]) == 1)
			require.True(t, i == len(bundles)-1 || len(b.Work.Packs) == 0)
		}
		work := bundles[len(bundles)-1]
		require.Len(t, work.Work.Manifests, len(now))
		for i, m := range work.Work.Manifests {
			require.Equal(t, now[i], m.Manifest)
			from := work.Digest
			if m.Pack > 0 {
				from = work.Work.Packs[m.Pack-1].Digest
			}
			require.Equal(t, m.Digest, carried[from][m.Frame])
		}
	}
}

func TestAWorkIsKnownByWhatItNamesAndCarriesItsKeys(t *testing.T) {
	manifests, sizes := sized("a:1000 b:9000")
	changed, more := sized("a=2:1000 b:9000")
	maps.Copy(sizes, more)
	whole, err := planOf(1<<20, sizes).Bundles(manifests)
	require.NoError(t, err)
	earlier := content.Earlier{Work: whole[0].Digest, Manifests: manifests}
	built, err := planOf(1<<20, sizes, earlier).Bundles(changed)
	require.NoError(t, err)
	require.Len(t, built, 1)
	work := built[0].Work
	require.Equal(t, []api.Pack{{Digest: whole[0].Digest, At: keys.Piece(whole[0].Digest).At}}, work.Packs)
	for _, m := range work.Manifests {
		require.Equal(t, keys.Piece(m.Digest), m.Piece)
	}
	anew, err := planOf(1<<20, sizes).Bundles(changed)
	require.NoError(t, err)
	require.NotEqual(t, built[0].Digest, anew[0].Digest, "what carries other bodies is another bundle")

	rotated := &seal.Keyring{Digests: keys.Digests, Content: [][]byte{[]byte("another"), keys.Content[0]}}
	other := planOf(1<<20, sizes, earlier)
	other.Keys = rotated
	again, err := other.Bundles(changed)
	require.NoError(t, err)
	require.Equal(t, built[0].Digest, again[0].Digest, "a rotation changes no digest")
	require.NotEqual(t, work, again[0].Work, "but the keys in it")
	require.Equal(t, again[0].Work, content.Keyed(work, rotated))
}

// What snapshots refer to is never longer than the size in the head, by which bundles are cut.
func TestAManifestIsNoLongerThanItsObject(t *testing.T) {
	for _, document := range []map[string]any{
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"a": "<&>"}},
		{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"clusterIP": "10.0.0.1"}},
		{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{}},
	} {
		object, err := content.New(document, keys)
		require.NoError(t, err)
		require.LessOrEqual(t, len(object.Manifest), object.Head.Size)
	}
}

// What is built upon a work, whatever that is built upon itself, carries what is changed and nothing else, and every body is
// found where the work says that it lies.
func TestAWorkUponAnother(t *testing.T) {
	all, sizes := sized("a:100 b:200 c:300 d:5000")
	earlier := planOf(1<<20, sizes)
	first, err := earlier.Bundles(all[3:])
	require.NoError(t, err)
	base, err := planOf(1<<20, sizes, content.Earlier{Work: first[0].Digest, Manifests: all[3:]}).Bundles(all)
	require.NoError(t, err)
	require.Equal(t, []string{"a b c + earlier"}, laid(base))
	changed, more := sized("b=2:250")
	maps.Copy(sizes, more)
	next := []api.Manifest{all[0], changed[0], all[3]}
	plan := planOf(1<<20, sizes)
	made, err := plan.Upon(content.Carriers(base[0].Digest, &base[0].Work), next)
	require.NoError(t, err)
	require.Equal(t, []string{"b + earlier + earlier"}, laid(made))
	places := []api.Carried{{Pack: 1}, {}, {Pack: 2}}
	for i, m := range made[0].Work.Manifests {
		require.Equal(t, places[i], m.Carried, m.Name)
		require.Equal(t, keys.Piece(next[i].Digest), m.Piece)
	}
	again, err := plan.Upon(content.Carriers(base[0].Digest, &base[0].Work), next)
	require.NoError(t, err)
	require.Equal(t, made, again)
	none, err := plan.Upon(content.Carriers(base[0].Digest, &base[0].Work), next[2:])
	require.NoError(t, err)
	require.Equal(t, []string{"+ earlier + earlier"}, laid(none), "what leaves objects out carries nothing")
	large, more := sized("b=3:600 c=3:600")
	maps.Copy(sizes, more)
	parts, err := planOf(2000, sizes).Upon(content.Carriers(base[0].Digest, &base[0].Work), large)
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c + earlier + earlier + part 0"}, laid(parts), "what does not fit lies in parts of its own")
}

// A work is built upon as few bundles as its bodies need and a few more: where there are more, the smallest are carried anew, as far as
// there are bytes to spare. What it carries itself is little where it names others.
func TestAWorkIsBuiltUponFewBundles(t *testing.T) {
	manifests, sizes := sized("big:900000")
	stack := []content.Earlier{{Work: "big", Manifests: manifests}}
	for i := range 11 {
		more, bytes := sized(fmt.Sprintf("s%d:%d", i, 100_000+i))
		maps.Copy(sizes, bytes)
		manifests = append(manifests, more...)
		stack = append(stack, content.Earlier{Work: more[0].Name, Manifests: more})
	}
	changed, bytes := sized("new:100 large:90000")
	maps.Copy(sizes, bytes)
	upon := func(spare, layers int, more ...api.Manifest) (packs []string, own int) {
		plan := planOf(1<<20, sizes)
		plan.Apart, plan.Spare, plan.Earlier = 64<<10, spare, [][]content.Earlier{stack[:layers]}
		made, err := plan.Bundles(append(manifests[:layers:layers], more...))
		require.NoError(t, err)
		work := made[len(made)-1].Work
		for _, p := range work.Packs {
			packs = append(packs, p.Digest)
		}
		for _, m := range work.Manifests {
			if m.Pack == 0 {
				own += sizes[m.Digest]
			}
		}
		return packs, own
	}
	packs, own := upon(1<<30, 11, changed[0])
	require.Len(t, packs, 11)
	require.Equal(t, 100, own)
	packs, own = upon(1<<30, 11, changed[1])
	require.Len(t, packs, 12, "what is new is much")
	require.Zero(t, own)
	packs, own = upon(1<<30, 12, changed[0])
	require.Len(t, packs, 3+4+1)
	require.Equal(t, "big", packs[0])
	require.Less(t, own, 64<<10)
	packs, _ = upon(150_000, 12, changed[0])
	require.Len(t, packs, 12, "one of them is carried anew, in a bundle")
	require.NotContains(t, packs, "s0")
	packs, _ = upon(0, 12, changed[0])
	require.Len(t, packs, 12)
	require.Contains(t, packs, "s0")
}

// A bundle of which most is needed by nobody any more is not built upon for ever, as far as there is Spare: what it carries would never go.
func TestASparseBundleIsNotBuiltUpon(t *testing.T) {
	needed := func(name string) api.Manifest {
		return api.Manifest{ObjectRef: api.ObjectRef{Kind: "ConfigMap", Name: name}, Digest: "d" + name}
	}
	old := content.Earlier{Work: "OLD", Manifests: []api.Manifest{needed("a")}}
	for i := range 3 {
		old.Manifests = append(old.Manifests, needed(fmt.Sprint("gone", i)))
	}
	packs := func(of content.Earlier, spare int) []string {
		p := content.Plan{Keys: keys, Limit: 4 << 20, Size: func(api.Manifest) int { return 100 << 10 }, Spare: spare, Earlier: [][]content.Earlier{{of}}}
		bundles, err := p.Bundles([]api.Manifest{needed("a"), needed("b")})
		require.NoError(t, err)
		var named []string
		for _, pack := range bundles[len(bundles)-1].Work.Packs {
			named = append(named, pack.Digest)
		}
		return named
	}
	require.Equal(t, []string{"OLD"}, packs(old, 1<<20), "a quarter is needed")
	old.Manifests = append(old.Manifests, needed("another"))
	require.Empty(t, packs(old, 1<<20))
	require.Equal(t, []string{"OLD"}, packs(old, 0), "nothing may be carried anew")
}
