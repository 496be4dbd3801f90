package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// overriddenDesk is a desk whose placement overrides touch: what a member runs is what they make of the newest revision on it.
type overriddenDesk struct {
	desk
	*sim
	generation int64 // of the override, 0 while there is none
	atOnce     bool
}

func (d *overriddenDesk) overrides() []api.OverrideVersion {
	if d.generation == 0 {
		return nil
	}
	return version("eu", d.generation, d.atOnce)
}

// makes is what a member is to run of a revision: the override changes it on every other one.
func (d *overriddenDesk) makes(member int) string {
	if d.generation == 0 || member%2 == 0 {
		return d.kept.Newest().Work
	}
	return fmt.Sprintf("%s by eu %d", d.kept.Newest().Work, d.generation)
}

// settle lets the rollout go on until nobody has to move any more, and returns what each member runs.
func (d *overriddenDesk) settle(t *testing.T) (works []string) {
	t.Helper()
	newest := *d.kept.Newest()
	newest.UID = "u1"
	d.in.Latest, d.in.Overrides, d.in.Rendered = &newest, d.overrides(), nil
	if d.generation > 0 {
		d.in.Rendered = &api.Rendered{UID: "u1", Snapshot: newest.Index, Base: newest.Work, Overrides: d.in.Overrides}
	}
	for i, m := range d.members {
		if of := d.in.Rendered; of != nil {
			made := api.RenderedMember{Member: m.name, Work: d.makes(i)}
			if i%2 == 1 {
				made.Overrides = []int{0}
			}
			of.Members = append(of.Members, made)
		}
	}
	for range 400 {
		d.act()
		if p := d.step(t); len(p.Advance)+len(p.Withdraw)+len(p.Hold) == 0 {
			break
		}
	}
	for i := range d.in.Release.Entries {
		e := &d.in.Release.Entries[i]
		require.Equal(t, newest.Index, e.Snapshot, "%s", e.Member)
		works = append(works, e.Member+" "+e.Work)
	}
	return works
}

// wanted is what each bound member should run, whatever happened before.
func (d *overriddenDesk) wanted() (works []string) {
	for i, m := range d.members {
		if scheduled(d.in.Schedule, m.name) {
			works = append(works, m.name+" "+d.makes(i))
		}
	}
	return works
}

// An undo, and another one, is back where it began also where overrides change in between: every member runs what the overrides of
// now make of the content from which the first undo went, and what it ran before where they are as they were.
func TestUndoTwiceIsBackWhereItBeganUnderOverrides(t *testing.T) {
	changed := 0
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 11))
		d := &overriddenDesk{desk: desk{limit: 10}, sim: newSim(seed), atOnce: true}
		for _, content := range []string{"a", "b", "c"}[:2+rng.IntN(2)] {
			d.choose(content)
		}
		d.generation = int64(rng.IntN(2))
		before, content := d.settle(t), d.shows()
		require.Equal(t, d.wanted(), before)
		was := d.generation
		require.True(t, d.undo(t, 0))
		require.NotEqual(t, before, d.settle(t))
		if rng.IntN(2) == 0 {
			d.generation = int64(rng.IntN(4))
			require.Equal(t, d.wanted(), d.settle(t), "seed %d: a change of an override goes out while the placement is pinned", seed)
		}
		require.True(t, d.undo(t, 0))
		after := d.settle(t)
		require.Equal(t, content, d.shows())
		require.Equal(t, d.wanted(), after, "seed %d", seed)
		if d.generation == was {
			require.Equal(t, before, after, "seed %d", seed)
		} else {
			changed++
		}
	}
	require.Greater(t, changed, 30)
}
