package apply

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// anyStrategy is one of all that there are.
func anyStrategy(r *rand.Rand) *api.ApplyStrategy {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	return &api.ApplyStrategy{
		Type:             one(api.ApplyClientSide, api.ApplyServerSide, api.ApplyReportDiff),
		ComparisonOption: one(api.ComparePartial, api.CompareFull), WhenToApply: one(api.WhenToApplyAlways, api.WhenToApplyIfNotDrift),
		WhenToTakeOver: one(api.TakeOverAlways, api.TakeOverIfNoDiff, api.TakeOverNever), AllowCoOwnership: r.IntN(2) == 0,
	}
}

// fleetOf is what a placement wants and what a member has, in all the ways that they may differ.
func fleetOf(t *testing.T, r *rand.Rand, n int) (wanted []Manifest, live []*unstructured.Unstructured) {
	t.Helper()
	for i := range n {
		text := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: shop}, data: {a: '%d'}}", i, r.IntN(3))
		if r.IntN(4) > 0 {
			wanted = append(wanted, manifest(t, text))
		}
		if r.IntN(4) == 0 {
			continue
		}
		o := []*unstructured.Unstructured{object(t, text), owned(t, web, text), owned(t, Owner{"web", "u0"}, text), owned(t, Owner{"x", "u3"}, text)}[r.IntN(4)]
		switch r.IntN(4) {
		case 0:
			o = edited(o, "tampered", "data", "a")
		case 1:
			o = edited(o, "more", "data", "b")
		case 2:
			o = referring(o)
		}
		live = append(live, o)
	}
	return wanted, live
}

// Whatever the strategy: each wanted object is written, kept, reported or in conflict, exactly once; nothing is
// written or deleted of another placement, nothing at all when differences are to be reported, nothing that was
// there and unowned when it must not be taken over, and nothing that differs when it may not have drifted.
func TestPlansObeyTheirStrategy(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		strategy := anyStrategy(r)
		wanted, live := fleetOf(t, r, 12)
		plan := Diff(Wanted{Owner: web, Strategy: strategy, Manifests: wanted}, live)
		was := map[Identity]*unstructured.Unstructured{}
		for _, o := range live {
			was[IdentityOf(RefOf(o))] = o
		}
		said := map[Identity]int{}
		for _, wave := range plan.Waves {
			for i := range wave {
				op := &wave[i]
				said[IdentityOf(op.ObjectRef)]++
				checkWrite(t, strategy, op, was[IdentityOf(op.ObjectRef)], fmt.Sprintf("seed %d: %s\n%+v", seed, op, strategy))
			}
		}
		for _, c := range plan.Conflicts {
			said[IdentityOf(c.ObjectRef)]++
		}
		if strategy.Type == api.ApplyReportDiff {
			require.Zero(t, plan.Writes(), "seed %d", seed)
			require.Empty(t, plan.Waves, "seed %d", seed)
			continue
		}
		for i := range wanted {
			require.Equal(t, 1, said[IdentityOf(wanted[i].ObjectRef)], "seed %d: %s\n%s", seed, wanted[i].ObjectRef, plan)
		}
	}
}

func checkWrite(t *testing.T, s *api.ApplyStrategy, op *Op, before *unstructured.Unstructured, text string) {
	t.Helper()
	if op.Verb == Keep {
		return
	}
	if before == nil {
		require.Equal(t, Create, op.Verb, text)
		return
	}
	owner, owned := OwnerOf(before)
	require.True(t, !owned || owner.Placement == web.Placement, text)
	if referred := len(before.GetOwnerReferences()) > 0; referred && !s.AllowCoOwnership && owner == web {
		require.Equal(t, Disown, op.Verb, text)
	}
	if op.Verb != Replace {
		require.Equal(t, web, owner, text)
		return
	}
	require.False(t, !owned && s.WhenToTakeOver == api.TakeOverNever, text)
	if !owned && s.WhenToTakeOver == api.TakeOverIfNoDiff {
		require.Empty(t, Drifts(op.Object, before), text)
	}
	if owner == web && DigestOf(before) == op.Digest {
		require.NotEqual(t, api.WhenToApplyIfNotDrift, s.WhenToApply, text)
	}
}

// Reporting says of each object what applying would do of it: nothing differs where nothing would be written.
func TestReportsAgreeWithWrites(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		wanted, live := fleetOf(t, r, 12)
		for i, o := range live { // so that content differs by nothing but its data
			live[i].SetOwnerReferences(nil)
			if owner, ok := OwnerOf(o); ok && owner != web {
				live[i].SetAnnotations(nil)
			}
		}
		reported := Diff(Wanted{Owner: web, Strategy: &api.ApplyStrategy{Type: api.ApplyReportDiff}, Manifests: wanted}, live)
		differs := map[Identity]bool{}
		for _, d := range reported.Differing {
			differs[IdentityOf(d.ObjectRef)] = true
		}
		for _, wave := range Diff(Wanted{Owner: web, Manifests: wanted}, live).Waves {
			for i := range wave {
				if wave[i].Verb == Create || wave[i].Verb == Delete {
					require.True(t, differs[IdentityOf(wave[i].ObjectRef)], "seed %d: %s\n%s", seed, &wave[i], reported)
				}
				if wave[i].Verb == Keep {
					require.False(t, differs[IdentityOf(wave[i].ObjectRef)], "seed %d: %s\n%s", seed, &wave[i], reported)
				}
			}
		}
	}
}
