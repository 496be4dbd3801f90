package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// overridden has overrides touch the newest snapshot, with what they come to: by member a work, or "!" and why there is none.
func (w *world) overridden(versions []api.OverrideVersion, works map[string]string) {
	w.in.Overrides = versions
	w.in.Rendered = &api.Rendered{UID: "u1", Snapshot: w.in.Latest.Index, Base: w.in.Latest.Work, Overrides: versions}
	for _, name := range []string{"a", "b", "c", "d"} {
		work, there := works[name]
		if !there {
			continue
		}
		m := api.RenderedMember{Member: name, Work: work}
		if work[0] == '!' {
			m.Work, m.Failure = "", work[1:]
		}
		for i := range versions {
			m.Overrides = append(m.Overrides, i)
		}
		w.in.Rendered.Members = append(w.in.Rendered.Members, m)
	}
}

func version(name string, generation int64, atOnce bool) []api.OverrideVersion {
	return []api.OverrideVersion{{Name: name, UID: "o", Generation: generation, AtOnce: atOnce}}
}

func overriddenWorld(t *testing.T) *world {
	w := newWorld()
	w.placement(t, []string{"web", "PickAll", "maxUnavailable=1", "period=0"})
	w.snapshot(t, []string{"1"})
	w.bind(t, []string{"a", "b", "c"})
	return w
}

func (w *world) works() (out []string) {
	for _, e := range w.in.Release.Entries {
		out = append(out, e.Member+"="+e.Work)
	}
	return out
}

// Nobody is given a snapshot that overrides touch before what they make of it is known, of just these overrides.
func TestMembersWaitForWhatOverridesMake(t *testing.T) {
	w := overriddenWorld(t)
	w.in.Overrides = version("eu", 1, false)
	require.Equal(t, "hold a: "+unrendered+"\nhold b: "+unrendered+"\nhold c: "+unrendered+"\n", w.next(t, nil))
	w.overridden(version("eu", 1, false), map[string]string{"a": "x", "b": "y", "c": "x"})
	w.in.Overrides = version("eu", 2, false)
	require.Contains(t, w.next(t, nil), "hold a: "+unrendered, "another generation")
	w.in.Overrides = version("eu", 1, false)
	w.in.Rendered.Base = "work-0"
	require.Contains(t, w.next(t, nil), "hold a: "+unrendered, "another work of the snapshot")
	w.in.Rendered.Base = "work-1"
	require.Equal(t, "advance a b c\n", w.next(t, nil))
	require.Equal(t, []string{"a=x", "b=y", "c=x"}, w.works())
	require.Equal(t, version("eu", 1, false), w.in.Release.Entries[0].Overrides)
	w.bind(t, []string{"a", "b", "c", "d"})
	require.Contains(t, w.next(t, nil), "hold d: "+unrendered, "it is not rendered for who comes later")
}

// A change of an override for all placements waits for the next snapshot; one for this placement goes out at once, within
// maxUnavailable, and so does its end. Where it changes nothing for a member nothing goes out to it.
func TestWhenOverridesGoOut(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		w := overriddenWorld(t)
		w.overridden(version("eu", 1, atOnce), map[string]string{"a": "x", "b": "x", "c": "work-1"})
		w.next(t, nil)
		w.report(t, []string{"available", "a", "b", "c"})
		w.overridden(version("eu", 2, atOnce), map[string]string{"a": "y", "b": "y", "c": "work-1"})
		first := w.next(t, nil)
		if !atOnce {
			require.Equal(t, "nothing\n", first)
			w.in.Overrides, w.in.Rendered = nil, nil
			require.Equal(t, "nothing\n", w.next(t, nil))
			w.snapshot(t, []string{"2"})
			w.overridden(version("eu", 2, atOnce), map[string]string{"a": "y2", "b": "y2", "c": "work-2"})
			require.Contains(t, w.next(t, nil), "advance a\n")
			require.Equal(t, []string{"a=y2", "b=x", "c=work-1"}, w.works())
			continue
		}
		require.Contains(t, first, "advance a\nhold b: waits: 1 of 3 members is unavailable")
		require.Equal(t, int64(2), w.in.Release.Entries[2].Overrides[0].Generation, "nothing to do for it")
		require.Equal(t, int64(1), w.in.Release.Entries[2].Generation)
		w.report(t, []string{"available", "a"})
		require.Equal(t, "advance b\n", w.next(t, nil))
		w.report(t, []string{"available", "b"})
		w.in.Overrides, w.in.Rendered = nil, nil
		require.Contains(t, w.next(t, nil), "advance a\nhold b")
		w.report(t, []string{"available", "a"})
		require.Equal(t, "advance b\n", w.next(t, nil))
		require.Equal(t, []string{"a=work-1", "b=work-1", "c=work-1"}, w.works())
	}
}

// A member on which overrides cannot be followed keeps what it runs, or is given nothing; the others go on, and it is not
// tried again whatever members say.
func TestAMemberOnWhichOverridesFail(t *testing.T) {
	w := overriddenWorld(t)
	w.next(t, nil)
	w.report(t, []string{"available", "a", "b", "c"})
	w.snapshot(t, []string{"2"})
	w.bind(t, []string{"a", "b", "c", "d"})
	w.overridden(version("eu", 1, false), map[string]string{"a": "!no such path", "b": "x", "c": "x", "d": "!no such path"})
	require.Contains(t, w.next(t, nil), "advance b\nhold a: no such path\nhold c: waits")
	require.Equal(t, []api.Held{{Member: "a", Reason: "no such path", Overridden: true}, {Member: "d", Reason: "no such path", Overridden: true}},
		[]api.Held{w.in.Release.Held[0], w.in.Release.Held[2]})
	w.report(t, []string{"available", "b"})
	require.Contains(t, w.next(t, nil), "advance c\nhold a: no such path\nhold d: no such path\n")
	w.report(t, []string{"available", "c"})
	require.Equal(t, []string{"a=work-1", "b=x", "c=x"}, w.works())
	_, standing := Decide(w.in, w.in.known)
	require.False(t, standing.Stirs("a", resultOf(w.in.Release.Entries[0], "failed", start), start))
	w.overridden(version("eu", 2, false), map[string]string{"a": "x", "b": "x", "c": "x", "d": "x"})
	require.Contains(t, w.next(t, nil), "advance d\nhold a: waits: 1 of 4 members is unavailable")
	w.report(t, []string{"available", "d"})
	require.Equal(t, "advance a\n", w.next(t, nil))
}
